package task

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// EnvelopeVersion is the version of the headers that this program writes. It reads this and the earlier ones.
// Consumers are upgraded before producers: a consumer that receives a newer version defers the subtask.
const EnvelopeVersion = 2

// TraceHeader is the W3C header of a traced message. The sender of the message adds it to those that Sealed returns.
const TraceHeader = "traceparent"

// OutsideHeader is the header of a delivery that looks after work outside, see Envelope.Outside. The sender adds it, as
// it does TraceHeader.
const OutsideHeader = "outside"

// Envelope is the control part of a subtask's message: it travels in the headers. The value holds the handler's
// params and is never decoded on the way.
type Envelope struct {
	Key
	TaskID    int64
	TaskName  string
	Media     string
	Lane      string
	Handler   string
	Delivery  int // number of this send, 1 for the first
	Attempt   int // failures so far
	PlannedAt time.Time
	Deadline  time.Time // end of the subtask's time to live; zero means none
	Timeout   time.Duration
	RetryMax  int
	RetryBase time.Duration
	// Concurrency defines what may run at the same time as the subtask. A message without it, as earlier programs wrote
	// them, is Parallel. ExclusiveMax is how long an Exclusive one may hold up others. Zero leaves it to the consumer.
	Concurrency  Concurrency
	ExclusiveMax time.Duration
	// ExclusiveOver is the scope of an Exclusive one. ExclusiveDrain is how long it may hold up others before it begins.
	// Zero leaves it to the consumer.
	ExclusiveOver  Over
	ExclusiveDrain time.Duration
	// Ancestors are the runs under which the subtask's run was ordered, the outermost first. Do not change the slice.
	Ancestors []int64
	// SerialKey is what FillSerialKey returned for a Serial subtask whose task has a template; see SerialName.
	SerialKey string
	// Outside means that the subtask's work continued elsewhere when it was deferred last: this delivery looks after it.
	Outside   bool
	Confirmed bool   // by a person: what the platform answers is accepted
	Compare   bool   // stored rows are compared with the platform's answer in any case
	Spare     bool   // its calls use only what nothing else wants of the platforms' limits
	Trace     string // W3C traceparent of this delivery, may be empty
}

// SerialName returns the key whose subtasks run one at a time, over all tasks; "" if the subtask has none.
func (e Envelope) SerialName() string { return SerialKeyOf(e.SerialKey, e.Key) }

// VersionError means that a message's headers have a version that this program does not know.
type VersionError struct{ Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("envelope version %q, this program reads 1 to %d", e.Version, EnvelopeVersion)
}

// Header is a header of a message.
type Header struct {
	Name  string
	Value []byte
}

// runHeader is the part of an envelope that is the same for all subtasks of a run: the header task, as JSON.
type runHeader struct {
	ID             int64       `json:"id"`
	Name           string      `json:"name"`
	Media          string      `json:"media"`
	Lane           string      `json:"lane"`
	Handler        string      `json:"handler"`
	PlannedAt      time.Time   `json:"planned,omitzero"`
	Deadline       time.Time   `json:"deadline,omitzero"`
	TimeoutMS      int64       `json:"timeout_ms,omitempty"`
	RetryMax       int         `json:"retry_max,omitempty"`
	RetryBaseMS    int64       `json:"retry_base_ms,omitempty"`
	Concurrency    Concurrency `json:"concurrency,omitempty"`
	SerialKey      string      `json:"serial_key,omitempty"`
	ExclusiveMaxMS int64       `json:"exclusive_max_ms,omitempty"`
	Over           Over        `json:"exclusive_over,omitempty"`
	DrainMS        int64       `json:"exclusive_drain_ms,omitempty"`
	Ancestors      []int64     `json:"ancestors,omitempty"`
	Confirmed      bool        `json:"confirmed,omitempty"`
	Compare        bool        `json:"compare,omitempty"`
	Spare          bool        `json:"spare,omitempty"`
}

// Sealed is an envelope without what differs between the subtasks of a run.
type Sealed struct{ runHeader []byte }

// Seal returns what the subtasks of a run share.
func (e Envelope) Seal() Sealed {
	text, err := json.Marshal(runHeader{
		ID: e.TaskID, Name: e.TaskName, Media: e.Media, Lane: e.Lane, Handler: e.Handler,
		PlannedAt: e.PlannedAt.UTC(), Deadline: e.Deadline.UTC(), TimeoutMS: e.Timeout.Milliseconds(), RetryMax: e.RetryMax,
		RetryBaseMS: e.RetryBase.Milliseconds(),
		Concurrency: e.Concurrency, SerialKey: e.SerialKey, ExclusiveMaxMS: e.ExclusiveMax.Milliseconds(),
		Over: e.ExclusiveOver, DrainMS: e.ExclusiveDrain.Milliseconds(), Ancestors: e.Ancestors,
		Confirmed: e.Confirmed, Compare: e.Compare, Spare: e.Spare,
	})
	if err != nil {
		panic(err) // A year beyond 9999.
	}
	return Sealed{text}
}

var (
	envelopeText    = strconv.Itoa(EnvelopeVersion)
	envelopeVersion = []byte(envelopeText)
)

// Headers returns the headers of one delivery of a subtask, in a fixed order. Their values may be shared with others:
// do not change them.
func (s Sealed) Headers(k Key, delivery, attempt int) []Header {
	return []Header{
		{"adsync-version", envelopeVersion},
		{"run", strconv.AppendInt(nil, k.RunID, 10)},
		{"account", strconv.AppendInt(nil, k.AccountID, 10)},
		{"part", []byte(k.Part)},
		{"delivery", strconv.AppendInt(nil, int64(delivery), 10)},
		{"attempt", strconv.AppendInt(nil, int64(attempt), 10)},
		{"task", s.runHeader},
	}
}

// Envelopes parses envelopes. It caches the header task of recent runs, which is most of each envelope. The zero
// value is ready. It is safe for concurrent use.
type Envelopes struct {
	mu   sync.Mutex
	read map[string]*runHeader // by the header task
}

// runHeadersMax is how many runs Envelopes caches.
const runHeadersMax = 1000

func (r *Envelopes) runHeader(text []byte) (*runHeader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, known := r.read[string(text)]
	if known {
		return e, nil
	}
	e = &runHeader{}
	if err := json.Unmarshal(text, e); err != nil {
		return e, fmt.Errorf("header task: %w", err)
	}
	switch e.Concurrency {
	case "":
		e.Concurrency = Parallel
	case Parallel, Serial, Exclusive:
	default:
		return e, concurrencyError("task", string(e.Concurrency))
	}
	if r.read == nil || len(r.read) >= runHeadersMax {
		r.read = map[string]*runHeader{}
	}
	r.read[string(text)] = e
	return e, nil
}

// Parse parses an envelope from headers. get returns nothing for a missing header, and what it returns is not kept.
// The error is a *VersionError for a version that this program does not know; otherwise it names the broken header.
// What could be read is returned with the error.
func (r *Envelopes) Parse(get func(name string) []byte) (Envelope, error) {
	switch version := string(get("adsync-version")); version {
	case envelopeText:
	case "1":
		return parseFirst(get)
	default:
		return Envelope{}, &VersionError{Version: version}
	}
	p := envelopeParser{get: get}
	e := Envelope{
		Key:      Key{RunID: p.int("run"), AccountID: p.int("account"), Part: p.text("part")},
		Delivery: int(p.int("delivery")), Attempt: int(p.int("attempt")),
	}
	t, err := r.runHeader(get("task"))
	if p.err == nil {
		p.err = err
	}
	e.TaskID, e.TaskName, e.Media, e.Lane, e.Handler = t.ID, t.Name, t.Media, t.Lane, t.Handler
	e.PlannedAt, e.Deadline, e.Timeout = t.PlannedAt, t.Deadline, time.Duration(t.TimeoutMS)*time.Millisecond
	e.RetryMax, e.RetryBase = t.RetryMax, time.Duration(t.RetryBaseMS)*time.Millisecond
	e.Concurrency, e.ExclusiveMax = t.Concurrency, time.Duration(t.ExclusiveMaxMS)*time.Millisecond
	e.ExclusiveOver, e.ExclusiveDrain = t.Over, time.Duration(t.DrainMS)*time.Millisecond
	e.Ancestors = t.Ancestors
	e.SerialKey, e.Outside = t.SerialKey, len(get(OutsideHeader)) > 0
	e.Confirmed, e.Compare, e.Spare, e.Trace = t.Confirmed, t.Compare, t.Spare, p.text(TraceHeader)
	return e, p.err
}

// parseFirst parses the first version, which had a header for each field.
func parseFirst(get func(name string) []byte) (Envelope, error) {
	p := envelopeParser{get: get}
	e := Envelope{
		Key:      Key{RunID: p.int("run"), AccountID: p.int("account"), Part: p.text("part")},
		TaskID:   p.int("task"),
		TaskName: p.text("task-name"), Media: p.text("media"), Lane: p.text("lane"), Handler: p.text("handler"),
		Delivery: int(p.int("delivery")), Attempt: int(p.int("attempt")),
		PlannedAt: p.time("planned"), Deadline: p.time("deadline"),
		Timeout:      time.Duration(p.int("timeout-ms")) * time.Millisecond,
		RetryMax:     int(p.int("retry-max")),
		RetryBase:    time.Duration(p.int("retry-base-ms")) * time.Millisecond,
		Concurrency:  p.concurrency("concurrency"),
		ExclusiveMax: time.Duration(p.optionalInt("exclusive-max-ms")) * time.Millisecond,
		Confirmed:    p.text("confirmed") != "",
		Spare:        p.text("spare") != "",
		Trace:        p.text(TraceHeader),
	}
	return e, p.err
}

type envelopeParser struct {
	get func(string) []byte
	err error
}

func (p *envelopeParser) text(name string) string { return string(p.get(name)) }

func (p *envelopeParser) int(name string) int64 {
	n, err := strconv.ParseInt(string(p.get(name)), 10, 64)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("header %s: %q is not a number", name, p.get(name))
	}
	return n
}

// optionalInt is for headers that messages of earlier programs lack.
func (p *envelopeParser) optionalInt(name string) int64 {
	if len(p.get(name)) == 0 {
		return 0
	}
	return p.int(name)
}

func (p *envelopeParser) concurrency(name string) Concurrency {
	switch c := Concurrency(p.text(name)); c {
	case "":
		return Parallel
	case Parallel, Serial, Exclusive:
		return c
	default:
		if p.err == nil {
			p.err = concurrencyError(name, string(c))
		}
		return Parallel
	}
}

func (p *envelopeParser) time(name string) time.Time {
	text := p.text(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("header %s: %q is not a time", name, text)
	}
	return t
}

func concurrencyError(header, c string) error {
	return fmt.Errorf("header %s: concurrency %q is none of %s, %s, %s", header, c, Parallel, Serial, Exclusive)
}
