package consumer

import (
	"context"
	"sync"
	"time"
)

// exclusiveMaxDefault is how long an exclusive subtask may hold up others when its message does not say.
const exclusiveMaxDefault = time.Minute

// floor gives one lane of one platform to a single subtask for some time: in this process by the lane's slots, in the
// others of the deployment by a claim in Redis. The claim is best effort: while Redis is away, or its holder is paused
// for longer than the claim lives, others run beside it, and what they write is kept apart by coverage alone.
type floor struct {
	slots  *slots
	claims *claims
	lane   laneName
	turn   chan struct{} // holds a token while an exclusive subtask of this process has the floor or asks for it

	mu      sync.Mutex
	claim   string // this process's own, while it holds up others
	foreign string // another process's, while nothing may begin here
}

func newFloor(s *slots, c *claims, lane laneName) *floor {
	return &floor{slots: s, claims: c, lane: lane, turn: make(chan struct{}, 1)}
}

// enter waits until nothing else of the lane runs, and takes a slot. Others wait from the moment that the floor is
// claimed, for limit at the most: then they go on, and the caller with them, as one of many. When ctx ends first it has
// nothing. Leave ends the claim, release returns the slot.
func (f *floor) enter(ctx context.Context, limit time.Duration) (leave, release func(), err error) {
	if limit <= 0 {
		limit = exclusiveMaxDefault
	}
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	claim, err := f.claims.claimFloor(ctx, f.lane, limit)
	if err != nil {
		<-f.turn
		return nil, nil, err
	}
	f.mu.Lock()
	f.claim = claim
	f.mu.Unlock()
	f.slots.close()
	yield := sync.OnceFunc(func() {
		f.mu.Lock()
		f.claim = ""
		f.mu.Unlock()
		f.slots.open()
		<-f.turn
		f.claims.releaseFloor(ctx, f.lane, claim)
	})
	over := make(chan struct{})
	timer := time.AfterFunc(limit, func() {
		yield()
		close(over)
	})
	leave = func() {
		timer.Stop()
		yield()
	}

	select {
	case <-f.slots.whenIdle():
	case <-over:
		return leave, f.slots.release, f.slots.acquire(ctx)
	case <-ctx.Done():
		leave()
		return nil, nil, context.Cause(ctx)
	}
	if err := f.claims.awaitOthers(ctx, f.lane, claim, over); err != nil {
		leave()
		return nil, nil, err
	}
	select {
	case <-over:
		return leave, f.slots.release, f.slots.acquire(ctx)
	default:
		return leave, f.slots.seize(), nil
	}
}

// heard is told which claim holds the floor in the deployment; "" is none.
func (f *floor) heard(claim string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if claim == f.claim {
		claim = ""
	}
	switch {
	case f.foreign == "" && claim != "":
		f.slots.close()
	case f.foreign != "" && claim == "":
		f.slots.open()
	}
	f.foreign = claim
}

// state returns this process's own claim and another's that it has heard of.
func (f *floor) state() (claim, foreign string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.claim, f.foreign
}
