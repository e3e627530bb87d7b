// Package brake decides which lanes' fan-outs rest, so that fan-out is no faster than consumption.
//
// A lane's fan-outs rest while at least backlog_max of its messages wait. While a lane's oldest message has waited
// for longer than its late_seconds, the fan-outs of the less important lanes of the same platform rest too. For ten
// minutes after that they get at most half a minute ahead of their consumers, because messages that already wait in
// Kafka could not be held back the next time. A resting fan-out frees its place for others. Retries continue, because
// their subtasks are already in the backlog of the run.
package brake

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/broker"
	"adsync/base/config"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
)

// The defaults of a lane's row.
const (
	backlogMaxDefault = 50_000
	lateImportant     = time.Minute // of a lane that is at least as important as "important"
	lateOthers        = 10 * time.Minute
)

const (
	// idleInterval is how often a lane is read that had no waiting messages and got none since.
	idleInterval = 10 * time.Second
	// stuckAfter is how long a lane's group may stand still before other lanes no longer wait for it: holding them up does
	// not help a lane without consumers.
	stuckAfter = time.Minute
	// A lane is kept short after a more important lane was late: for shortFor, to the messages that its consumers finish
	// in a given time, but not below a number of messages.
	shortFor     = 10 * time.Minute
	shortBacklog = 30 * time.Second
	shortMin     = 500
	// rateOver is the time that a lane's rate is averaged over.
	rateOver = 30 * time.Second
	// endsMax bounds how many ends of a partition are remembered.
	endsMax = 512
)

// Rule holds the settings of a lane's row for its fan-outs.
type Rule struct {
	BacklogMax int64
	Late       time.Duration
	Importance int
}

// RuleOf reads a row. It replaces invalid values by their defaults and returns their errors.
func RuleOf(name string, row settings.Lane) (Rule, []*config.FieldError) {
	rule := Rule{BacklogMax: backlogMaxDefault, Late: lateOthers,
		Importance: settings.LaneImportance(name, row.Importance)}
	var errs []*config.FieldError
	check := func(key string, value int64) bool {
		if value < 0 {
			errs = append(errs, &config.FieldError{Key: key, Value: fmt.Sprint(value), Want: "0 for the default, or more"})
		}
		return value > 0
	}
	check("importance", int64(row.Importance))
	if rule.Importance >= settings.LaneImportance(settings.LaneImportant, 0) {
		rule.Late = lateImportant
	}
	if check("backlog_max", row.BacklogMax) {
		rule.BacklogMax = row.BacklogMax
	}
	if check("late_seconds", int64(row.LateSeconds)) {
		rule.Late = time.Duration(row.LateSeconds) * time.Second
	}
	return rule, errs
}

// endSeen is a partition's end at the time of a read.
type endSeen struct {
	at  time.Time
	end int64
}

// laneLoad is the known state of one lane.
type laneLoad struct {
	rule   Rule
	known  bool // the last read succeeded
	failed bool // the last read failed; before the first one neither is set

	backlog int64
	// how long the oldest message has waited, at the last read; at most as long as this lead
	oldest    time.Duration
	lookedAt  time.Time
	committed int64     // the sum over its partitions
	movedAt   time.Time // when that last changed
	rate      float64   // messages worked off in a second
	lateAt    time.Time // when it was last late
	ends      map[int][]endSeen

	sent    int64 // messages written by this term
	counted int64 // of those, how many backlog includes for sure
	waiting bool  // a fan-out rests for this lane's brake
}

// load returns how many messages wait now, as far as this process knows.
func (l *laneLoad) load() int64 { return l.backlog + l.sent - l.counted }

func (l *laneLoad) isLate() bool {
	return l.known && l.backlog > 0 && l.oldest > l.rule.Late && l.lookedAt.Sub(l.movedAt) < stuckAfter
}

// Brakes decides which lanes' fan-outs rest. Fan-outs of a lane that could not be read do not rest. All times are of
// this process's clock.
type Brakes struct {
	Rested chan struct{} // receives when a fan-out begins to rest, so that its lane is read soon

	mu    sync.Mutex
	lanes map[ledger.LaneName]*laneLoad
}

// New returns brakes under which no fan-out rests.
func New() *Brakes {
	return &Brakes{Rested: make(chan struct{}, 1), lanes: map[ledger.LaneName]*laneLoad{}}
}

// lane returns the state of a lane. The caller holds mu.
func (b *Brakes) lane(name ledger.LaneName) *laneLoad {
	l := b.lanes[name]
	if l == nil {
		rule, _ := RuleOf(name.Lane, settings.Lane{})
		l = &laneLoad{rule: rule, ends: map[int][]endSeen{}}
		b.lanes[name] = l
	}
	return l
}

// SetRule sets the rule of a lane.
func (b *Brakes) SetRule(name ledger.LaneName, rule Rule) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lane(name).rule = rule
}

// Sent counts messages of a lane. It is called before they are written.
func (b *Brakes) Sent(name ledger.LaneName, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lane(name).sent += int64(n)
}

// Begin is called before a lane is read; its result is passed to Saw. Only messages that were written before Begin are
// certainly part of what is read.
func (b *Brakes) Begin(name ledger.LaneName) (sent int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lane(name).sent
}

// Saw updates a lane with the offsets that were read; nil means that the read failed.
func (b *Brakes) Saw(name ledger.LaneName, now time.Time, sent int64, offsets []broker.PartitionOffsets) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lane(name)
	l.known, l.failed = len(offsets) > 0, len(offsets) == 0
	if l.failed {
		return
	}
	l.backlog, l.counted, l.oldest = 0, sent, 0
	var committed int64
	for _, o := range offsets {
		l.backlog += o.Lag()
		committed += max(o.Committed, o.Start)
		l.oldest = max(l.oldest, l.age(o, now))
	}
	if l.movedAt.IsZero() {
		l.committed, l.movedAt = committed, now
	}
	if passed := now.Sub(l.lookedAt); passed > 0 && !l.lookedAt.IsZero() {
		done := max(float64(committed-l.committed), 0) / passed.Seconds()
		l.rate += (done - l.rate) * -math.Expm1(-passed.Seconds()/rateOver.Seconds())
	}
	if committed != l.committed {
		l.committed, l.movedAt = committed, now
	}
	l.lookedAt = now
	if l.isLate() {
		l.lateAt = now
	}
}

// age returns how long the first unfinished message has been in its partition: since the first read that saw the log's
// end beyond it.
func (l *laneLoad) age(o broker.PartitionOffsets, now time.Time) time.Duration {
	ends := l.ends[o.Partition]
	if n := len(ends); n > 0 && ends[n-1].end > o.End {
		ends = nil // The log was created again.
	}
	if n := len(ends); o.Lag() > 0 && (n == 0 || ends[n-1].end < o.End) {
		ends = append(ends, endSeen{at: now, end: o.End})
	}
	done := max(o.Committed, o.Start)
	passed, _ := slices.BinarySearchFunc(ends, done, func(e endSeen, done int64) int {
		if e.end <= done {
			return -1
		}
		return 1
	})
	ends = ends[passed:]
	if len(ends) > endsMax { // Thin out the newer half: the oldest ends are needed next.
		kept := ends[:endsMax/2]
		for i := endsMax / 2; i < len(ends); i += 2 {
			kept = append(kept, ends[i])
		}
		ends = kept
	}
	l.ends[o.Partition] = slices.Clone(ends)
	if len(ends) == 0 || o.Lag() == 0 {
		return 0
	}
	return now.Sub(ends[0].at)
}

// The reasons why a lane's fan-outs rest.
const (
	ByBacklog = "backlog"
	ByLate    = "late" // a more important lane of the media is late, or was not long ago
)

// Held returns why a lane's fan-outs must rest, or "".
func (b *Brakes) Held(name ledger.LaneName) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.why(name, b.lane(name))
}

func (b *Brakes) why(name ledger.LaneName, l *laneLoad) string {
	if !l.failed && l.load() >= l.rule.BacklogMax {
		return ByBacklog
	}
	for other, o := range b.lanes {
		if other.Media != name.Media || o.rule.Importance <= l.rule.Importance || o.failed || o.lateAt.IsZero() {
			continue
		}
		short := max(shortMin, int64(l.rate*shortBacklog.Seconds()))
		if o.isLate() || (o.lookedAt.Sub(o.lateAt) < shortFor && l.load() >= short && !l.failed) {
			return ByLate
		}
	}
	return ""
}

// HeldLanes returns the lanes whose fan-outs must rest.
func (b *Brakes) HeldLanes() []ledger.LaneName {
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []ledger.LaneName
	for name, l := range b.lanes {
		if b.why(name, l) != "" {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, CompareLanes)
	return names
}

// Rests records that a fan-out of the lane has work and rests.
func (b *Brakes) Rests(name ledger.LaneName) {
	b.mu.Lock()
	b.lane(name).waiting = true
	b.mu.Unlock()
	select {
	case b.Rested <- struct{}{}:
	default:
	}
}

// Resting reports whether a fan-out has work and rests.
func (b *Brakes) Resting() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lanes {
		if l.waiting {
			return true
		}
	}
	return false
}

// Metrics holds the metrics that Figures sets, by media and lane.
type Metrics struct {
	Backlog *prometheus.GaugeVec   // messages that wait
	Oldest  *prometheus.GaugeVec   // how long the first of them has waited, in seconds
	Braked  *prometheus.CounterVec // seconds that fan-outs have rested, also by reason
}

// Known returns all lanes that were ever used, and whether the last read of each succeeded.
func (b *Brakes) Known() map[ledger.LaneName]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := make(map[ledger.LaneName]bool, len(b.lanes))
	for name, l := range b.lanes {
		known[name] = l.known
	}
	return known
}

// Figures sets the metrics of all lanes; passed is the time since the last call. It reports whether a resting fan-out
// may continue.
func (b *Brakes) Figures(m Metrics, passed time.Duration) (released bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, l := range b.lanes {
		if l.known {
			m.Backlog.WithLabelValues(name.Media, name.Lane).Set(float64(l.load()))
			m.Oldest.WithLabelValues(name.Media, name.Lane).Set(l.oldest.Seconds())
		}
		if why := b.why(name, l); why != "" && l.waiting {
			m.Braked.WithLabelValues(name.Media, name.Lane, why).Add(passed.Seconds())
		} else {
			released = released || l.waiting
			l.waiting = false
		}
	}
	return released
}

// ToLookAt returns the lanes that are due to be read.
func (b *Brakes) ToLookAt(now time.Time) []ledger.LaneName {
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []ledger.LaneName
	for name, l := range b.lanes {
		if l.known && l.load() == 0 && now.Sub(l.lookedAt) < idleInterval {
			continue
		}
		names = append(names, name)
	}
	slices.SortFunc(names, CompareLanes)
	return names
}

// CompareLanes orders lanes by media and name.
func CompareLanes(a, b ledger.LaneName) int {
	return cmp.Or(strings.Compare(a.Media, b.Media), strings.Compare(a.Lane, b.Lane))
}
