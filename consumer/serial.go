package consumer

import (
	"context"
	"slices"
	"sync"
)

// serialKeys lets the subtasks of one key run one at a time, in the order of acquire. A waiting subtask costs an entry
// of a list: no goroutine and no slot.
type serialKeys struct {
	mu   sync.Mutex
	keys map[string][]*serialWaiter // the waiters of each key that is held
}

type serialWaiter struct {
	begin func()
	stop  func() bool // cancels the call at the end of the context
}

func newSerialKeys() *serialKeys { return &serialKeys{keys: map[string][]*serialWaiter{}} }

// acquire takes a free key, returns true and calls neither function. If the key is held, acquire returns false and
// later calls one of them in a new goroutine: begin when the caller holds the key, or giveUp when ctx ends first. The
// holder calls release.
func (t *serialKeys) acquire(ctx context.Context, key string, begin, giveUp func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting, taken := t.keys[key]
	if !taken {
		t.keys[key] = nil
		return true
	}
	w := &serialWaiter{begin: begin}
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

// release gives the key to the subtask that has waited longest.
func (t *serialKeys) release(key string) {
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
