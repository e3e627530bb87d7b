package exclusion

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"adsync/base/task"
)

const (
	// Silence is how long a consumer may be silent before it counts as dead.
	Silence = 5 * time.Second
	// reportsAfter is how long consumers report after the last use of a floor. While they do, the next one waits for
	// nobody who is dead.
	reportsAfter = time.Minute
)

// Floor is an exclusive subtask that lets others wait, or waits itself. It belongs to the subtask, not to a process.
type Floor struct {
	ID int64 // in the order in which they asked
	task.Key
	TaskName    string
	Media, Lane string
	Scope       task.Over
	Ancestors   []int64       // the runs above its own; those, and the runs below its own, pass
	Hold        time.Duration // how long it may hold, from HeldAt
	Drain       time.Duration // how long it may let others wait before it holds, from FrontAt
	Delivery    int           // the newest of its subtask
	Claim       string        // identifies who asked last: a message may come to two processes
	AskedAt     time.Time
	FrontAt     time.Time // from then on nothing begins next to it; zero while it waits behind another one
	HeldAt      time.Time // when its subtask began; zero before
}

// Holds reports whether its subtask has begun and nothing else may run.
func (f Floor) Holds(now time.Time) bool {
	return !f.HeldAt.IsZero() && now.Before(f.HeldAt.Add(f.Hold))
}

// Drains reports whether it waits until all others are idle.
func (f Floor) Drains(now time.Time) bool {
	return f.HeldAt.IsZero() && !f.FrontAt.IsZero() && now.Before(f.FrontAt.Add(f.Drain))
}

// Stops reports whether nothing may begin next to it.
func (f Floor) Stops(now time.Time) bool { return f.Holds(now) || f.Drains(now) }

// live reports whether it waits or stops others. Otherwise its time is over, and its row is only kept for its subtask.
func (f Floor) live(now time.Time) bool {
	return f.Stops(now) || f.FrontAt.IsZero() && f.HeldAt.IsZero()
}

// Covers reports whether the work of a lane is in its scope.
func (f Floor) Covers(media, lane string) bool {
	switch f.Scope {
	case task.OverEverything:
		return true
	case task.OverPlatform:
		return f.Media == media
	case task.OverLane:
		return f.Media == media && f.Lane == lane
	default:
		return false
	}
}

// Admits reports whether a subtask may run next to it: its own, and those of the runs above and below it.
func (f Floor) Admits(k task.Key, ancestors []int64) bool {
	return k == f.Key || slices.Contains(ancestors, f.RunID) || slices.Contains(f.Ancestors, k.RunID)
}

// conflicts reports whether two floors cannot hold at the same time.
func (f Floor) conflicts(with Floor) bool {
	return f.Covers(with.Media, with.Lane) || with.Covers(f.Media, f.Lane)
}

// NotIdle is what a floor waits for.
type NotIdle struct {
	Node    string // the consumer; "" for work outside adsync
	Unread  bool   // the consumer has not read the floor yet
	Running int    // subtasks under way next to the floor
}

// report is what a consumer has reported last.
type report struct {
	seenAt  time.Time
	running map[int64]int // by the floors that stop others
}

// Queue is all floors and what consumers have reported about them, as read at one moment. Its methods change it in
// memory.
type Queue struct {
	now          time.Time
	lastID       int64
	since, until time.Time // consumers report since and until then
	floors       []Floor   // by id
	reports      map[string]report
}

// NewQueue returns a queue without floors.
func NewQueue() *Queue { return &Queue{reports: map[string]report{}} }

// Turn is where a floor is.
type Turn struct {
	Floor
	// Over means that the floor was held for its whole time: its subtask runs as one of many.
	Over bool
	// TooSlow means that the others were not idle within the floor's time to drain. The floor is gone.
	TooSlow bool
	NotIdle []NotIdle // only while it drains, or was too slow
}

// Ask advances all floors at a time, and adds the wanted one if its subtask has none. Outside returns how many other
// subtasks in a floor's scope have work outside. After an error the queue is not to be used.
func (q *Queue) Ask(now time.Time, want Floor, outside func(Floor) (int, error)) (Turn, error) {
	q.now = now
	i := q.find(want.Key)
	if i < 0 {
		if !now.Before(q.until) && !slices.ContainsFunc(q.floors, func(f Floor) bool { return f.live(now) }) {
			q.since = now
		}
		q.lastID++
		want.ID, want.AskedAt, want.FrontAt, want.HeldAt = q.lastID, now, time.Time{}, time.Time{}
		q.floors = append(q.floors, want)
		i = len(q.floors) - 1
	}
	q.until = now.Add(reportsAfter)
	mine := &q.floors[i]
	mine.Delivery, mine.Claim = max(mine.Delivery, want.Delivery), want.Claim
	for j := range q.floors { // by id, so that one that comes first is first in front
		if f := &q.floors[j]; f.FrontAt.IsZero() && f.HeldAt.IsZero() && !q.blocked(*f) {
			f.FrontAt = now
		}
	}
	if !mine.HeldAt.IsZero() {
		return Turn{Floor: *mine, Over: !mine.Holds(now)}, nil
	}
	if mine.FrontAt.IsZero() {
		return Turn{Floor: *mine}, nil
	}
	busy, err := q.notIdle(*mine, outside)
	if err != nil {
		return Turn{}, err
	}
	switch {
	case !mine.Drains(now):
		gone := *mine
		q.floors = slices.Delete(q.floors, i, i+1)
		return Turn{Floor: gone, TooSlow: true, NotIdle: busy}, nil
	case len(busy) == 0 && now.Sub(q.since) >= Silence:
		mine.HeldAt = now
	}
	return Turn{Floor: *mine, NotIdle: busy}, nil
}

func (q *Queue) find(k task.Key) int {
	return slices.IndexFunc(q.floors, func(f Floor) bool { return f.Key == k })
}

// blocked reports whether a floor waits behind another one. Those in front come first, then the order of asking. A
// floor below one that stops others waits for none that came later than that: the one above may wait for it.
func (q *Queue) blocked(f Floor) bool {
	above := slices.IndexFunc(q.floors, func(h Floor) bool {
		return h.Stops(q.now) && slices.Contains(f.Ancestors, h.RunID)
	})
	return slices.ContainsFunc(q.floors, func(other Floor) bool {
		if other.ID == f.ID || !other.live(q.now) || !other.conflicts(f) || slices.Contains(f.Ancestors, other.RunID) {
			return false
		}
		if other.Stops(q.now) {
			return true
		}
		under := above < 0 || slices.Contains(other.Ancestors, q.floors[above].RunID)
		return other.ID < f.ID && under
	})
}

// notIdle returns what a floor in front waits for, consumers by name first.
func (q *Queue) notIdle(f Floor, outside func(Floor) (int, error)) ([]NotIdle, error) {
	var busy []NotIdle
	for _, node := range slices.Sorted(maps.Keys(q.reports)) {
		r := q.reports[node]
		if q.now.Sub(r.seenAt) > Silence {
			continue // It is dead, or will begin nothing before it has read the floor.
		}
		if n, read := r.running[f.ID]; !read || n > 0 {
			busy = append(busy, NotIdle{Node: node, Unread: !read, Running: n})
		}
	}
	n, err := outside(f)
	if n > 0 {
		busy = append(busy, NotIdle{Running: n})
	}
	return busy, err
}

// Release removes the floor of a subtask, unless another one has asked for it since.
func (q *Queue) Release(now time.Time, k task.Key, claim string) {
	i := q.find(k)
	if i < 0 || q.floors[i].Claim != claim {
		return
	}
	q.floors = slices.Delete(q.floors, i, i+1)
	q.until = now.Add(reportsAfter)
}

// EndWait is Release for a subtask that no longer waits. A floor that is held stays: its subtask's message has come to
// another process, which works, or comes to the next one.
func (q *Queue) EndWait(now time.Time, k task.Key, claim string) {
	if i := q.find(k); i >= 0 && q.floors[i].HeldAt.IsZero() {
		q.Release(now, k, claim)
	}
}

// Report records what a consumer runs next to each of the floors that stop others.
func (q *Queue) Report(now time.Time, node string, running map[int64]int) {
	q.reports[node] = report{seenAt: now, running: maps.Clone(running)}
}

// Forget removes a consumer.
func (q *Queue) Forget(node string) { delete(q.reports, node) }

// Reading is the floors as a consumer reads them.
type Reading struct {
	Now     time.Time // the database's
	Floors  []Floor   // by id
	Reports bool      // whether consumers report what they run
}

// Read returns the queue's floors at a time.
func (q *Queue) Read(now time.Time) Reading {
	return Reading{Now: now, Floors: slices.Clone(q.floors), Reports: now.Before(q.until)}
}

// byID orders floors.
func byID(a, b Floor) int { return cmp.Compare(a.ID, b.ID) }
