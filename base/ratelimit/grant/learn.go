package grant

import (
	"maps"
	"time"
)

const (
	// learnEvery is how long a limit's number is tried before it is raised, and learnStep the part by which it is
	// raised.
	learnEvery = time.Minute
	learnStep  = 0.02
	// learnBack is how far below a refused number the limit is safe, and learnKept how long a refusal counts.
	learnBack = 0.05
	learnKept = 24 * time.Hour
)

// Learned is what trials have shown of the number of a limit whose rule has a LimitMax.
type Learned struct {
	Media    string
	Endpoint string // as in Key
	Scope    Scope
	Subject  string
	Period   time.Duration
	Limit    int       // the number on trial
	At       time.Time // since when it is tried
	// Refused is the number at which the platform last refused a call, and RefusedAt the time; both zero if it never
	// did.
	Refused   int
	RefusedAt time.Time
}

func (l Learned) key() Key {
	return Key{Media: l.Media, Endpoint: l.Endpoint, Scope: l.Scope, Subject: l.Subject, Period: l.Period}
}

// Is reports whether it was learned of a limit.
func (l Learned) Is(limit Key) bool { return l.key() == limit.AnyWindow() }

// Learn evaluates the state of a limit with a LimitMax, and reports whether that changes what is known. The number is
// raised by a fiftieth once a minute, while calls wait for it and the platform does not refuse. After a refusal the
// number is a twentieth lower, and the refused one is not tried again within a day.
//
// Before is what was known; the zero Learned means nothing. If several processes learn, any one of their results may
// be stored, but only one.
func Learn(before Learned, s LimitState, now time.Time) (after Learned, changed bool) {
	if s.LimitMax == 0 || s.Unit != "" {
		return before, false
	}
	after = before
	if before.At.IsZero() {
		after = Learned{Media: s.Media, Endpoint: s.Endpoint, Scope: s.Scope, Subject: s.Subject, Period: s.Period,
			Limit: s.Limit, At: now}
	}
	switch {
	case s.Part < 1 && now.Sub(after.RefusedAt) > TightenFor: // Within TightenFor it is the same refusal.
		after.Refused, after.RefusedAt, after.At = after.Limit, now, now
		// After repeated refusals the part that was not refused is known.
		safe := 1 - learnBack
		if s.Part < 1-tightenMost*float64(TightenStep)/float64(TightenFor) {
			safe = s.Part
		}
		after.Limit = max(1, int(float64(after.Limit)*safe))
		return after, true
	case s.Part < 1 || now.Sub(after.At) < learnEvery || !s.isScarce():
		return after, before.At.IsZero()
	}
	next := min(max(after.Limit+1, int(float64(after.Limit)*(1+learnStep))), s.LimitMax)
	if after.Refused > 0 && now.Sub(after.RefusedAt) < learnKept {
		next = min(next, int(float64(after.Refused)*(1-learnBack)))
	}
	if next <= after.Limit {
		return after, before.At.IsZero()
	}
	after.Limit, after.At = next, now
	return after, true
}

// scarceFrom is the part of a limit that is in use when the limit itself holds calls back.
const scarceFrom = 0.8

// isScarce reports whether more calls are wanted than the limit allows, and as many made as it allows.
func (s LimitState) isScarce() bool {
	if float64(s.Window+s.Ahead) < scarceFrom*float64(s.Limit)*s.Share {
		return false
	}
	wanted := 0
	for _, l := range s.Lanes {
		wanted += l.Wanted
	}
	return float64(wanted) > float64(s.Limit)*s.Share*Horizon.Seconds()/s.Period.Seconds()
}

// SetLearned replaces what was learned of all limits. It has no effect on limits whose rule has no LimitMax.
func (r *Rules) SetLearned(all []Learned) {
	learned := map[Key]int{}
	for _, l := range all {
		learned[l.key()] = l.Limit
	}
	if !maps.Equal(learned, *r.learned.Load()) {
		r.learned.Store(&learned)
	}
}

// knownLimit returns the number of a limit.
func (r RuleSet) knownLimit(x Rule, k Key) int {
	if x.LimitMax > 0 {
		if n := r.learned[k.AnyWindow()]; n > 0 {
			return min(n, x.LimitMax)
		}
	}
	return x.Limit
}

// Unknown reports whether a limit of the media has an unknown number.
func (r *Rules) Unknown(media string) bool {
	for _, x := range (*r.byMedia.Load())[media] {
		if x.LimitMax > 0 {
			return true
		}
	}
	return false
}
