package api

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"adsync/base/day"
	"adsync/base/httpapi"
)

// query reads the parameters of a request and collects what is wrong with them.
type query struct {
	values url.Values
	errs   []httpapi.FieldError
}

// queryOf refuses parameters that the route does not know: a filter with a slip of the pen must not list everything.
func queryOf(c *gin.Context, known ...string) (*query, error) {
	q := &query{values: c.Request.URL.Query()}
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if !slices.Contains(known, name) {
			want := "this route takes no parameters"
			if len(known) > 0 {
				want = "there is no such parameter: want " + strings.Join(known, ", ")
			}
			q.refuse(name, "%s", want)
		}
	}
	return q, q.err()
}

func (q *query) refuse(name, format string, args ...any) {
	q.errs = append(q.errs, httpapi.FieldError{Field: name, Detail: fmt.Sprintf(format, args...)})
}

// err is the problem of all that was refused, or nil.
func (q *query) err() error {
	if len(q.errs) == 0 {
		return nil
	}
	return httpapi.Invalid(q.errs...)
}

// day reads a day; the fallback stands when there is none.
func (q *query) day(name string, fallback day.Day) day.Day {
	text := q.values.Get(name)
	if text == "" {
		return fallback
	}
	d, err := day.Parse(text)
	if err != nil {
		q.refuse(name, "%q is refused: want a day such as 2026-11-21", text)
		return fallback
	}
	return d
}
