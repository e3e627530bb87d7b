package consumer

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"adsync/base/store/exclusion"
	"adsync/base/task"
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

// takeSerial works on the subtask when no other subtask of its key runs. Until then it waits without a slot, and later
// messages of its partition do not wait for it.
func (p *pool) takeSerial(ctx context.Context, s subtask) {
	key := keyInProcess(s.Envelope, p.name.media)
	s.leave = sync.OnceFunc(func() { p.c.serialKeys.release(key) })
	mine := p.c.serialKeys.acquire(ctx, key, func() { p.begin(ctx, s) }, func() { p.abandon(s.message) })
	if mine {
		p.begin(ctx, s)
	}
}

// keyInProcess returns the key under which serial subtasks run one at a time in this process.
func keyInProcess(e task.Envelope, media string) string {
	if name := e.SerialName(); name != "" {
		return "key:" + name // A media has no colon, so none of its keys is the same.
	}
	return media + ":" + serialKey(e)
}

// serialKey returns the key under which serial subtasks of a platform run one at a time: the account, or the part of
// work without one. Messages have the same key.
func serialKey(e task.Envelope) string {
	if e.AccountID == 0 {
		return "part " + e.Part
	}
	return strconv.FormatInt(e.AccountID, 10)
}

const (
	// systemHandlers begins the names of the handlers that belong to no platform, and externalHandlers ends those whose
	// work is done outside.
	systemHandlers   = "system."
	externalHandlers = ".external"
)

// keyInTable returns the key that a serial subtask holds in the database; "" for one that Redis keeps apart from
// others. That are subtasks of platforms without a serial key of their task: they are many, none of them has work
// outside, and the fence of coverage separates them.
func keyInTable(e task.Envelope) string {
	if name := e.SerialName(); name != "" {
		return name
	}
	if !strings.HasPrefix(e.Handler, systemHandlers) && !strings.HasSuffix(e.Handler, externalHandlers) {
		return ""
	}
	return task.SerialKeyOf(strings.ReplaceAll(e.Media+":"+serialKey(e), "{", "{{"), e.Key)
}

// lock claims the serial key among all processes. If another subtask holds it, lock defers this one and returns false.
// The returned subtask's leave also releases the key, unless it is kept.
func (p *pool) lock(ctx context.Context, s subtask) (subtask, bool) {
	if s.Concurrency != task.Serial {
		return s, true
	}
	if key := keyInTable(s.Envelope); key != "" {
		return p.lockInTable(ctx, s, key)
	}
	key := serialKey(s.Envelope)
	release, ok := p.c.claims.lock(ctx, p.name.media, key)
	if !ok {
		p.deferFor(ctx, s, serialWait, "another consumer works on "+key)
		return s, false
	}
	return s.onLeave(release), true
}

// lockInTable claims the key in the database. While that does not answer it tries again: only the end of ctx leaves the
// message to the next owner of its partition.
func (p *pool) lockInTable(ctx context.Context, s subtask, key string) (subtask, bool) {
	want := exclusion.SerialHold{SerialKey: key, Key: s.Key, Delivery: s.Delivery,
		Claim: p.c.claims.newClaim()}
	var holder exclusion.SerialHold
	err := persist(ctx, p.c.causes, "serial keys", "serial keys cannot be claimed and their work does not begin; retrying",
		func(ctx context.Context) (err error) {
			holder, err = p.c.deps.Store.ClaimSerialKey(ctx, want)
			return err
		})
	switch {
	case err != nil:
		p.abandon(s.message)
		return s, false
	case holder != want:
		p.deferFor(ctx, s, serialWait, fmt.Sprintf("the subtask of run %d, account %d, part %s has the serial key %s",
			holder.RunID, holder.AccountID, holder.Part, key))
		return s, false
	}
	h := &hold{}
	s.hold = h
	return s.onLeave(func() {
		if !h.kept.Load() {
			p.releaseInTable(ctx, want)
		}
	}), true
}

// releaseTimeout bounds the release of a key. The leader finds the keys that were not released.
const releaseTimeout = 5 * time.Second

func (p *pool) releaseInTable(ctx context.Context, h exclusion.SerialHold) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := p.c.deps.Store.ReleaseSerialKey(ctx, h); err != nil {
		p.c.causes.Report(slog.LevelWarn, "serial keys", "a serial key was not released; the leader releases it", err)
	}
}

// onLeave returns the subtask with a leave that first calls release.
func (s subtask) onLeave(release func()) subtask {
	leave := s.leave
	s.leave = sync.OnceFunc(func() {
		release()
		leave()
	})
	return s
}
