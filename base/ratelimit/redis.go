package ratelimit

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adsync/base/clock"
	"adsync/base/redis"
)

//go:embed take.lua
var takeSource string

var takeScript = goredis.NewScript(takeSource)

// pauseScript ends the pause KEYS[1], or makes it last at least ARGV[1] microseconds from now. It is one script so that
// two processes which pause at once leave the longer pause.
var pauseScript = goredis.NewScript(`
local d = tonumber(ARGV[1])
if d <= 0 then
  return redis.call('DEL', KEYS[1])
end
local time = redis.call('TIME')
local ends = time[1] * 1000000 + time[2] + d
if (tonumber(redis.call('GET', KEYS[1]) or 0) or 0) < ends then
  redis.call('SET', KEYS[1], string.format('%.0f', ends), 'PX', math.ceil(d / 1000) + 1000)
end
return 0
`)

// Redis grants calls from a ledger in Redis, which all processes share.
type Redis struct {
	client goredis.UniversalClient
	keys   redis.Keys
	spread time.Duration
	counts *counts
}

var _ Limiter = (*Redis)(nil)

// NewRedis returns a limiter on client, with the arrival spread of Config. It asks nothing of Redis yet.
func NewRedis(client goredis.UniversalClient, keys redis.Keys, spread time.Duration, log *slog.Logger) *Redis {
	return &Redis{client: client, keys: keys, spread: spread, counts: newCounts(client, keys, log)}
}

// Take implements Limiter. It costs one round trip, and one more for each granted limit of a minute or longer.
func (r *Redis) Take(ctx context.Context, keys []Key, n int) (Grant, error) {
	if !sameMedia(keys) {
		return Grant{}, errMixedMedia
	}
	if len(keys) == 0 || n <= 0 {
		return grantAll(n, r.spread), nil
	}
	names := make([]string, len(keys))
	args := make([]any, 0, 2+2*len(keys))
	args = append(args, min(n, TakeMax), lookahead.Microseconds())
	for i, k := range keys {
		p := paceOf(k, r.spread, 1)
		names[i] = r.name(k)
		args = append(args, p.every, p.tolerance)
	}
	asked := clock.Mark()
	answer, err := takeScript.Run(ctx, r.client, names, args...).Int64Slice()
	if err != nil {
		return Grant{}, fmt.Errorf("take %d calls of %s: %w", n, keys[0].Media, err)
	}
	if len(answer) < 2 || answer[1] < 0 || int(answer[1]) > len(keys) {
		return Grant{}, fmt.Errorf("take %d calls of %s: strange answer %v", n, keys[0].Media, answer)
	}
	g := newGrant(asked, answer[2:], answer[0], int(answer[1])-1, keys, r.spread)
	if g.N == 0 {
		return g, nil
	}
	full, retry, err := r.counts.add(ctx, keys, g.N)
	if err != nil {
		return Grant{}, fmt.Errorf("count %d calls of %s: %w", n, keys[0].Media, err)
	}
	if full != nil {
		return Grant{RetryAfter: retry, By: *full}, nil
	}
	return g, nil
}

// Pause implements Limiter.
func (r *Redis) Pause(ctx context.Context, key Key, d time.Duration) error {
	err := pauseScript.Run(ctx, r.client, []string{r.name(key)}, min(d, PauseMax).Microseconds()).Err()
	if err != nil {
		return fmt.Errorf("pause %s: %w", key, err)
	}
	return nil
}

// name is where a key's state is. All names of a media share a tag, so that a cluster keeps them on one server.
func (r *Redis) name(k Key) string { return r.keys.Of(k.Media, k.parts("pace")...) }
