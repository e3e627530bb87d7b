package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/gin-gonic/gin"

	"adsync/base/openapi"
	"adsync/base/strictjson"
)

// Bind decodes the JSON body into the struct that into points to, and checks it by the schema. Its error is a
// *Problem. It refuses a body that is not JSON or too large, what strictjson or the schema refuses, and parameters in
// the address, because a "dry_run" there must not be ignored.
func Bind(c *gin.Context, schema *openapi.Schema, into any) error {
	if c.Request.URL.RawQuery != "" {
		return NewProblem(http.StatusBadRequest,
			"This route takes no parameters in its address: send them as fields of the body.")
	}
	if media, _, err := mime.ParseMediaType(c.GetHeader("Content-Type")); err != nil || media != "application/json" {
		return NewProblem(http.StatusUnsupportedMediaType, "Send the body as Content-Type: application/json.")
	}
	body, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return bodyProblem(err)
	}
	decoded := strictjson.Unmarshal(body, into)
	if _, refused := errors.AsType[*strictjson.Error](decoded); refused {
		return bodyProblem(decoded)
	}
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return bodyProblem(err)
	}
	if faults := schema.Faults(object); len(faults) > 0 {
		return Invalid(faults...)
	}
	if decoded != nil {
		return bodyProblem(decoded)
	}
	return nil
}

// NoBody refuses a body, because a "dry_run" in it must not be ignored. An empty object counts as no body.
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
