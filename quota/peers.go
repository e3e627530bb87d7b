package quota

import (
	"context"
	"slices"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adsync/base/clock"
	"adsync/base/ratelimit/grant"
)

// The limiters that a drill's callers can use instead of ours, for comparison.
const (
	LimiterOurs = "ours"
	// The plain mode, of ulule/limiter: fixed windows; a refused call comes back at the end of the window.
	LimiterPlain = "ulule"
	LimiterGCRA  = "gcra" // the generic cell rate algorithm with a burst of the whole limit, as in its libraries
)

// waiter waits until a call may be made.
type waiter interface {
	Wait(ctx context.Context, c grant.Call) error
}

// cells is GCRA. Each call sends a request, and repeats it after a refusal.
type cells struct {
	client goredis.UniversalClient
	limits []Limit
}

// cellScript takes a call from all limits KEYS or from none. For each limit ARGV has the microseconds between calls
// and those that a call may be early. It returns the microseconds after which a call is available.
var cellScript = goredis.NewScript(`
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local at, wait = {}, 0
for i, key in ipairs(KEYS) do
  at[i] = math.max(now, tonumber(redis.call('GET', key) or 0))
  wait = math.max(wait, at[i] - tonumber(ARGV[2 * i]) - now)
end
if wait > 0 then return wait end
for i, key in ipairs(KEYS) do
  redis.call('SET', key, string.format('%.0f', at[i] + tonumber(ARGV[2 * i - 1])), 'PX', 120000)
end
return 0`)

func (c cells) Wait(ctx context.Context, _ grant.Call) error {
	var keys []string
	var args []any
	for _, l := range c.limits {
		every := l.Period.Microseconds() / int64(l.Calls)
		keys = append(keys, "drill:cells:"+l.Period.String())
		args = append(args, every, every*int64(l.Calls-1))
	}
	for {
		wait, err := cellScript.Run(ctx, c.client, slices.Clone(keys), args...).Int64()
		if err != nil {
			return err
		}
		if wait == 0 {
			return nil
		}
		if err := clock.Sleep(ctx, time.Duration(wait)*time.Microsecond); err != nil {
			return err
		}
	}
}
