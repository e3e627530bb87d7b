package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/gin-gonic/gin"
)

// Validator is a request body that can tell what is wrong with it.
type Validator interface {
	// Validate returns all that is wrong, or nothing.
	Validate() []FieldError
}

// Bind reads the JSON body into the struct that into points to, and has it validated if it is a Validator. Its error
// is a *Problem: for a body that is no JSON, too large, has unknown fields or values of a wrong type, and for parameters beside it: "dry_run" in the
// address must not be passed by.
func Bind(c *gin.Context, into any) error {
	if c.Request.URL.RawQuery != "" {
		return NewProblem(http.StatusBadRequest, "This route takes no parameters in its address: send them as fields of the body.")
	}
	if media, _, err := mime.ParseMediaType(c.GetHeader("Content-Type")); err != nil || media != "application/json" {
		return NewProblem(http.StatusUnsupportedMediaType, "Send the body as Content-Type: application/json.")
	}
	decoder := json.NewDecoder(c.Request.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return bodyProblem(err, reflect.TypeOf(into))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return NewProblem(http.StatusBadRequest, "The body goes on after its JSON value: send one.")
	}
	if v, ok := into.(Validator); ok {
		if fields := v.Validate(); len(fields) > 0 {
			return Invalid(fields...)
		}
	}
	return nil
}

func bodyProblem(err error, into reflect.Type) *Problem {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return NewProblem(http.StatusRequestEntityTooLarge, "The body may have at most %d bytes.", tooLarge.Limit)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Invalid(FieldError{Field: withoutEmbedded(wrong.Field, into), Detail: fmt.Sprintf("want %s, got %s", jsonName(wrong.Type.Kind().String()), wrong.Value)})
	}
	// The standard library has no type for this error.
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return Invalid(FieldError{Field: strings.Trim(field, `"`), Detail: "there is no such field"})
	}
	if errors.Is(err, io.EOF) {
		return NewProblem(http.StatusBadRequest, "The body is empty: send a JSON object.")
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return NewProblem(http.StatusBadRequest, "The body is no JSON: %s at byte %d.", syntax.Error(), syntax.Offset)
	}
	return NewProblem(http.StatusBadRequest, "The body cannot be read: %s.", err.Error())
}

// withoutEmbedded takes the names of embedded structs, which the caller knows nothing of, from the path of a field.
func withoutEmbedded(path string, of reflect.Type) string {
	for {
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		first, rest, found := strings.Cut(path, ".")
		if !found || of.Kind() != reflect.Struct {
			return path
		}
		field, ok := of.FieldByName(first)
		if !ok || !field.Anonymous {
			return path
		}
		path, of = rest, field.Type
	}
}

// jsonName is what JSON calls a kind of Go's.
func jsonName(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"), strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "slice" || kind == "array":
		return "a list"
	case kind == "struct" || kind == "map":
		return "an object"
	case kind == "bool":
		return "true or false"
	default:
		return "a " + kind
	}
}
