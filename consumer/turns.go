package consumer

import (
	"context"
	"slices"
	"sync"
)

// turns lets those of one key go one at a time, in the order of asking. Who waits costs a place in a list and nothing
// else: no goroutine, no slot.
type turns struct {
	mu   sync.Mutex
	keys map[string][]*turn // who waits, for each key that somebody has
}

type turn struct {
	begin func()
	stop  func() bool // takes back what happens at the end of the context
}

func newTurns() *turns { return &turns{keys: map[string][]*turn{}} }

// take asks for a key. If it is free it is the caller's at once, take returns true and calls neither function. Else
// one of them is called later, in a goroutine of its own: begin when the turn has come, or giveUp when ctx ends first.
// Whoever had the key calls leave.
func (t *turns) take(ctx context.Context, key string, begin, giveUp func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting, taken := t.keys[key]
	if !taken {
		t.keys[key] = nil
		return true
	}
	w := &turn{begin: begin}
	w.stop = context.AfterFunc(ctx, func() {
		t.mu.Lock()
		i := slices.Index(t.keys[key], w)
		if i >= 0 {
			t.keys[key] = slices.Delete(t.keys[key], i, i+1)
		}
		t.mu.Unlock()
		if i >= 0 {
			giveUp()
		}
	})
	t.keys[key] = append(waiting, w)
	return false
}

// leave gives the key to the one who has waited longest.
func (t *turns) leave(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := t.keys[key]
	if len(waiting) == 0 {
		delete(t.keys, key)
		return
	}
	next := waiting[0]
	t.keys[key] = slices.Delete(waiting, 0, 1)
	next.stop()
	go next.begin()
}
