package alone

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"adsync/base/store"
	"adsync/base/store/exclusion"
	"adsync/base/task"
)

// history is what is known of exclusive subtasks: the floors as they were seen in the table, and what was done to
// consumers.
type history struct {
	mu     sync.Mutex
	runs   []int64 // ordered
	held   []heldFloor
	dead   []string // the nodes that were killed while they had a floor, or waited for one
	pauses []pause
	passed int // floors that went from a process to another one
}

// heldFloor is a floor that was seen as held.
type heldFloor struct {
	exclusion.Floor
	last time.Time // when it was last seen, by the database's clock
}

// until is when it has certainly kept others from working: as long as it was seen, within its time.
func (h heldFloor) until() time.Time {
	if over := h.HeldAt.Add(h.Hold); over.Before(h.last) {
		return over
	}
	return h.last
}

// pause is a time in which a consumer stood still.
type pause struct {
	node         string
	began, ended time.Time
}

// work is a try of a subtask, from its start to its outcome.
type work struct {
	key               task.Key
	node              string
	began, ended      time.Time
	task, media, lane string
}

// floorsEvery is how often the floors are read.
const floorsEvery = 100 * time.Millisecond

// watch reads the floors until ctx ends.
func (a *history) watch(ctx context.Context, s *store.Store) {
	for wait(ctx, floorsEvery) == nil {
		r, err := s.ReadFloors(ctx)
		if err != nil {
			continue // It is read again.
		}
		a.see(r)
	}
}

func (a *history) see(r exclusion.Reading) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range r.Floors {
		if f.HeldAt.IsZero() {
			continue
		}
		i := slices.IndexFunc(a.held, func(h heldFloor) bool { return h.ID == f.ID })
		if i < 0 {
			a.held = append(a.held, heldFloor{})
			i = len(a.held) - 1
		} else if nodeOf(a.held[i].Claim) != nodeOf(f.Claim) {
			a.passed++
		}
		a.held[i] = heldFloor{Floor: f, last: r.Now}
	}
}

// dies notes that a consumer was killed.
func (a *history) dies(node string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dead = append(a.dead, node)
}

// findings are what the tables show of exclusive subtasks.
type findings struct {
	problems []string
	floors   int // that were held
	excused  int // tries of consumers that stood still
}

// overlapSlack is how long two tries may seem to overlap: their times are of two processes.
const overlapSlack = 250 * time.Millisecond

// judge compares the tries of all subtasks with the floors. While a floor is held, and while the subtask works that
// holds it, no other work in its scope is under way. A consumer that stood still may have continued with what it had
// under way.
func (a *history) judge(works []work) findings {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := findings{floors: len(a.held)}
	for _, h := range a.held {
		spans := [][2]time.Time{{h.HeldAt, h.until()}}
		for _, w := range works {
			if w.key == h.Key && w.began.After(h.HeldAt.Add(-overlapSlack)) && w.ended.Before(h.HeldAt.Add(h.Hold)) {
				spans = append(spans, [2]time.Time{w.began, w.ended})
				found.problems = append(found.problems, a.lost(h, w, works)...)
			}
		}
		for _, w := range works {
			if !h.Covers(w.media, w.lane) || h.Admits(w.key, nil) || strings.HasSuffix(w.task, ".token_refresh") {
				continue
			}
			both := time.Duration(0)
			for _, span := range spans {
				both = max(both, overlap(span, [2]time.Time{w.began, w.ended}))
			}
			switch {
			case both <= overlapSlack:
			case a.stoodStill(w):
				found.excused++
			default:
				found.problems = append(found.problems, fmt.Sprintf("%s of %s worked for %s next to %s of %s, which was alone "+
					"over its %s since %s", text(w.key), w.task, both.Round(time.Millisecond), text(h.Key), h.TaskName, h.Scope,
					h.HeldAt.Format(time.RFC3339Nano)))
			}
		}
	}
	return found
}

// lost reports that a subtask whose consumer died did its work with another floor than the one it had.
func (a *history) lost(h heldFloor, w work, works []work) []string {
	node := nodeOf(h.Claim)
	ended := slices.ContainsFunc(works, func(w work) bool {
		return w.key == h.Key && w.node == node && !w.began.After(h.last) && w.ended.After(h.HeldAt)
	})
	if ended || !slices.Contains(a.dead, node) || !w.began.After(h.last) {
		return nil
	}
	return []string{fmt.Sprintf("%s of %s had a floor since %s, its consumer died, and the floor was gone %s before its "+
		"next try", text(h.Key), h.TaskName, h.HeldAt.Format(time.RFC3339Nano), w.began.Sub(h.last).Round(time.Millisecond))}
}

// nodeOf returns the node of a claim, which is the node, a word of the process, and a number.
func nodeOf(claim string) string {
	node, _, _ := strings.Cut(claim, "/")
	return node
}

// stoodStill reports whether the work's consumer had it under way when it was stopped, and ended it after that.
func (a *history) stoodStill(w work) bool {
	return slices.ContainsFunc(a.pauses, func(p pause) bool {
		return p.node == w.node && w.began.Before(p.began.Add(overlapSlack)) && w.ended.After(p.ended.Add(-overlapSlack))
	})
}

// overlap is for how long two spans overlap.
func overlap(a, b [2]time.Time) time.Duration {
	began, ended := a[0], a[1]
	if b[0].After(began) {
		began = b[0]
	}
	if b[1].Before(ended) {
		ended = b[1]
	}
	return ended.Sub(began)
}

func text(k task.Key) string { return fmt.Sprintf("subtask %d of run %d", k.AccountID, k.RunID) }
