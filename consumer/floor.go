package consumer

import (
	"context"
	"sync"
	"time"
)

// exclusiveMaxDefault is how long an exclusive subtask may hold up others if its message names no limit.
const exclusiveMaxDefault = time.Minute

// floor gives one lane of one platform to a single subtask for some time: in this process by the lane's slots, in the
// other processes by a claim in Redis. The claim is best effort: while Redis is away, or if its holder is paused for
// longer than claimTTL, others run at the same time, and only the fence of coverage keeps their writes apart.
type floor struct {
	slots  *slots
	claims *claims
	lane   laneName
	token  chan struct{} // full while an exclusive subtask of this process holds the floor or waits for it

	mu      sync.Mutex
	claim   string // this process's claim, while it holds up others
	foreign string // another process's claim, while nothing may begin here
}

func newFloor(s *slots, c *claims, lane laneName) *floor {
	return &floor{slots: s, claims: c, lane: lane, token: make(chan struct{}, 1)}
}

// enter waits until nothing else of the lane runs, and takes a slot. Others wait from the moment of the claim, for at
// most limit. After that they continue, and the caller runs as one of many. If ctx ends first, the caller holds neither
// claim nor slot. Leave ends the claim, release returns the slot. The partition is that of the caller's message.
func (f *floor) enter(ctx context.Context, partition int, limit time.Duration) (leave, release func(), err error) {
	if limit <= 0 {
		limit = exclusiveMaxDefault
	}
	select {
	case f.token <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	claim, err := f.claims.claimFloor(ctx, f.lane, limit)
	if err != nil {
		<-f.token
		return nil, nil, err
	}
	f.mu.Lock()
	f.claim = claim
	f.mu.Unlock()
	f.slots.close()
	end := sync.OnceFunc(func() {
		f.mu.Lock()
		f.claim = ""
		f.mu.Unlock()
		f.slots.open()
		<-f.token
		f.claims.releaseFloor(ctx, f.lane, claim)
	})
	over := make(chan struct{})
	timer := time.AfterFunc(limit, func() {
		end()
		close(over)
	})
	leave = func() {
		timer.Stop()
		end()
	}

	select {
	case <-f.slots.whenIdle():
	case <-over:
		return leave, f.slots.release, f.slots.acquire(ctx, partition)
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
		return leave, f.slots.release, f.slots.acquire(ctx, partition)
	default:
		return leave, f.slots.seize(), nil
	}
}

// setHolder stores the claim that holds the floor in the deployment, "" for none. While it is another process's,
// nothing begins here.
func (f *floor) setHolder(claim string) {
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

// state returns this process's claim and another process's that holds the floor, "" for none.
func (f *floor) state() (claim, foreign string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.claim, f.foreign
}
