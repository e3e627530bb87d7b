package simulator

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// call is one request to a platform on its way to an answer.
type call struct {
	sim      *simulation
	platform platform
	p        *spec
	r        *http.Request
	path     string // after the platform's prefix
	query    url.Values
	now      int64 // the world's time in seconds, read once so that an answer agrees with itself
	view     view

	// What the ledger counts by, filled in as it becomes known.
	endpoint string
	app      string
	account  string
	code     int
	outcome  outcome

	overLimit bool // an ordered fault wants it refused
	asked     key  // the name of its query, once somebody asked for it
	trapped   bool // it has met a trap

	status int
	header http.Header
	body   []byte
	cut    cut
}

// cut is how much of an answer is sent.
type cut uint8

const (
	cutNothing cut = iota
	cutHalf
	cutAll
)

const (
	// endpointUnknown stands for all paths that are no endpoint, so that callers cannot fill the ledger with names.
	endpointUnknown = "unknown"

	// codeCut is the ledger's answer code of a call whose connection was cut.
	codeCut = -1
)

// readBody takes the fields of a JSON body for parameters. A body that is none leaves them missing.
func (c *call) readBody() {
	var fields map[string]json.RawMessage
	if json.NewDecoder(c.r.Body).Decode(&fields) != nil {
		return
	}
	for name, raw := range fields {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		c.query.Set(name, text)
	}
}

// send writes the answer. The Date is the world's: clients learn a platform's time from it.
func (c *call) send(w http.ResponseWriter) {
	h := c.header
	h.Set("Date", time.Unix(c.now, 0).UTC().Format(http.TimeFormat))
	switch c.cut {
	case cutAll:
		// The server closes the connection without a word.
		panic(http.ErrAbortHandler)
	case cutHalf:
		// Less than was announced: the server closes the connection after it.
		h.Set("Content-Length", strconv.Itoa(len(c.body)))
		w.WriteHeader(c.status)
		_, _ = w.Write(c.body[:len(c.body)/2])
	default:
		h.Set("Content-Length", strconv.Itoa(len(c.body)))
		w.WriteHeader(c.status)
		_, _ = w.Write(c.body) // a caller that went away is no concern of ours
	}
}

// limited counts the call against the limits of its app and account, and answers it if one refuses.
func (c *call) limited() bool {
	if c.overLimit {
		c.platform.overLimit(c, refusal{rule: c.sim.limits.shortest(c.p.name), retryIn: time.Second})
		c.outcome = outcomeInjected
		return true
	}
	if r, trapped := c.sim.traps.Refuses(c); trapped {
		c.platform.overLimit(c, r)
		c.outcome = outcomeInjected
		return true
	}
	r, ok := c.sim.limits.take(c.p.name, c.endpoint, c.app, c.account)
	if !ok {
		c.platform.overLimit(c, r)
		c.outcome = outcomeRefused
	}
	return !ok
}

// queryKey names a call's query, which is the same for all its pages and whenever it is asked.
func (c *call) queryKey() key {
	if c.asked != 0 {
		return c.asked
	}
	k := key(c.p.number)
	add := func(text string) {
		for i := range len(text) {
			k = k.sub(uint64(text[i]))
		}
		k = k.sub(1 << 20)
	}
	add(c.endpoint)
	for _, name := range slices.Sorted(maps.Keys(c.query)) {
		switch name {
		case "page", "page_size", "cursor", "count", "access_token", "refresh_token", "timestamp", "nonce":
		default:
			add(name)
			add(c.query.Get(name))
		}
	}
	c.asked = k
	return k
}

func (c *call) isFirstPage() bool {
	first := func(name, usual string) bool { text := c.query.Get(name); return text == "" || text == usual }
	return first("page", "1") && first("cursor", "0")
}

// rows are those of a report as the call is told them, in the order of day, hour, object.
func (c *call) rows(a *account, s scope) []row { return c.sim.traps.Rows(c, a, s) }

// bodyMax bounds what a caller may send.
const bodyMax = 1 << 20
