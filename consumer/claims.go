package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adsync/base/clock"
	"adsync/base/redis"
	"adsync/base/telemetry"
)

const (
	// claimTTL is how long a claim outlives a process that died with it; claimRenew is how often a living one renews it.
	claimTTL   = 15 * time.Second
	claimRenew = 4 * time.Second
	// claimTimeout bounds one request: a claim is not worth waiting for.
	claimTimeout = 500 * time.Millisecond
	// awayPause is how long Redis is not asked again after it did not answer.
	awayPause = 3 * time.Second
	// floorPoll is how often a floor that another process has, or has not left yet, is looked at.
	floorPoll = 250 * time.Millisecond
	// beatInterval is how often a consumer tells whether its lanes are busy, and hears who has claimed one.
	beatInterval = time.Second
	// beatTrust is how long what a consumer told last is taken for true. One that is silent for longer is dead or cut
	// off; and one that is cut off itself forgets the claims of others after that time.
	beatTrust = 5 * time.Second
)

// claimScript sets KEYS[1] to ARGV[1] for ARGV[2] milliseconds if nobody has it, and returns 1 if it is the caller's
// then. It is also when a request that comes again, as its answer was lost, has set it before.
var claimScript = goredis.NewScript(`
local holder = redis.call('GET', KEYS[1])
if not holder then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1
end
return holder == ARGV[1] and 1 or 0
`)

// releaseScript deletes KEYS[1] if it holds ARGV[1], so that nobody takes away a claim that has gone to another.
var releaseScript = goredis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
`)

// renewScript lets KEYS[1] live ARGV[2] milliseconds from now if it holds ARGV[1], and returns whether it did.
var renewScript = goredis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
`)

// claims keeps processes of the deployment out of each other's way, by keys in Redis that live as long as they are
// renewed. It is best effort: without Redis every claim is granted, and what must not interleave is kept apart by
// the fence of coverage.
type claims struct {
	client goredis.UniversalClient // nil where there is one process alone
	keys   redis.Keys
	node   string // names this process among all that are and were
	clock  clock.Clock
	causes *telemetry.CauseLog

	serial    atomic.Int64 // numbers this process's claims
	awayUntil atomic.Int64 // by clock.Mark, in nanoseconds

	beating sync.Mutex // held by beat
	heardAt time.Time  // of the last beat that was answered
}

// away tells whether Redis is not to be asked: there is none, or it did not answer a moment ago.
func (c *claims) away() bool { return c.client == nil || clock.Mark().UnixNano() < c.awayUntil.Load() }

// ask does one request and tells whether it was answered. Redis is not asked if it did not answer a moment ago.
func (c *claims) ask(ctx context.Context, request func(context.Context) error) bool {
	return !c.away() && c.try(ctx, request)
}

// try does one request in any case and tells whether it was answered. One that was not may have been done all the same.
func (c *claims) try(ctx context.Context, request func(context.Context) error) bool {
	limited, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	err := request(limited)
	switch {
	case err == nil || errors.Is(err, goredis.Nil):
		c.causes.Recovered("claims", "Redis answers again: serial and exclusive subtasks are kept apart in all processes")
		return true
	case ctx.Err() == nil:
		c.awayUntil.Store(clock.Mark().Add(awayPause).UnixNano())
		c.causes.Report(slog.LevelWarn, "claims",
			"Redis does not answer: serial and exclusive subtasks are kept apart within this process only",
			telemetry.OneCause(err))
	}
	return false
}

func (c *claims) newClaim() string { return c.node + "/" + strconv.FormatInt(c.serial.Add(1), 10) }

// claim asks for a key. When that was not answered it may be the caller's, who must release it.
func (c *claims) claim(ctx context.Context, key, claim string, ttl time.Duration) (got, answered bool) {
	answered = c.try(ctx, func(ctx context.Context) (err error) {
		got, err = claimScript.Run(ctx, c.client, []string{key}, claim, ttl.Milliseconds()).Bool()
		return err
	})
	return got, answered
}

// release ends a claim, also when the work that had it has ended with ctx. It is tried even if Redis did not answer a
// moment ago: others would wait until the claim runs out.
func (c *claims) release(ctx context.Context, key, claim string) {
	if c.client == nil {
		return
	}
	c.try(context.WithoutCancel(ctx), func(ctx context.Context) error {
		return releaseScript.Run(ctx, c.client, []string{key}, claim).Err()
	})
}

// lock claims a key of a platform's serial work for the process. It returns false when another process has it.
// Release ends the claim, which is renewed until then.
func (c *claims) lock(ctx context.Context, media, key string) (release func(), ok bool) {
	if c.away() {
		return func() {}, true
	}
	name, claim := c.keys.Of(media+":"+key, "serial"), c.newClaim()
	if got, answered := c.claim(ctx, name, claim, claimTTL); answered && !got {
		return nil, false
	}
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(claimRenew)
		defer ticker.Stop()
		for {
			select {
			case <-renewing.Done():
				return
			case <-ticker.C:
				c.renew(renewing, name, claim, claimTTL)
			}
		}
	}()
	return func() {
		stop()
		<-ended // A renewal that overtakes the release would do no harm, but outlive it.
		c.release(ctx, name, claim)
	}, true
}

func (c *claims) renew(ctx context.Context, name, claim string, ttl time.Duration) {
	c.ask(ctx, func(ctx context.Context) error {
		return renewScript.Run(ctx, c.client, []string{name}, claim, ttl.Milliseconds()).Err()
	})
}

func (c *claims) floorKey(lane laneName) string { return c.keys.Of(lane.String(), "floor") }
func (c *claims) membersKey(lane laneName) string {
	return c.keys.Of(lane.String(), "floor", "members")
}

// claimFloor waits until no other process has the lane's floor and claims it.
func (c *claims) claimFloor(ctx context.Context, lane laneName, limit time.Duration) (claim string, err error) {
	claim = c.newClaim()
	for {
		if c.away() {
			return claim, nil
		}
		got, answered := c.claim(ctx, c.floorKey(lane), claim, min(claimTTL, limit))
		if ctx.Err() != nil {
			c.releaseFloor(ctx, lane, claim) // It may have been answered with yes.
			return "", context.Cause(ctx)
		}
		if got || !answered {
			return claim, nil
		}
		if !pause(ctx, nil, floorPoll) {
			return "", context.Cause(ctx)
		}
	}
}

func (c *claims) releaseFloor(ctx context.Context, lane laneName, claim string) {
	c.release(ctx, c.floorKey(lane), claim)
}

// awaitOthers waits until every other process has heard of the claim and works no more on the lane, or over is closed,
// or Redis does not answer. The end of ctx alone is an error.
func (c *claims) awaitOthers(ctx context.Context, lane laneName, claim string, over <-chan struct{}) error {
	for {
		var members map[string]string
		answered := c.ask(ctx, func(ctx context.Context) (err error) {
			members, err = c.client.HGetAll(ctx, c.membersKey(lane)).Result()
			return err
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !answered || c.allAway(members, claim) {
			return nil
		}
		if !pause(ctx, over, floorPoll) {
			return context.Cause(ctx) // nil when over
		}
	}
}

// allAway tells whether all others that live have heard of the claim and are idle.
func (c *claims) allAway(members map[string]string, claim string) bool {
	now := c.clock.Now()
	for node, text := range members {
		told, ok := parseBeat(text)
		if node == c.node || !ok || now.Sub(told.at) > beatTrust {
			continue
		}
		if told.busy || told.heard != claim {
			return false
		}
	}
	return true
}

// told is what a process says of one of its lanes.
type told struct {
	at    time.Time
	heard string // the claim that keeps it from beginning new work
	busy  bool
}

func (b told) String() string {
	return fmt.Sprintf("%d|%t|%s", b.at.UnixMilli(), b.busy, b.heard)
}

func parseBeat(text string) (told, bool) {
	parts := strings.SplitN(text, "|", 3)
	if len(parts) != 3 {
		return told{}, false
	}
	at, err := strconv.ParseInt(parts[0], 10, 64)
	return told{at: time.UnixMilli(at), busy: parts[1] == "true", heard: parts[2]}, err == nil
}

// beat tells the others of the floors' lanes, renews the process's own claims and hears of theirs.
func (c *claims) beat(ctx context.Context, floors []*floor) {
	if c.client == nil || len(floors) == 0 {
		return
	}
	c.beating.Lock()
	defer c.beating.Unlock()
	holders := make([]*goredis.StringCmd, len(floors))
	answered := c.ask(ctx, func(ctx context.Context) error {
		_, err := c.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for i, f := range floors {
				_, foreign := f.state()
				members := c.membersKey(f.lane)
				p.HSet(ctx, members, c.node, told{at: c.clock.Now(), heard: foreign, busy: f.slots.busy()}.String())
				p.PExpire(ctx, members, time.Minute)
				holders[i] = p.Get(ctx, c.floorKey(f.lane))
			}
			return nil
		})
		return err
	})
	if !answered {
		if clock.Since(c.heardAt) > beatTrust {
			for _, f := range floors {
				f.heard("")
			}
		}
		return
	}
	c.heardAt = clock.Mark()
	for i, f := range floors {
		f.heard(holders[i].Val())
		if claim, _ := f.state(); claim != "" {
			// Not beyond the limit: what enter asked for ends it.
			c.renew(ctx, c.floorKey(f.lane), claim, claimTTL)
		}
	}
}

// bow says that this process works on a lane no more.
func (c *claims) bow(ctx context.Context, lane laneName) {
	c.ask(context.WithoutCancel(ctx), func(ctx context.Context) error {
		return c.client.HDel(ctx, c.membersKey(lane), c.node).Err()
	})
}

// pause waits, and returns false when ctx ended or over was closed first.
func pause(ctx context.Context, over <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-over:
		return false
	case <-ctx.Done():
		return false
	}
}
