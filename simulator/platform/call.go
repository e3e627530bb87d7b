package platform

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"adsync/simulator/ledger"
	"adsync/simulator/limit"
	"adsync/simulator/world"
)

// Call is one request to a platform on its way to an answer.
type Call struct {
	Sim      *Simulation
	Platform Platform
	Spec     *world.Spec
	Request  *http.Request
	Path     string // after the platform's prefix
	Query    url.Values
	Now      int64 // the world's time in seconds, read once so that an answer agrees with itself
	View     world.View

	// What the ledger counts by, filled in as it becomes known.
	Endpoint string
	App      string
	Account  string
	Code     int
	Outcome  ledger.Outcome

	OverLimit bool      // an ordered fault wants it refused
	asked     world.Key // the name of its query, once somebody asked for it
	Trapped   bool      // it has met a trap

	Status int
	Header http.Header
	Body   []byte
	Cut    CutKind
}

// CutKind is how much of an answer is sent.
type CutKind uint8

// How much of an answer is not sent.
const (
	CutNothing CutKind = iota
	CutHalf
	CutAll
)

const (
	// EndpointUnknown stands for all paths that are no endpoint, so that callers cannot fill the ledger with names.
	EndpointUnknown = "unknown"

	// CodeCut is the ledger's answer code of a call whose connection was cut.
	CodeCut = -1
)

// ReadBody takes the fields of a JSON body for parameters. A body that is none leaves them missing.
func (c *Call) ReadBody() {
	var fields map[string]json.RawMessage
	if json.NewDecoder(c.Request.Body).Decode(&fields) != nil {
		return
	}
	for name, raw := range fields {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		c.Query.Set(name, text)
	}
}

// Send writes the answer. The Date is the world's: clients learn a platform's time from it.
func (c *Call) Send(w http.ResponseWriter) {
	h := c.Header
	h.Set("Date", time.Unix(c.Now, 0).UTC().Format(http.TimeFormat))
	switch c.Cut {
	case CutAll:
		// The server closes the connection without a word.
		panic(http.ErrAbortHandler)
	case CutHalf:
		// Less than was announced: the server closes the connection after it.
		h.Set("Content-Length", strconv.Itoa(len(c.Body)))
		w.WriteHeader(c.Status)
		_, _ = w.Write(c.Body[:len(c.Body)/2])
	default:
		h.Set("Content-Length", strconv.Itoa(len(c.Body)))
		w.WriteHeader(c.Status)
		_, _ = w.Write(c.Body) // a caller that went away is no concern of ours
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
	r, ok := c.Sim.Limits.Take(c.Spec.Name, c.Endpoint, c.App, c.Account)
	if !ok {
		c.Platform.OverLimit(c, r)
		c.Outcome = ledger.Refused
	}
	return !ok
}

// QueryKey names a call's query, which is the same for all its pages and whenever it is asked.
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
		case "page", "page_size", "cursor", "count", "access_token", "refresh_token", "timestamp", "nonce":
		default:
			add(name)
			add(c.Query.Get(name))
		}
	}
	c.asked = k
	return k
}

// IsFirstPage reports whether a call asks for the first page of its query.
func (c *Call) IsFirstPage() bool {
	first := func(name, usual string) bool { text := c.Query.Get(name); return text == "" || text == usual }
	return first("page", "1") && first("cursor", "0")
}

// Rows are those of a report as the call is told them, in the order of day, hour, object.
func (c *Call) Rows(a *world.Account, s world.Scope) []world.Row { return c.Sim.Traps.Rows(c, a, s) }

// BodyMax bounds what a caller may send.
const BodyMax = 1 << 20
