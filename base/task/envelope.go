package task

import (
	"fmt"
	"strconv"
	"time"
)

// EnvelopeVersion is the version of the headers that this program writes and reads. Consumers are upgraded before
// producers: a consumer that meets a newer version defers the subtask.
const EnvelopeVersion = 1

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
	Deadline  time.Time // end of the subtask's time to live; zero = none
	Timeout   time.Duration
	RetryMax  int
	RetryBase time.Duration
	// Concurrency says what may run beside the subtask. A message without it, as earlier programs wrote them, is
	// Parallel. ExclusiveMax is how long an Exclusive one may hold up others; zero leaves it to the consumer.
	Concurrency  Concurrency
	ExclusiveMax time.Duration
	Confirmed    bool   // by a person: what the platform answers is believed
	Spare        bool   // its calls have only what nothing else wants of the platforms' limits
	Trace        string // W3C traceparent, may be empty
}

// VersionError says that a message's headers are of a version that this program does not know.
type VersionError struct{ Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("envelope version %q, this program reads %d", e.Version, EnvelopeVersion)
}

// Headers returns the envelope as header names and values, in a fixed order.
func (e Envelope) Headers() [][2]string {
	headers := [][2]string{
		{"adsync-version", strconv.Itoa(EnvelopeVersion)},
		{"run", strconv.FormatInt(e.RunID, 10)},
		{"account", strconv.FormatInt(e.AccountID, 10)},
		{"part", e.Part},
		{"task", strconv.FormatInt(e.TaskID, 10)},
		{"task-name", e.TaskName},
		{"media", e.Media},
		{"lane", e.Lane},
		{"handler", e.Handler},
		{"delivery", strconv.Itoa(e.Delivery)},
		{"attempt", strconv.Itoa(e.Attempt)},
		{"planned", formatTime(e.PlannedAt)},
		{"deadline", formatTime(e.Deadline)},
		{"timeout-ms", strconv.FormatInt(e.Timeout.Milliseconds(), 10)},
		{"retry-max", strconv.Itoa(e.RetryMax)},
		{"retry-base-ms", strconv.FormatInt(e.RetryBase.Milliseconds(), 10)},
		{"concurrency", string(e.Concurrency)},
		{"exclusive-max-ms", strconv.FormatInt(e.ExclusiveMax.Milliseconds(), 10)},
		{"traceparent", e.Trace},
	}
	if e.Confirmed {
		headers = append(headers, [2]string{"confirmed", "1"})
	}
	if e.Spare {
		headers = append(headers, [2]string{"spare", "1"})
	}
	return headers
}

// ParseEnvelope reads an envelope from headers; get returns "" for a header that is not there. The error is a
// *VersionError for another version, else it names the header that is broken.
func ParseEnvelope(get func(name string) string) (Envelope, error) {
	if v := get("adsync-version"); v != strconv.Itoa(EnvelopeVersion) {
		return Envelope{}, &VersionError{Version: v}
	}
	p := envelopeParser{get: get}
	e := Envelope{
		Key:      Key{RunID: p.int("run"), AccountID: p.int("account"), Part: get("part")},
		TaskID:   p.int("task"),
		TaskName: get("task-name"), Media: get("media"), Lane: get("lane"), Handler: get("handler"),
		Delivery: int(p.int("delivery")), Attempt: int(p.int("attempt")),
		PlannedAt: p.time("planned"), Deadline: p.time("deadline"),
		Timeout:      time.Duration(p.int("timeout-ms")) * time.Millisecond,
		RetryMax:     int(p.int("retry-max")),
		RetryBase:    time.Duration(p.int("retry-base-ms")) * time.Millisecond,
		Concurrency:  p.concurrency("concurrency"),
		ExclusiveMax: time.Duration(p.optionalInt("exclusive-max-ms")) * time.Millisecond,
		Confirmed:    get("confirmed") != "",
		Spare:        get("spare") != "",
		Trace:        get("traceparent"),
	}
	return e, p.err
}

type envelopeParser struct {
	get func(string) string
	err error
}

func (p *envelopeParser) int(name string) int64 {
	n, err := strconv.ParseInt(p.get(name), 10, 64)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("header %s: %q is not a number", name, p.get(name))
	}
	return n
}

// optionalInt is for headers that messages of earlier programs do not have.
func (p *envelopeParser) optionalInt(name string) int64 {
	if p.get(name) == "" {
		return 0
	}
	return p.int(name)
}

func (p *envelopeParser) concurrency(name string) Concurrency {
	switch c := Concurrency(p.get(name)); c {
	case "":
		return Parallel
	case Parallel, Serial, Exclusive:
		return c
	default:
		if p.err == nil {
			p.err = fmt.Errorf("header %s: %q is none of %s, %s, %s", name, c, Parallel, Serial, Exclusive)
		}
		return Parallel
	}
}

func (p *envelopeParser) time(name string) time.Time {
	text := p.get(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("header %s: %q is not a time", name, text)
	}
	return t
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
