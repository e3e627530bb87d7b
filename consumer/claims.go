package consumer

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
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

// claims excludes processes of the deployment from each other's serial work, by keys in Redis that live
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
func (c *claims) claim(ctx context.Context, key, claim string) (got, answered bool) {
	answered = c.try(ctx, func(ctx context.Context) (err error) {
		got, err = claimScript.Run(ctx, c.client, []string{key}, claim, claimTTL.Milliseconds()).Bool()
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
	if got, answered := c.claim(ctx, name, claim); answered && !got {
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

// pause waits for d. It returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
