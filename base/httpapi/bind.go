package httpapi

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/gin-gonic/gin"

	"adsync/base/strictjson"
)

// Validator is a request body that checks its own values.
type Validator interface {
	// Validate returns all that is wrong, or nothing.
	Validate() []FieldError
}

// Bind decodes the JSON body into the struct that into points to, and validates it if it is a Validator. Its error
// is a *Problem: for a body that is not JSON or too large, for what strictjson refuses, and for parameters in the address: "dry_run" in the
// address must not be ignored.
func Bind(c *gin.Context, into any) error {
	if c.Request.URL.RawQuery != "" {
		return NewProblem(http.StatusBadRequest, "This route takes no parameters in its address: send them as fields of the body.")
	}
	if media, _, err := mime.ParseMediaType(c.GetHeader("Content-Type")); err != nil || media != "application/json" {
		return NewProblem(http.StatusUnsupportedMediaType, "Send the body as Content-Type: application/json.")
	}
	body, err := io.ReadAll(c.Request.Body)
	if err == nil {
		err = strictjson.Unmarshal(body, into)
	}
	if err != nil {
		return bodyProblem(err)
	}
	if fields := emptied(body, reflect.TypeOf(into).Elem()); len(fields) > 0 {
		return Invalid(fields...)
	}
	if v, ok := into.(Validator); ok {
		if fields := v.Validate(); len(fields) > 0 {
			return Invalid(fields...)
		}
	}
	return nil
}

// emptied refuses texts and lists of a body that may be left out and are given with nothing in them: what chooses nothing on its way to us
// must not come to choose everything.
func emptied(body []byte, of reflect.Type) (errs []FieldError) {
	var given map[string]json.RawMessage
	if of.Kind() != reflect.Struct || json.Unmarshal(body, &given) != nil {
		return nil
	}
	for _, field := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		text := string(given[name])
		if !strings.Contains(options, "omitempty") {
			continue
		}
		isEmpty := field.Type.Kind() == reflect.Slice && strings.Trim(text, "[] \t\r\n") == ""
		if field.Type.Kind() == reflect.String {
			var value string
			isEmpty = json.Unmarshal(given[name], &value) == nil && strings.TrimSpace(value) == ""
		}
		if isEmpty && text != "" {
			errs = append(errs, FieldError{Field: name, Detail: "is empty: want a value, or leave it out"})
		}
	}
	return errs
}

// NoBody refuses a body where the route takes none: a "dry_run" in it must not be ignored. An empty object is as good as no body.
func NoBody(c *gin.Context) error {
	body, err := io.ReadAll(c.Request.Body)
	if err == nil && len(body) > 0 {
		err = strictjson.Unmarshal(body, &struct{}{})
	}
	if err == nil {
		return nil
	}
	if problem := bodyProblem(err); problem.Status != http.StatusBadRequest {
		return problem
	}
	return NewProblem(http.StatusBadRequest, "This route takes no body: leave it out.")
}

func bodyProblem(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p // The body did not arrive in time.
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return NewProblem(http.StatusRequestEntityTooLarge, "The body may have at most %d bytes.", tooLarge.Limit)
	}
	if wrong, ok := errors.AsType[*strictjson.Error](err); ok {
		if wrong.Field == "" {
			return NewProblem(http.StatusBadRequest, "The body cannot be used: it %s.", wrong.Detail)
		}
		return Invalid(FieldError{Field: wrong.Field, Detail: wrong.Detail})
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return NewProblem(http.StatusBadRequest, "The body is not JSON: %s at byte %d.", syntax.Error(), syntax.Offset)
	}
	return NewProblem(http.StatusBadRequest, "The body cannot be read: %s.", err.Error())
}
