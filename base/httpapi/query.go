package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"adsync/base/config"
	"adsync/base/openapi"
	"adsync/base/strictjson"
)

// ReadQuery reads the parameters of a request into the struct that into points to, whose fields have form tags, and
// checks them by their descriptions. Missing parameters have their defaults. It refuses a body, unknown parameters, and
// values that cannot be meant: a misspelt filter must not list everything, nor one that a script has left empty.
func ReadQuery(c *gin.Context, parameters []openapi.Parameter, into any) error {
	if err := NoBody(c); err != nil {
		return err
	}
	values, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return NewProblem(http.StatusBadRequest,
			"The query of the address cannot be read: %s. Write %%25 for a percent sign, and %%3B for a semicolon.", err)
	}
	if err := checkNames(values, parameters); err != nil {
		return err
	}
	var errs Refusals
	for i := range parameters {
		p := &parameters[i]
		text := values.Get(p.Name)
		given := values.Has(p.Name) && (text != "" || p.Name != "after") // The first page has an empty after.
		if fault := p.Fault(text, given); fault != "" {
			errs.Refuse(p.Name, "%s", fault)
			continue
		}
		if !given {
			text = p.Schema.Fallback()
		}
		if text != "" {
			put(parameterField(reflect.ValueOf(into).Elem(), p.Name), text)
		}
	}
	return errs.Err()
}

// checkNames refuses parameters that are not described, given twice or not UTF-8.
func checkNames(values url.Values, parameters []openapi.Parameter) error {
	var errs Refusals
	known := make([]string, len(parameters))
	for i := range parameters {
		known[i] = parameters[i].Name
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch all := values[name]; {
		case !slices.Contains(known, name):
			want := "this route takes no parameters"
			if len(known) > 0 {
				want = "there is no such parameter: want " + strings.Join(known, ", ")
			}
			errs.Refuse(strings.ToValidUTF8(name, "\ufffd"), "%s", want)
		case len(all) > 1:
			errs.Refuse(name, "is given %d times: want it once", len(all))
		case !utf8.ValidString(all[0]):
			errs.Refuse(name, "is not text: want UTF-8")
		}
	}
	return errs.Err()
}

// TakesQuery reports whether ReadQuery can read parameters into a type: a struct with exactly one field for each.
func TakesQuery(of reflect.Type, parameters []openapi.Parameter) bool {
	for i := range parameters {
		if !parameterField(reflect.Zero(of), parameters[i].Name).IsValid() {
			return false
		}
	}
	return of.NumField() == len(parameters)
}

// parameterField returns the field of a struct whose form tag has the name of a parameter; the zero Value if there is
// none.
func parameterField(of reflect.Value, name string) reflect.Value {
	for field, value := range of.Fields() {
		if tagged, _, _ := strings.Cut(field.Tag.Get("form"), ","); tagged == name {
			return value
		}
	}
	return reflect.Value{}
}

// put sets a field of parameters to a text that was checked.
func put(field reflect.Value, text string) {
	switch field.Kind() {
	case reflect.Int64:
		n, _ := strconv.ParseInt(text, 10, 64)
		field.SetInt(n)
	case reflect.Bool:
		field.SetBool(text == "true")
	case reflect.Slice:
		for part := range strings.SplitSeq(text, ",") {
			item := reflect.New(field.Type().Elem()).Elem()
			put(item, part)
			field.Set(reflect.Append(field, item))
		}
	case reflect.Struct:
		at, _ := openapi.ParseTime(text)
		field.Set(reflect.ValueOf(at))
	default:
		field.SetString(text)
	}
}

// PageAfter reads a page's token from the parameter after; nil for the first page. whole reports whether the read value
// can be a place.
func PageAfter[T any](after string, whole func(T) bool) (*T, error) {
	if after == "" {
		return nil, nil
	}
	place := new(T)
	raw, err := base64.RawURLEncoding.DecodeString(after)
	if err == nil {
		err = strictjson.Unmarshal(raw, place)
	}
	if err != nil || !whole(*place) {
		return nil, refusedAfter(after)
	}
	return place, nil
}

// IDAfter reads the last id of the page before; 0 for the first page.
func IDAfter(after string) (int64, error) {
	if after == "" {
		return 0, nil
	}
	id, err := ParseID(after)
	if err != nil {
		return 0, refusedAfter(after)
	}
	return id, nil
}

func refusedAfter(after string) error {
	return Refused("after", "%q is refused: want the value of next in the page before", after)
}

// PageByID is PageOf for rows whose ids are their places.
func PageByID[R any](rows []R, limit int, id func(*R) int64) (page []R, next string) {
	if len(rows) <= limit {
		return rows, ""
	}
	return rows[:limit], strconv.FormatInt(id(&rows[limit-1]), 10)
}

// PageOf cuts rows to a page, and returns the token of the next page; "" if there is none. The caller reads one row
// more than the limit. place returns what the token holds of the last row of the page.
func PageOf[R, P any](rows []R, limit int, place func(last R) P) (page []R, next string) {
	if len(rows) <= limit {
		return rows, ""
	}
	return rows[:limit], PageToken(place(rows[limit-1]))
}

// PageToken returns the token with which a caller requests the page after a place.
func PageToken(place any) string {
	raw, _ := json.Marshal(place) // A place is numbers and texts.
	return base64.RawURLEncoding.EncodeToString(raw)
}

// ParseID reads an id in the form of answers.
func ParseID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err == nil && id <= 0 {
		err = strconv.ErrRange
	}
	return id, err
}

// Refusals collects the faults of a request.
type Refusals []FieldError

// Refuse adds a fault of a field.
func (r *Refusals) Refuse(field, format string, args ...any) {
	*r = append(*r, FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
}

// Err returns the problem with all faults, or nil.
func (r *Refusals) Err() error {
	if len(*r) == 0 {
		return nil
	}
	return Invalid(*r...)
}

// Refused returns the problem of a request with one field that cannot be used.
func Refused(field, format string, args ...any) error {
	return Invalid(FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
}

// RefusedFields is the problem of a request with fields that cannot be used; nil if there are none.
func RefusedFields(wrong ...*config.FieldError) error {
	var errs Refusals
	for _, e := range wrong {
		errs.Refuse(e.Key, "%s", strings.TrimPrefix(e.Error(), e.Key+": "))
	}
	return errs.Err()
}
