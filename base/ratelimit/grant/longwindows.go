package grant

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	limiterredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"adsync/base/redis"
)

// counts are the calls of the running windows of an hour and more. ulule/limiter keeps them at the platforms' own
// numbers.
//
// Its window begins at a call and ends a period later. Paced calls never fill one. A window fills only if the limit
// was lowered within it, or if Redis lost the pace.
type counts struct {
	client goredis.UniversalClient
	keys   redis.Keys
	log    *slog.Logger

	mu    sync.Mutex
	store limiter.Store // created at the first use, because creating it loads scripts into Redis
}

func newCounts(client goredis.UniversalClient, keys redis.Keys, log *slog.Logger) *counts {
	return &counts{client: client, keys: keys, log: log}
}

// add counts n calls under a key. It returns 0, or the time until the end of a window that is full. Counted calls
// stay counted even if they are not granted: that is the safe side.
func (c *counts) add(ctx context.Context, k Key, n int) (full time.Duration, err error) {
	store, err := c.built()
	if err != nil {
		return 0, err
	}
	name := c.keys.Of(k.Media, k.parts("count")...)
	rate := limiter.Rate{Period: k.Period, Limit: int64(k.Limit)}
	// The store adds the prefix again.
	inStore := strings.TrimPrefix(name, c.keys.Prefix()+":")
	state, err := store.Increment(ctx, inStore, int64(n), rate)
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", k, err)
	}
	if !state.Reached {
		return 0, nil
	}
	// The state has the end in whole seconds, rounded down, and does not show a window that never ends.
	left, err := c.client.PTTL(ctx, name).Result()
	if err != nil {
		return 0, fmt.Errorf("read the end of the window of %s: %w", k, err)
	}
	if left == -1 { // go-redis passes Redis's "has no expiry" through as a plain -1.
		c.log.WarnContext(ctx, "count of a rate limit restarted: it had no expiry", "limit", k.String())
		if _, err := store.Reset(ctx, inStore, rate); err != nil {
			return 0, fmt.Errorf("restart the count of %s: %w", k, err)
		}
		return 0, nil
	}
	return max(left, 0) + time.Millisecond, nil
}

func (c *counts) built() (limiter.Store, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.store == nil {
		store, err := limiterredis.NewStoreWithOptions(c.client, limiter.StoreOptions{Prefix: c.keys.Prefix()})
		if err != nil {
			return nil, fmt.Errorf("load the scripts of ulule/limiter: %w", err)
		}
		c.store = store
	}
	return c.store, nil
}
