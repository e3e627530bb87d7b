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
	// endedInterval is the time between two reads of the sessions that other processes ended.
	endedInterval = time.Second
	// endedTimeout is the time that one read or write of them may take. A log-out waits for the write.
	endedTimeout = 2 * time.Second
)

// SessionStore holds the sessions that were ended before their time, for all processes that show pages.
type SessionStore interface {
	// EndSession records that a session has ended, which would have lasted until a moment. It may be called twice.
	EndSession(ctx context.Context, id string, until time.Time) error
	// EndedSessions returns all ended sessions that would still last.
	EndedSessions(ctx context.Context) ([]string, error)
}

// endedSessions are the sessions whose cookies no longer open a page, although they are sealed and not over. Pages
// check only this memory, so that they are shown while the store does not answer. This process's own log-outs hold at
// once, those of other processes after the next read.
type endedSessions struct {
	store SessionStore // nil: sessions are this process's own
	log   *slog.Logger

	mu      sync.Mutex
	here    map[string]time.Time // ended by this process, with the time until which they would last
	unsaved map[string]time.Time // those of here that the store does not have yet
	stored  map[string]struct{}  // all in the store at the last read
	failing bool

	cancel context.CancelFunc // nil before Start
	done   chan struct{}
}

var _ service.Service = (*endedSessions)(nil)

func newEndedSessions(log *slog.Logger) *endedSessions {
	return &endedSessions{log: log, here: map[string]time.Time{}, unsaved: map[string]time.Time{}}
}

// Start reads the ended sessions, and then keeps reading and saving until Stop.
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

// Stop tries to save what is not saved yet.
func (e *endedSessions) Stop() {
	if e.cancel == nil {
		return
	}
	e.cancel()
	<-e.done
	e.note(e.save(context.Background()))
}

// end ends a session in this process at once, and in others when the store has it. It waits up to endedTimeout for the
// store.
func (e *endedSessions) end(ctx context.Context, s session) {
	e.mu.Lock()
	e.here[s.ID] = s.Until
	if e.store != nil {
		e.unsaved[s.ID] = s.Until
	}
	e.mu.Unlock()
	e.note(e.save(context.WithoutCancel(ctx))) // A browser that hangs up is still logged out.
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

// save writes what the store does not have yet, and drops what is over.
func (e *endedSessions) save(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endedTimeout)
	defer cancel()
	for id, until := range e.dropOver() {
		if err := e.store.EndSession(ctx, id, until); err != nil {
			return fmt.Errorf("save an ended session: %w", err)
		}
		e.mu.Lock()
		delete(e.unsaved, id)
		e.mu.Unlock()
	}
	return nil
}

// dropOver drops the sessions that would no longer last, and returns the others that are not saved yet.
func (e *endedSessions) dropOver() map[string]time.Time {
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
	ctx, cancel := context.WithTimeout(ctx, endedTimeout)
	defer cancel()
	ids, err := e.store.EndedSessions(ctx)
	if err != nil {
		return fmt.Errorf("read the ended sessions: %w", err)
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

// note logs the first failure of the store, and its first success after that.
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
