package api

import (
	"fmt"

	"adsync/base/httpapi"
)

// refusals collects what is wrong with a request.
type refusals []httpapi.FieldError

func (r *refusals) refuse(field, format string, args ...any) {
	*r = append(*r, httpapi.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
}

// err is the problem of all that was refused, or nil.
func (r *refusals) err() error {
	if len(*r) == 0 {
		return nil
	}
	return httpapi.Invalid(*r...)
}

// refused is the problem of a request with one field that cannot be used.
func refused(field, format string, args ...any) error {
	return httpapi.Invalid(httpapi.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
}
