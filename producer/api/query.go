package api

import (
	"encoding/base64"
	"encoding/json"
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
	"adsync/base/httpapi"
	"adsync/base/strictjson"
)

// query reads the parameters of a request and collects what is wrong with them.
type query struct {
	refusals
	values url.Values
}

// parameterMax is how many characters a parameter may have: more than any name, piece of a text or page's token has.
const parameterMax = 512

// queryOf refuses a body, and parameters that the route does not know or that cannot be meant: a filter with a slip of the pen must
// not list everything, nor one that a script has left empty.
func queryOf(c *gin.Context, known ...string) (*query, error) {
	if err := httpapi.NoBody(c); err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return nil, httpapi.NewProblem(http.StatusBadRequest, "The query of the address cannot be read: %s. Write %%25 for a percent sign, and %%3B for a semicolon.", err)
	}
	q := &query{values: values}
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		switch all := q.values[name]; {
		case !slices.Contains(known, name):
			want := "this route takes no parameters"
			if len(known) > 0 {
				want = "there is no such parameter: want " + strings.Join(known, ", ")
			}
			q.refuse(strings.ToValidUTF8(name, "\ufffd"), "%s", want)
		case len(all) > 1:
			q.refuse(name, "is given %d times: want it once", len(all))
		case !utf8.ValidString(all[0]):
			q.refuse(name, "is no text: want UTF-8")
		case all[0] == "" && name != "after": // Before the first page there is nothing.
			q.refuse(name, "is empty: want a value, or leave it out")
		case utf8.RuneCountInString(all[0]) > parameterMax:
			q.refuse(name, "is too long: want up to %d characters", parameterMax)
		}
	}
	return q, q.err()
}

// day reads a day that has begun somewhere by now, or begins next; the fallback stands when there is none.
func (q *query) day(name string, now time.Time, fallback day.Day) day.Day {
	text := q.values.Get(name)
	if text == "" {
		return fallback
	}
	d, err := day.Given(text, now)
	if err != nil {
		q.refuse(name, "%q is refused: %s", text, err)
		return fallback
	}
	return d
}

// time reads a moment; the fallback stands when there is none.
func (q *query) time(name string, fallback time.Time) time.Time {
	text := q.values.Get(name)
	if text == "" {
		return fallback
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || !isMoment(at.UnixMilli()) {
		q.refuse(name, "%q is refused: want a time such as 2026-11-21T10:30:00Z", text)
		return fallback
	}
	return at.UTC().Truncate(time.Millisecond)
}

// isMoment tells whether milliseconds are a time that a database can hold, and that is not zero.
func isMoment(milliseconds int64) bool {
	return milliseconds > 0 && milliseconds < time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
}

// oneOf reads one of some words; "" when there is none.
func (q *query) oneOf(name string, words []string) string {
	word := q.values.Get(name)
	if word != "" && !slices.Contains(words, word) {
		q.refuse(name, "%q is refused: want one of %s", word, strings.Join(words, ", "))
	}
	return word
}

// limit reads how many of something are asked for.
func (q *query) limit(fallback, most int) int {
	text := q.values.Get("limit")
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		q.refuse("limit", "%q is refused: want 1 to %d", text, most)
		return fallback
	}
	return n
}

// pageAfter reads the token of a page from the parameter after, and tells whether there is a good one; whole tells whether
// what was read can be one.
func pageAfter[T any](q *query, whole func(T) bool) (place T, ok bool) {
	text := q.values.Get("after")
	if text == "" {
		return place, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = strictjson.Unmarshal(raw, &place)
	}
	if err != nil || !whole(place) {
		q.refuse("after", "%q is refused: want the value of next in the page before", text)
		return place, false
	}
	return place, true
}

// idAfter reads the id with which the page before ended; 0 for the first page.
func (q *query) idAfter() int64 {
	text := q.values.Get("after")
	if text == "" {
		return 0
	}
	id, err := parseID(text)
	if err != nil {
		q.refuse("after", "%q is refused: want the value of next in the page before", text)
		return 0
	}
	return id
}

// pageByID is pageOf for rows whose ids tell their places.
func pageByID[R any](rows []R, limit int, id func(*R) int64) (page []R, next string) {
	if len(rows) <= limit {
		return rows, ""
	}
	return rows[:limit], formatID(id(&rows[limit-1]))
}

// pageOf cuts rows, of which one more than the limit was asked for, to a page, and returns the token of the next one: "" when
// there is none. place is what the token holds of the last row of the page.
func pageOf[R, P any](rows []R, limit int, place func(last R) P) (page []R, next string, err error) {
	if len(rows) <= limit {
		return rows, "", nil
	}
	next, err = pageToken(place(rows[limit-1]))
	return rows[:limit], next, err
}

// pageToken is what a caller asks for the page after a place with.
func pageToken(place any) (string, error) {
	raw, err := json.Marshal(place)
	return base64.RawURLEncoding.EncodeToString(raw), err
}

// parseID reads an id as formatID writes it.
func parseID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err == nil && id <= 0 {
		err = strconv.ErrRange
	}
	return id, err
}

func formatID(id int64) string { return strconv.FormatInt(id, 10) }
