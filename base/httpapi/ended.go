package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/base/service"
)

const (
	// endedInterval is how often the sessions that other processes ended are read.
	endedInterval = time.Second
	// endedPatience is how long one read or write of them may take. Somebody who logs out waits for the write.
	endedPatience = 2 * time.Second
)

// SessionStore holds the sessions that were ended before their time, for all processes that show pages.
type SessionStore interface {
	// EndSession records that a session, which would last until a moment, has ended. Twice is no error.
	EndSession(ctx context.Context, id string, until time.Time) error
	// EndedSessions returns all that would still last.
	EndedSessions(ctx context.Context) ([]string, error)
}

// endedSessions are those whose cookies no longer open a page, although they are sealed and not over. A page asks
// this memory alone, so that it is shown while the store is away: this process's own log-outs hold at once, those of
// others from the last read on.
type endedSessions struct {
	store SessionStore // nil: sessions are this process's own
	log   *slog.Logger

	mu      sync.Mutex
	here    map[string]time.Time // ended by this process, and until when they would last
	unsaved map[string]time.Time // those of them that the store does not have yet
	stored  map[string]struct{}  // as the store had them last
	failing bool

	cancel context.CancelFunc // nil before Start
	done   chan struct{}
}

var _ service.Service = (*endedSessions)(nil)

func newEndedSessions(log *slog.Logger) *endedSessions {
	return &endedSessions{log: log, here: map[string]time.Time{}, unsaved: map[string]time.Time{}}
}

// Start reads what has ended so far, and then keeps reading and saving until Stop.
func (e *endedSessions) Start(ctx context.Context) error {
	if err := e.read(ctx); err != nil {
		return err
	}
	loop, cancel := context.WithCancel(context.WithoutCancel(ctx)) // It outlives the start.
	e.cancel, e.done = cancel, make(chan struct{})
	go func() {
		defer close(e.done)
		ticker := time.NewTicker(endedInterval)
		defer ticker.Stop()
		for {
			select {
			case <-loop.Done():
				return
			case <-ticker.C:
				if err := e.exchange(loop); loop.Err() == nil {
					e.note(err)
				}
			}
		}
	}()
	return nil
}

// Stop saves what is not saved yet, if the store takes it.
func (e *endedSessions) Stop() {
	if e.cancel == nil {
		return
	}
	e.cancel()
	<-e.done
	e.note(e.save(context.Background()))
}

// end ends a session here at once, and for others as soon as the store has it, which is waited for briefly.
func (e *endedSessions) end(ctx context.Context, s session) {
	e.mu.Lock()
	e.here[s.ID] = s.Until
	if e.store != nil {
		e.unsaved[s.ID] = s.Until
	}
	e.mu.Unlock()
	e.note(e.save(context.WithoutCancel(ctx))) // A browser that leaves early has logged out all the same.
}

func (e *endedSessions) has(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, here := e.here[id]
	_, stored := e.stored[id]
	return here || stored
}

func (e *endedSessions) exchange(ctx context.Context) error {
	if err := e.save(ctx); err != nil {
		return err
	}
	return e.read(ctx)
}

// save writes what the store does not have yet, and forgets what is over.
func (e *endedSessions) save(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endedPatience)
	defer cancel()
	for id, until := range e.take() {
		if err := e.store.EndSession(ctx, id, until); err != nil {
			return fmt.Errorf("save that a session has ended: %w", err)
		}
		e.mu.Lock()
		delete(e.unsaved, id)
		e.mu.Unlock()
	}
	return nil
}

func (e *endedSessions) take() map[string]time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := clock.Mark()
	unsaved := map[string]time.Time{}
	for id, until := range e.here {
		if !now.Before(until) {
			delete(e.here, id)
			delete(e.unsaved, id)
		} else if _, ok := e.unsaved[id]; ok {
			unsaved[id] = until
		}
	}
	return unsaved
}

func (e *endedSessions) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endedPatience)
	defer cancel()
	ids, err := e.store.EndedSessions(ctx)
	if err != nil {
		return fmt.Errorf("read the sessions that have ended: %w", err)
	}
	stored := make(map[string]struct{}, len(ids))
	for _, id := range ids {
		stored[id] = struct{}{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stored = stored
	return nil
}

// note logs when the store begins to fail, and when it answers again.
func (e *endedSessions) note(err error) {
	e.mu.Lock()
	changed := e.failing != (err != nil)
	e.failing = err != nil
	e.mu.Unlock()
	switch {
	case !changed:
	case err != nil:
		e.log.Warn("ended sessions are not exchanged", "err", err)
	default:
		e.log.Info("ended sessions are exchanged again")
	}
}
