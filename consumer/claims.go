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
	// claimTimeout bounds one request. It is short because claims are best effort.
	claimTimeout = 500 * time.Millisecond
	// awayPause is how long no request is sent after Redis did not answer.
	awayPause = 3 * time.Second
	// floorPoll is how often a process that waits for a lane's floor reads its state.
	floorPoll = 250 * time.Millisecond
	// laneStateInterval is how often a consumer publishes whether its lanes are busy and reads the claims of others.
	laneStateInterval = time.Second
	// laneStateTTL is how long a consumer's last published state counts. One that is silent for longer is dead or cut
	// off. One that is cut off itself drops the claims of others after that time.
	laneStateTTL = 5 * time.Second
)

// claimScript sets KEYS[1] to ARGV[1] for ARGV[2] milliseconds if the key is free, and returns 1 if it then holds
// ARGV[1]. A request that is repeated because its answer was lost gets 1 too.
var claimScript = goredis.NewScript(`
local holder = redis.call('GET', KEYS[1])
if not holder then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1
end
return holder == ARGV[1] and 1 or 0
`)

// releaseScript deletes KEYS[1] if it holds ARGV[1], so that no process deletes another's claim.
var releaseScript = goredis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
`)

// renewScript sets KEYS[1] to expire after ARGV[2] milliseconds if it holds ARGV[1], and returns whether it did.
var renewScript = goredis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
`)

// claims excludes processes of the deployment from each other's serial and exclusive work, by keys in Redis that live
// as long as they are renewed. It is best effort: without Redis every claim is granted, and the fence of coverage keeps
// the writes apart.
type claims struct {
	client goredis.UniversalClient // nil with a single process
	keys   redis.Keys
	node   string // identifies this process among all present and past ones
	clock  clock.Clock
	causes *telemetry.CauseLog

	serial    atomic.Int64 // numbers this process's claims
	awayUntil atomic.Int64 // by clock.Mark, in nanoseconds

	syncing sync.Mutex // held by syncLaneStates
	heardAt time.Time  // of its last answer
}

// away reports whether to send no request: there is no Redis, or it did not answer within the last awayPause.
func (c *claims) away() bool { return c.client == nil || clock.Mark().UnixNano() < c.awayUntil.Load() }

// ask sends one request and reports whether Redis answered. It sends none while Redis is away.
func (c *claims) ask(ctx context.Context, request func(context.Context) error) bool {
	return !c.away() && c.try(ctx, request)
}

// try sends one request, also while Redis is away, and reports whether Redis answered. A request without an answer may
// still have taken effect.
func (c *claims) try(ctx context.Context, request func(context.Context) error) bool {
	limited, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	err := request(limited)
	switch {
	case err == nil || errors.Is(err, goredis.Nil):
		c.causes.Recovered("claims", "Redis answers again: claims work across processes")
		return true
	case ctx.Err() == nil:
		c.awayUntil.Store(clock.Mark().Add(awayPause).UnixNano())
		c.causes.Report(slog.LevelWarn, "claims",
			"Redis does not answer: claims work within this process only",
			telemetry.OneCause(err))
	}
	return false
}

func (c *claims) newClaim() string { return c.node + "/" + strconv.FormatInt(c.serial.Add(1), 10) }

// claim requests a key. If Redis did not answer, the caller may own the key and must release it.
func (c *claims) claim(ctx context.Context, key, claim string, ttl time.Duration) (got, answered bool) {
	answered = c.try(ctx, func(ctx context.Context) (err error) {
		got, err = claimScript.Run(ctx, c.client, []string{key}, claim, ttl.Milliseconds()).Bool()
		return err
	})
	return got, answered
}

// release ends a claim, also after ctx has ended. It sends the request even while Redis is away, because others would
// otherwise wait until the claim expires.
func (c *claims) release(ctx context.Context, key, claim string) {
	if c.client == nil {
		return
	}
	c.try(context.WithoutCancel(ctx), func(ctx context.Context) error {
		return releaseScript.Run(ctx, c.client, []string{key}, claim).Err()
	})
}

// lock claims a key of a platform's serial work for this process. It returns false if another process holds the key.
// The claim is renewed until release is called.
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
		<-ended // so that the goroutine does not outlive the claim
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

// claimFloor waits until no other process holds the lane's floor and claims it.
func (c *claims) claimFloor(ctx context.Context, lane laneName, limit time.Duration) (claim string, err error) {
	claim = c.newClaim()
	for {
		if c.away() {
			return claim, nil
		}
		got, answered := c.claim(ctx, c.floorKey(lane), claim, min(claimTTL, limit))
		if ctx.Err() != nil {
			c.releaseFloor(ctx, lane, claim) // The claim may have been granted.
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

// awaitOthers waits until every other process has read the claim and is idle on the lane, or over is closed, or Redis
// does not answer. Only the end of ctx is an error.
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
		if !answered || c.othersIdle(members, claim) {
			return nil
		}
		if !pause(ctx, over, floorPoll) {
			return context.Cause(ctx) // nil when over
		}
	}
}

// othersIdle reports whether all other live processes have read the claim and are idle on the lane.
func (c *claims) othersIdle(members map[string]string, claim string) bool {
	now := c.clock.Now()
	for node, text := range members {
		state, ok := parseLaneState(text)
		if node == c.node || !ok || now.Sub(state.at) > laneStateTTL {
			continue
		}
		if state.busy || state.foreign != claim {
			return false
		}
	}
	return true
}

// laneState is what a process publishes about one of its lanes.
type laneState struct {
	at      time.Time
	foreign string // another process's claim, which keeps this one from beginning new work
	busy    bool
}

func (s laneState) String() string {
	return fmt.Sprintf("%d|%t|%s", s.at.UnixMilli(), s.busy, s.foreign)
}

func parseLaneState(text string) (laneState, bool) {
	parts := strings.SplitN(text, "|", 3)
	if len(parts) != 3 {
		return laneState{}, false
	}
	at, err := strconv.ParseInt(parts[0], 10, 64)
	return laneState{at: time.UnixMilli(at), busy: parts[1] == "true", foreign: parts[2]}, err == nil
}

// syncLaneStates publishes the states of the floors' lanes, renews this process's claims and reads those of others.
func (c *claims) syncLaneStates(ctx context.Context, floors []*floor) {
	if c.client == nil || len(floors) == 0 {
		return
	}
	c.syncing.Lock()
	defer c.syncing.Unlock()
	holders := make([]*goredis.StringCmd, len(floors))
	answered := c.ask(ctx, func(ctx context.Context) error {
		_, err := c.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for i, f := range floors {
				_, foreign := f.state()
				members := c.membersKey(f.lane)
				p.HSet(ctx, members, c.node, laneState{at: c.clock.Now(), foreign: foreign, busy: f.slots.busy()}.String())
				p.PExpire(ctx, members, time.Minute)
				holders[i] = p.Get(ctx, c.floorKey(f.lane))
			}
			return nil
		})
		return err
	})
	if !answered {
		if clock.Since(c.heardAt) > laneStateTTL {
			for _, f := range floors {
				f.setHolder("")
			}
		}
		return
	}
	c.heardAt = clock.Mark()
	for i, f := range floors {
		f.setHolder(holders[i].Val())
		if claim, _ := f.state(); claim != "" {
			// This does not extend the claim beyond enter's limit, whose timer releases it.
			c.renew(ctx, c.floorKey(f.lane), claim, claimTTL)
		}
	}
}

// leaveLane withdraws this process's state of a lane.
func (c *claims) leaveLane(ctx context.Context, lane laneName) {
	c.ask(context.WithoutCancel(ctx), func(ctx context.Context) error {
		return c.client.HDel(ctx, c.membersKey(lane), c.node).Err()
	})
}

// pause waits for d. It returns false if ctx ended or over was closed first.
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
