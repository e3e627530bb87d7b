package limit

import (
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// Scopes of a limit: what it counts.
const (
	ScopeApp     = "app"     // a developer's app, for each endpoint
	ScopeAccount = "account" // an advertiser account, for each endpoint
	ScopeRows    = "rows"    // the rows that an app's calls match, for each kind of rows
)

// Rule allows a number of calls in any period of real time, for each endpoint and each app or account. With ScopeRows
// too many matched rows shut the kind for a while, since a call matches rows before it can be refused.
type Rule struct {
	Media    string `json:"media"`
	Endpoint string `json:"endpoint"` // "*" is every endpoint without its own rule for this scope and period
	Scope    string `json:"scope"`
	Seconds  int    `json:"period_seconds"`
	Limit    int    `json:"limit"` // 0 allows any number
}

const (
	limitMax  = 1_000_000
	periodMax = 24 * 3600

	// PenaltyLength is how long, in the world's time, a platform stays shut after an overrun if penalties are on.
	PenaltyLength = 5 * time.Minute
)

// Check returns an error for an invalid rule.
func (r Rule) Check() error {
	switch {
	case r.Scope != ScopeApp && r.Scope != ScopeAccount && r.Scope != ScopeRows:
		return fmt.Errorf("scope must be %q, %q or %q, not %q", ScopeApp, ScopeAccount, ScopeRows, r.Scope)
	case r.Seconds < 1 || r.Seconds > periodMax:
		return fmt.Errorf("period_seconds must be 1 to %d, not %d", periodMax, r.Seconds)
	case r.Scope != ScopeRows && r.Limit > limitMax || r.Limit < 0:
		return fmt.Errorf("limit must be 0 (none) to %d, not %d", limitMax, r.Limit)
	case r.Endpoint == "":
		return fmt.Errorf(`endpoint is missing: name one, or "*" for all`)
	}
	return nil
}

func (r Rule) sameSlot(o Rule) bool {
	return r.Media == o.Media && r.Endpoint == o.Endpoint && r.Scope == o.Scope && r.Seconds == o.Seconds
}

// Refusal describes why a call was refused.
type Refusal struct {
	Rule    Rule
	Penalty bool          // the platform is shut; the window is not full
	Busy    bool          // the platform refuses all callers
	RetryIn time.Duration // until a call can succeed again
}

// Limits enforces the rules as exact sliding windows: a call is refused if and only if the period before it already
// has the allowed number of accepted calls. Refused calls do not count.
//
// Time is the real, monotonic clock and not the world's: callers are paced in real time. Penalties are shorter by the
// speed of the world at their start.
type Limits struct {
	Now  func() time.Duration
	Pace func() float64 // seconds of the world in a real one

	mu        sync.Mutex
	rules     []Rule
	revision  int
	penalties bool
	Tolerant  map[string]bool // media that shut an endpoint after many calls over a limit, not after the first one
	Gates     map[gateKey]*gate
	sweepAt   int
	matched   map[gateKey]*matched
}

type gateKey struct {
	media, endpoint, scope, who string
}

// gate holds the windows of one app or account at one endpoint.
type gate struct {
	users atomic.Int32 // calls that hold a pointer to it: such a gate is not removed

	mu       sync.Mutex
	revision int
	windows  []*window
	shut     time.Duration // until when a penalty lasts
	strict   bool          // with penalties on: the first refused call shuts the endpoint
	attempts *window       // with penalties on: all calls of a minute, too many of which shut the endpoint
}

// window is a ring of the times of the last calls, as many as are allowed.
type window struct {
	rule   Rule
	period time.Duration
	ring   []time.Duration
	next   int
	full   bool
}

func newWindow(rule Rule, size int) *window {
	return &window{rule: rule, period: time.Duration(rule.Seconds) * time.Second, ring: make([]time.Duration, size)}
}

// wait returns the time until the window has room; zero when it has.
func (w *window) wait(now time.Duration) time.Duration {
	if !w.full {
		return 0
	}
	return max(0, w.ring[w.next]+w.period-now)
}

func (w *window) record(now time.Duration) {
	w.ring[w.next] = now
	w.next++
	if w.next == len(w.ring) {
		w.next, w.full = 0, true
	}
}

// used counts the calls in the period before now. It searches in the order of the calls, because each answer of some
// platforms has the number.
func (w *window) used(now time.Duration) int {
	n, oldest := w.next, 0
	if w.full {
		n, oldest = len(w.ring), w.next
	}
	return n - sort.Search(n, func(i int) bool { return w.ring[(oldest+i)%len(w.ring)]+w.period > now })
}

// moments lists the times in the ring, oldest first.
func (w *window) moments() []time.Duration {
	if !w.full {
		return w.ring[:w.next]
	}
	return append(append([]time.Duration(nil), w.ring[w.next:]...), w.ring[:w.next]...)
}

// New returns limits without a rule.
func New() *Limits {
	started := time.Now()
	return &Limits{
		Now: func() time.Duration { return time.Since(started) }, Pace: func() float64 { return 1 },
		Gates: map[gateKey]*gate{}, Tolerant: map[string]bool{}, sweepAt: 20_000, matched: map[gateKey]*matched{},
	}
}

// penalty returns the length of a penalty that begins now.
func (l *Limits) penalty() time.Duration { return time.Duration(float64(PenaltyLength) / l.Pace()) }

// Take counts a call, or refuses it. It checks the account's limits first, and a call that they refuse does not count
// against the app's limits, as one platform documents. account may be empty.
func (l *Limits) Take(media, endpoint, app, account string) (Refusal, bool) {
	// Both gates are found before either is locked: finding one locks the table, which may lock a gate.
	appGate := l.gate(gateKey{media, endpoint, ScopeApp, app})
	defer appGate.users.Add(-1)
	var accountGate *gate
	if account != "" {
		accountGate = l.gate(gateKey{media, endpoint, ScopeAccount, account})
		defer accountGate.users.Add(-1)
	}
	appGate.mu.Lock()
	defer appGate.mu.Unlock()
	now := l.Now()
	if now < appGate.shut {
		return Refusal{Rule: appGate.rule(), Penalty: true, RetryIn: appGate.shut - now}, false
	}
	if accountGate != nil {
		accountGate.mu.Lock()
		defer accountGate.mu.Unlock()
		if r, ok := accountGate.room(now); !ok {
			return r, false
		}
	}
	if appGate.attempts != nil {
		if appGate.attempts.wait(now) > 0 {
			appGate.shut = now + l.penalty()
			return Refusal{Rule: appGate.rule(), Penalty: true, RetryIn: appGate.shut - now}, false
		}
		appGate.attempts.record(now)
	}
	if r, ok := appGate.room(now); !ok {
		if appGate.strict {
			appGate.shut = now + l.penalty()
		}
		return r, false
	}
	appGate.record(now)
	if accountGate != nil {
		accountGate.record(now)
	}
	return Refusal{}, true
}

func (g *gate) room(now time.Duration) (Refusal, bool) {
	for _, w := range g.windows {
		if wait := w.wait(now); wait > 0 {
			return Refusal{Rule: w.rule, RetryIn: wait}, false
		}
	}
	return Refusal{}, true
}

func (g *gate) record(now time.Duration) {
	for _, w := range g.windows {
		w.record(now)
	}
}

// rule returns the rule to name in a penalty: the one with the longest period.
func (g *gate) rule() (r Rule) {
	for _, w := range g.windows {
		if w.rule.Seconds > r.Seconds {
			r = w.rule
		}
	}
	return r
}

func (l *Limits) gate(k gateKey) *gate {
	l.mu.Lock()
	defer l.mu.Unlock()
	g, ok := l.Gates[k]
	if !ok {
		g = &gate{revision: -1}
		l.Gates[k] = g
		if len(l.Gates) > l.sweepAt {
			l.sweep()
		}
	}
	g.users.Add(1)
	if g.revision != l.revision {
		g.mu.Lock()
		g.set(l.matching(k), l.penalties && k.scope == ScopeApp, l.Tolerant[k.media])
		g.revision = l.revision
		g.mu.Unlock()
	}
	return g
}

// set sets the rules of a gate; a window with the same period as before keeps its calls.
func (g *gate) set(rules []Rule, penalties, tolerant bool) {
	old := g.windows
	g.windows, g.attempts, g.strict = nil, nil, penalties && !tolerant
	for _, r := range rules {
		w := newWindow(r, r.Limit)
		for _, o := range old {
			if o.rule.Seconds == r.Seconds {
				kept := o.moments()
				for _, t := range kept[max(0, len(kept)-r.Limit):] {
					w.record(t)
				}
			}
		}
		g.windows = append(g.windows, w)
		if penalties && tolerant && r.Seconds == 1 {
			// A hundred times the calls of a second, made within a minute, shut the endpoint.
			g.attempts = newWindow(Rule{Seconds: 60, Limit: r.Limit * 100}, r.Limit*100)
		}
	}
	if !penalties {
		g.shut = 0
	}
}

// matching returns the rules of a gate: for each period the one that names its endpoint, or otherwise the one for
// all.
func (l *Limits) matching(k gateKey) (rules []Rule) {
	periods := map[int]int{}
	for _, r := range l.rules {
		if r.Media != k.media || r.Scope != k.scope || (r.Endpoint != "*" && r.Endpoint != k.endpoint) {
			continue
		}
		at, known := periods[r.Seconds]
		switch {
		case !known:
			periods[r.Seconds] = len(rules)
			rules = append(rules, r)
		case rules[at].Endpoint == "*":
			rules[at] = r
		}
	}
	active := rules[:0]
	for _, r := range rules {
		if r.Limit > 0 {
			active = append(active, r)
		}
	}
	return active
}

// sweep removes gates with empty windows, so that memory depends on the recently called accounts only.
func (l *Limits) sweep() {
	now := l.Now()
	for k, g := range l.Gates {
		if !g.mu.TryLock() {
			continue
		}
		idle := g.users.Load() == 0 && now >= g.shut && g.attempts == nil
		for _, w := range g.windows {
			idle = idle && w.used(now) == 0
		}
		g.mu.Unlock()
		if idle {
			delete(l.Gates, k)
		}
	}
	l.sweepAt = max(20_000, 2*len(l.Gates))
}

// Left returns the unused part of an app's longest window at an endpoint, in percent.
func (l *Limits) Left(media, endpoint, app string) int {
	g := l.gate(gateKey{media, endpoint, ScopeApp, app})
	defer g.users.Add(-1)
	g.mu.Lock()
	defer g.mu.Unlock()
	rule := g.rule()
	for _, w := range g.windows {
		if w.rule == rule {
			return 100 - 100*w.used(l.Now())/w.rule.Limit
		}
	}
	return 100
}

// Settings holds what the control API shows and sets, and what is kept over a restart.
type Settings struct {
	Rules     []Rule `json:"rules"`
	Penalties bool   `json:"penalties"`
}

// Settings returns a copy of the rules.
func (l *Limits) Settings() Settings {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Settings{Rules: append([]Rule{}, l.rules...), Penalties: l.penalties}
}

// Change adds rules. Each replaces the rule with the same media, endpoint, scope and period.
func (l *Limits) Change(rules []Rule, penalties *bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range rules {
		replaced := false
		for i := range l.rules {
			if l.rules[i].sameSlot(r) {
				l.rules[i], replaced = r, true
			}
		}
		if !replaced {
			l.rules = append(l.rules, r)
		}
	}
	if penalties != nil {
		l.penalties = *penalties
	}
	l.revision++
}

// Shortest returns a platform's app rule with the shortest period, to name in an invented refusal.
func (l *Limits) Shortest(media string) Rule {
	l.mu.Lock()
	defer l.mu.Unlock()
	best := Rule{Media: media, Endpoint: "*", Scope: ScopeApp, Seconds: periodMax}
	for _, r := range l.rules {
		if r.Media == media && r.Scope == ScopeApp && r.Seconds <= best.Seconds {
			best = r
		}
	}
	return best
}

// matched holds the rows of a kind that an app's recent calls have matched.
type matched struct {
	at   []time.Duration
	rows []int
	sum  int           // of rows
	shut time.Duration // until when the kind is shut
}

// Open reports whether an app may request a kind of rows, with the refusal if not.
func (l *Limits) Open(media, kind, app string) (Refusal, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := gateKey{media, kind, ScopeRows, app}
	rules := l.matching(k)
	m, now := l.matched[k], l.Now()
	if m == nil || len(rules) == 0 || now >= m.shut {
		return Refusal{}, true
	}
	return Refusal{Rule: rules[0], Penalty: true, RetryIn: m.shut - now}, false
}

// Match counts the rows that a call has matched. More rows in a period than allowed shut the kind for the rest of the
// period, and for one more period for each time that the rows contain the allowed number.
func (l *Limits) Match(media, kind, app string, rows int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := gateKey{media, kind, ScopeRows, app}
	rules := l.matching(k)
	if len(rules) == 0 {
		delete(l.matched, k)
		return
	}
	m, now, period := l.matched[k], l.Now(), time.Duration(rules[0].Seconds)*time.Second
	if m == nil {
		m = &matched{}
		l.matched[k] = m
	}
	old := 0
	for ; old < len(m.at) && m.at[old]+period <= now; old++ {
		m.sum -= m.rows[old]
	}
	m.at, m.rows, m.sum = append(m.at[old:], now), append(m.rows[old:], rows), m.sum+rows
	if m.sum > rules[0].Limit {
		m.shut = max(m.shut, m.at[0]+period+time.Duration(m.sum/rules[0].Limit)*period)
	}
}
