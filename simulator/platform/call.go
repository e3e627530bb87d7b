package platform

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/simulator/ledger"
	"adsync/simulator/limit"
	"adsync/simulator/world"
)

// Call is one request to a platform, with its answer.
type Call struct {
	Sim      *Simulation
	Platform Platform
	Spec     *world.Spec
	Request  *http.Request
	Path     string // after the platform's prefix
	Query    url.Values
	Now      int64 // the world's time in seconds, read once so that the answer is consistent
	View     world.View

	// The keys of the ledger's counts, set as they become known.
	Endpoint string
	App      string
	Account  string
	Code     int
	Outcome  ledger.Outcome

	OverLimit bool      // an ordered fault requires a refusal
	asked     world.Key // QueryKey's result, once it has been called
	Trapped   bool      // the call has met a trap

	Status int
	Header http.Header
	Body   []byte
	Cut    CutKind
}

// CutKind is the part of an answer that is not sent.
type CutKind uint8

// The kinds of cuts.
const (
	CutNothing CutKind = iota
	CutHalf
	CutAll
)

const (
	// EndpointUnknown is the endpoint of all unknown paths, so that callers cannot fill the ledger with names.
	EndpointUnknown = "unknown"

	// CodeCut is the ledger's answer code of a call whose connection was cut.
	CodeCut = -1
)

// IsForm reports whether the body is a form, by its Content-Type.
func (c *Call) IsForm() bool {
	return strings.HasPrefix(c.Request.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
}

// ReadBody reads the fields of a JSON body as parameters, or those of a form where the platform takes forms. A body
// that is neither sets none.
func (c *Call) ReadBody() {
	if c.Spec.FormBody && c.IsForm() {
		_ = c.Request.ParseForm() // a broken pair is a missing parameter
		maps.Copy(c.Query, c.Request.PostForm)
		return
	}
	var fields map[string]json.RawMessage
	if json.NewDecoder(c.Request.Body).Decode(&fields) == nil {
		for name, raw := range fields {
			c.Query.Set(name, valueText(raw))
		}
	}
}

// Send writes the answer. The Date header has the world's time, from which clients get a platform's time.
func (c *Call) Send(w http.ResponseWriter) {
	h := c.Header
	h.Set("Date", time.Unix(c.Now, 0).UTC().Format(http.TimeFormat))
	switch c.Cut {
	case CutAll:
		// The server closes the connection without an answer.
		panic(http.ErrAbortHandler)
	case CutHalf:
		// The body is shorter than Content-Length: the server closes the connection after it.
		h.Set("Content-Length", strconv.Itoa(len(c.Body)))
		w.WriteHeader(c.Status)
		_, _ = w.Write(c.Body[:len(c.Body)/2])
	default:
		h.Set("Content-Length", strconv.Itoa(len(c.Body)))
		w.WriteHeader(c.Status)
		_, _ = w.Write(c.Body) // an error means that the caller has gone
	}
}

// Limited counts the call against the limits of its app and account, and answers it if one refuses.
func (c *Call) Limited() bool {
	if c.OverLimit {
		c.Platform.OverLimit(c, limit.Refusal{Rule: c.Sim.Limits.Shortest(c.Spec.Name), RetryIn: time.Second})
		c.Outcome = ledger.Injected
		return true
	}
	if r, trapped := c.Sim.Traps.Refuses(c); trapped {
		c.Platform.OverLimit(c, r)
		c.Outcome = ledger.Injected
		return true
	}
	var r limit.Refusal
	ok := true
	if c.Spec.SharedLimits {
		r, ok = c.Sim.Limits.Take(c.Spec.Name, "*", c.App, c.Account)
	}
	if ok {
		r, ok = c.Sim.Limits.Take(c.Spec.Name, c.Endpoint, c.App, c.Account)
	}
	if !ok {
		c.Platform.OverLimit(c, r)
		c.Outcome = ledger.Refused
	}
	return !ok
}

// QueryKey returns a key of the call's query, which is the same for all its pages and at any time.
func (c *Call) QueryKey() world.Key {
	if c.asked != 0 {
		return c.asked
	}
	k := world.Key(c.Spec.Number)
	add := func(text string) {
		for i := range len(text) {
			k = k.Sub(uint64(text[i]))
		}
		k = k.Sub(1 << 20)
	}
	add(c.Endpoint)
	for _, name := range slices.Sorted(maps.Keys(c.Query)) {
		switch name {
		case "page", "page_no", "page_size", "cursor", "count", "access_token", "refresh_token", "timestamp", "nonce",
			"startRow", "rowCount", "pageSize", "lastPageMaxUcId", "accessToken", "refreshToken":
		default:
			add(name)
			add(c.Query.Get(name))
		}
	}
	c.asked = k
	return k
}

// IsFirstPage reports whether a call requests the first page of its query.
func (c *Call) IsFirstPage() bool {
	first := func(name, usual string) bool { text := c.Query.Get(name); return text == "" || text == usual }
	return first("page", "1") && first("page_no", "1") && first("cursor", "0") && first("startRow", "0")
}

// Rows returns the rows of a report for the call, in order of day, hour and object.
func (c *Call) Rows(a *world.Account, s world.Scope) []world.Row { return c.Sim.Traps.Rows(c, a, s) }

// BodyMax is the largest request body in bytes.
const BodyMax = 1 << 20
