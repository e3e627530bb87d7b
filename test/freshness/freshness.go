package main

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"adsync/base/day"
	"adsync/base/store/results"
)

// Age is in seconds; infinite is never.
type Age float64

// String is the whole seconds, or never.
func (a Age) String() string {
	if math.IsInf(float64(a), 1) {
		return "never"
	}
	return strconv.FormatFloat(float64(a), 'f', 0, 64)
}

// MarshalJSON writes a number, or "never".
func (a Age) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(a), 1) {
		return []byte(`"never"`), nil
	}
	return json.Marshal(float64(a))
}

// agesMax is the highest age, in seconds, that is counted separately.
const agesMax = 4 * 3600

// ages counts ages by the second, rounded up; what is older than agesMax is never.
type ages struct {
	weight []float64
	total  float64
	max    Age
}

func (a *ages) add(age Age, weight float64) {
	if a.weight == nil {
		a.weight = make([]float64, agesMax+1)
	}
	a.total += weight
	a.max = max(a.max, age)
	if second := math.Ceil(max(float64(age), 0)); second <= agesMax {
		a.weight[int(second)] += weight
	}
}

// percentile is the age that a share of the weight does not exceed.
func (a *ages) percentile(share float64) Age {
	below := 0.0
	for second, weight := range a.weight {
		below += weight
		if below >= share*a.total && below > 0 {
			return Age(second)
		}
	}
	return Age(math.Inf(1))
}

func (a *ages) figures() Ages {
	return Ages{P50: a.percentile(0.5), P95: a.percentile(0.95), P99: a.percentile(0.99), Max: a.max}
}

// scope is a report of an account's day at a level.
type scope struct {
	account       int64
	report, level string
	day           day.Day
}

// covered is a row of coverage; versions are the moments at which pulls began, in microseconds.
type covered struct {
	scope
	claimed, complete int64
	dirty             bool // the summaries have not read the last change yet
	state             results.CoverageState
}

// start is when the last whole pull began. Of a day that is whole, each pull that wrote anything was whole, if only
// of its last hours.
func (c covered) start() int64 {
	if c.state == results.Complete {
		return c.claimed
	}
	return c.complete
}

// tracker knows from one sample to the next which pulls the summaries show.
type tracker map[scope]*shown

// shown is what is known of a scope, in microseconds of the database's time.
type shown struct {
	start   int64 // of the last pull that is shown
	waiting int64 // of one that was not shown when it was seen
	seen    int64
}

// observe takes over a row of coverage as it stood at a moment, when the last rebuild of the day's summary had begun
// at rebuilt.
func (t tracker) observe(c covered, at, rebuilt int64) {
	s := t[c.scope]
	if s == nil {
		s = &shown{}
		t[c.scope] = s
	}
	if !c.dirty {
		// Whatever it changed was read, or it changed nothing of what is shown.
		s.start = max(s.start, c.start())
		return
	}
	if s.waiting > 0 && rebuilt > s.seen {
		// A rebuild that began after the pull was there has read it; it is dirty again for a later one.
		s.start = max(s.start, s.waiting)
		s.waiting = 0
	}
	if start := c.start(); start > s.start && start != s.waiting {
		s.waiting, s.seen = start, at
	}
}

// age is how old an account's figures are that are shown. A pull of yesterday counts up to the beginning of today:
// until then it was one of today.
func (t tracker) age(id int64, a account, report, level string, now time.Time) Age {
	today := day.Of(now, a.zone)
	start := int64(0)
	if s := t[scope{id, report, level, today}]; s != nil {
		start = s.start
	}
	if s := t[scope{id, report, level, today.Add(-1)}]; s != nil {
		start = max(start, min(s.start, today.Start(a.zone).UnixMicro()))
	}
	if start == 0 {
		return Age(math.Inf(1))
	}
	return Age(float64(now.UnixMicro()-start) / 1e6)
}
