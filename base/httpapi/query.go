package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"adsync/base/day"
	"adsync/base/strictjson"
)

// Query reads the parameters of a request and collects what is wrong with them.
type Query struct {
	Refusals
	url.Values
}

// parameterMax is how many characters a parameter may have: more than any name, piece of a text or page's token has.
const parameterMax = 512

// QueryOf refuses a body, and parameters that the route does not know or that cannot be meant: a filter with a slip of the pen must
// not list everything, nor one that a script has left empty.
func QueryOf(c *gin.Context, known ...string) (*Query, error) {
	if err := NoBody(c); err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return nil, NewProblem(http.StatusBadRequest, "The query of the address cannot be read: %s. Write %%25 for a percent sign, and %%3B for a semicolon.", err)
	}
	q := &Query{Values: values}
	for _, name := range slices.Sorted(maps.Keys(q.Values)) {
		switch all := q.Values[name]; {
		case !slices.Contains(known, name):
			want := "this route takes no parameters"
			if len(known) > 0 {
				want = "there is no such parameter: want " + strings.Join(known, ", ")
			}
			q.Refuse(strings.ToValidUTF8(name, "\ufffd"), "%s", want)
		case len(all) > 1:
			q.Refuse(name, "is given %d times: want it once", len(all))
		case !utf8.ValidString(all[0]):
			q.Refuse(name, "is no text: want UTF-8")
		case all[0] == "" && name != "after": // Before the first page there is nothing.
			q.Refuse(name, "is empty: want a value, or leave it out")
		case utf8.RuneCountInString(all[0]) > parameterMax:
			q.Refuse(name, "is too long: want up to %d characters", parameterMax)
		}
	}
	return q, q.Err()
}

// Day reads a day that has begun somewhere by now, or begins next; the fallback stands when there is none.
func (q *Query) Day(name string, now time.Time, fallback day.Day) day.Day {
	text := q.Get(name)
	if text == "" {
		return fallback
	}
	d, err := day.Given(text, now)
	if err != nil {
		q.Refuse(name, "%q is refused: %s", text, err)
		return fallback
	}
	return d
}

// Time reads a moment; the fallback stands when there is none.
func (q *Query) Time(name string, fallback time.Time) time.Time {
	text := q.Get(name)
	if text == "" {
		return fallback
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || !IsMoment(at.UnixMilli()) {
		q.Refuse(name, "%q is refused: want a time such as 2026-11-21T10:30:00Z", text)
		return fallback
	}
	return at.UTC().Truncate(time.Millisecond)
}

// IsMoment tells whether milliseconds are a time that a database can hold, and that is not zero.
func IsMoment(milliseconds int64) bool {
	return milliseconds > 0 && milliseconds < time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
}

// OneOf reads one of some words; "" when there is none.
func (q *Query) OneOf(name string, words []string) string {
	word := q.Get(name)
	if word != "" && !slices.Contains(words, word) {
		q.Refuse(name, "%q is refused: want one of %s", word, strings.Join(words, ", "))
	}
	return word
}

// Limit reads how many of something are asked for.
func (q *Query) Limit(fallback, most int) int {
	text := q.Get("limit")
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		q.Refuse("limit", "%q is refused: want 1 to %d", text, most)
		return fallback
	}
	return n
}

// PageAfter reads the token of a page from the parameter after, and tells whether there is a good one; whole tells whether
// what was read can be one.
func PageAfter[T any](q *Query, whole func(T) bool) (place T, ok bool) {
	text := q.Get("after")
	if text == "" {
		return place, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = strictjson.Unmarshal(raw, &place)
	}
	if err != nil || !whole(place) {
		q.Refuse("after", "%q is refused: want the value of next in the page before", text)
		return place, false
	}
	return place, true
}

// IDAfter reads the id with which the page before ended; 0 for the first page.
func (q *Query) IDAfter() int64 {
	text := q.Get("after")
	if text == "" {
		return 0
	}
	id, err := ParseID(text)
	if err != nil {
		q.Refuse("after", "%q is refused: want the value of next in the page before", text)
		return 0
	}
	return id
}

// PageByID is PageOf for rows whose ids tell their places.
func PageByID[R any](rows []R, limit int, id func(*R) int64) (page []R, next string) {
	if len(rows) <= limit {
		return rows, ""
	}
	return rows[:limit], strconv.FormatInt(id(&rows[limit-1]), 10)
}

// PageOf cuts rows, of which one more than the limit was asked for, to a page, and returns the token of the next one: "" when
// there is none. place is what the token holds of the last row of the page.
func PageOf[R, P any](rows []R, limit int, place func(last R) P) (page []R, next string) {
	if len(rows) <= limit {
		return rows, ""
	}
	return rows[:limit], PageToken(place(rows[limit-1]))
}

// PageToken is what a caller asks for the page after a place with.
func PageToken(place any) string {
	raw, _ := json.Marshal(place) // A place is numbers and texts.
	return base64.RawURLEncoding.EncodeToString(raw)
}

// ParseID reads an id as answers have it.
func ParseID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err == nil && id <= 0 {
		err = strconv.ErrRange
	}
	return id, err
}

// Refusals collects what is wrong with a request.
type Refusals []FieldError

// Refuse adds that a field cannot be used, and why.
func (r *Refusals) Refuse(field, format string, args ...any) {
	*r = append(*r, FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
}

// Err is the problem of all that was refused, or nil.
func (r *Refusals) Err() error {
	if len(*r) == 0 {
		return nil
	}
	return Invalid(*r...)
}

// Refused is the problem of a request with one field that cannot be used.
func Refused(field, format string, args ...any) error {
	return Invalid(FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
}
