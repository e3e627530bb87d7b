package platform

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"adsync/simulator/world"
)

// Params reads the parameters of a call that are numbers, lists or days. A text with a number is taken for the number.
type Params struct {
	Call    *Call
	Code    int      // the code of failures
	Zone    int64    // the offset from UTC of the platform's days, in seconds
	Failure *Failure // the first one: it takes the place of the answer
}

func (p *Params) fail(format string, args ...any) {
	if p.Failure == nil {
		p.Failure = Failf(p.Code, format, args...)
	}
}

// Object reads a JSON object as parameters of their own: each field with its value as text or JSON. ok is false if
// there is no object.
func (p *Params) Object(name string) (fields url.Values, ok bool) {
	var given map[string]json.RawMessage
	if json.Unmarshal([]byte(p.text(name)), &given) != nil || given == nil {
		return nil, false
	}
	fields = url.Values{}
	for name, raw := range given {
		fields.Set(name, valueText(raw))
	}
	return fields, true
}

// valueText returns a JSON value as text: a text without its quotes, any other value as JSON.
func valueText(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}

func (p *Params) text(name string) string { return p.Call.Query.Get(name) }

// Integer reads a number from 1 to most; usual if it is missing. A usual of 0 means that it must be given.
func (p *Params) Integer(name string, usual, most int) int {
	text := p.text(name)
	if text == "" && usual > 0 {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		p.fail("%s must be a number from 1 to %d, not %q", name, most, text)
		return max(usual, 1)
	}
	return n
}

// OneOf reads one of several numbers; the first of them if it is missing.
func (p *Params) OneOf(name string, allowed ...int64) int64 {
	text := p.text(name)
	if text == "" {
		return allowed[0]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !slices.Contains(allowed, n) {
		p.fail("%s must be one of %v, not %q", name, allowed, text)
		return allowed[0]
	}
	return n
}

// Whole reads a whole number.
func (p *Params) Whole(name string) int64 {
	n, err := strconv.ParseInt(p.text(name), 10, 64)
	if err != nil {
		p.fail("%s must be a whole number, not %q", name, p.text(name))
	}
	return n
}

// Optional reads a whole number; 0 if it is missing.
func (p *Params) Optional(name string) int64 {
	if p.text(name) == "" {
		return 0
	}
	return p.Whole(name)
}

// Numbers reads a list of up to most whole numbers.
func (p *Params) Numbers(name string, most int) (list []int64) {
	if p.text(name) == "" {
		return nil
	}
	var given []json.Number
	if json.Unmarshal([]byte(p.text(name)), &given) != nil {
		p.fail("%s must be a list of numbers", name)
	}
	if len(given) > most {
		p.fail("%s has at most %d numbers", name, most)
	}
	for _, text := range given {
		n, err := text.Int64()
		if err != nil {
			p.fail("%s must be a list of whole numbers", name)
		}
		list = append(list, n)
	}
	return list
}

// NumbersOf reads a list of some of several numbers, each at most once.
func (p *Params) NumbersOf(name string, allowed ...int64) (list []int64) {
	for _, n := range p.Numbers(name, len(allowed)) {
		if !slices.Contains(allowed, n) {
			p.fail("%s has some of %v, not %d", name, allowed, n)
			return nil
		}
		list = append(list, n)
	}
	return list
}

// Texts reads a list of up to most texts. Numbers are taken as texts.
func (p *Params) Texts(name string, most int) (list []string) {
	if p.text(name) == "" {
		return nil
	}
	var given []json.RawMessage
	if json.Unmarshal([]byte(p.text(name)), &given) != nil {
		p.fail("%s must be a list of texts", name)
	}
	if len(given) > most {
		p.fail("%s has at most %d texts", name, most)
	}
	for _, raw := range given {
		list = append(list, valueText(raw))
	}
	return list
}

// TextsOf reads a list of some of several texts, each at most once.
func (p *Params) TextsOf(name string, allowed ...string) []string {
	list := p.Texts(name, len(allowed))
	for _, text := range list {
		if !slices.Contains(allowed, text) {
			p.fail("%s has some of %v, not %q", name, allowed, text)
		}
	}
	return list
}

// TextOf reads one of several texts; the first of them if it is missing.
func (p *Params) TextOf(name string, allowed ...string) string {
	text := p.text(name)
	if text == "" {
		return allowed[0]
	}
	if !slices.Contains(allowed, text) {
		p.fail("%s must be one of %v, not %q", name, allowed, text)
	}
	return text
}

// Days is a condition on a time: from the start of a day to the end of another. The zero value holds always.
type Days struct{ From, To int64 }

// Holds reports whether a time is in the days.
func (d Days) Holds(at int64) bool { return d.To == 0 || d.From <= at && at < d.To }

// Days reads a condition on days, whose ends are given together.
func (p *Params) Days(start, end string) (d Days) {
	if p.text(start) == "" && p.text(end) == "" {
		return d
	}
	from, failed := world.ParseDay(p.text(start))
	to, failedToo := world.ParseDay(p.text(end))
	switch {
	case failed != nil || failedToo != nil:
		p.fail("%s and %s are given together, as days like 2026-11-15", start, end)
		return d
	case to < from:
		p.fail("%s is before %s", end, start)
		return d
	}
	return Days{int64(from)*world.DayLength - p.Zone, int64(to+1)*world.DayLength - p.Zone}
}
