package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	goredis "github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	limiterredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"adsync/base/redis"
	"adsync/base/store/jobstore"
	"adsync/base/telemetry"
)

// limits count the requests of tokens that have a limit: in Redis for all processes together, and in this one while
// Redis is away or there is none.
type limits struct {
	redis  goredis.UniversalClient // or nil
	keys   redis.Keys
	pool   string
	causes *telemetry.CauseLog
	own    limiter.Store

	mu     sync.Mutex
	shared limiter.Store // created at the first use, because that loads scripts into Redis
}

func newLimits(client goredis.UniversalClient, keys redis.Keys, pool string, logger *slog.Logger) *limits {
	return &limits{redis: client, keys: keys, pool: pool, causes: telemetry.NewCauseLog(logger),
		own: memory.NewStoreWithOptions(limiter.StoreOptions{})}
}

// add counts n requests of a token, and reports whether there are more than its limit allows.
func (l *limits) add(ctx context.Context, t *jobstore.Token, hash string, write bool, n int64) bool {
	rate, action := limiter.Rate{Period: t.Limit.Interval, Limit: t.Limit.Read}, "consume"
	if write {
		rate.Limit, action = t.Limit.Write, "produce"
	}
	return l.count(ctx, strings.Join([]string{t.Namespace, hash, action}, ":"), n, rate)
}

// count counts n under a key, and reports whether there are more than a rate allows.
func (l *limits) count(ctx context.Context, key string, n int64, rate limiter.Rate) bool {
	key = "jobs:limit:" + l.pool + ":" + key
	if l.redis != nil {
		state, err := l.addShared(ctx, key, n, rate)
		if err == nil {
			l.causes.Clear("count")
			return state.Reached
		}
		l.causes.Report(slog.LevelWarn, "count", "limits of tokens and namespaces hold for this process alone", err)
	}
	state, _ := l.own.Increment(ctx, key, n, rate) // It never fails.
	return state.Reached
}

func (l *limits) addShared(ctx context.Context, key string, n int64, rate limiter.Rate) (limiter.Context, error) {
	store, err := l.inRedis()
	if err != nil {
		return limiter.Context{}, err
	}
	return store.Increment(ctx, key, n, rate)
}

func (l *limits) inRedis() (limiter.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shared == nil {
		store, err := limiterredis.NewStoreWithOptions(l.redis, limiter.StoreOptions{Prefix: l.keys.Prefix()})
		if err != nil {
			return nil, fmt.Errorf("load the scripts of ulule/limiter: %w", err)
		}
		l.shared = store
	}
	return l.shared, nil
}

// throttled refuses requests beyond the limit of their token. A request that does not succeed is not counted.
func (a *api) throttled(write bool) gin.HandlerFunc {
	action, success := "consume", http.StatusOK
	if write {
		action, success = "produce", http.StatusCreated
	}
	return func(c *gin.Context) {
		t, _ := c.Value(tokenKey).(*jobstore.Token)
		if t == nil || !t.Limited() || write && t.Limit.Write == 0 || !write && t.Limit.Read == 0 {
			return
		}
		_, token := tokenOf(c.Request)
		hash := jobstore.HashOfToken(token)
		if a.limits.add(c.Request.Context(), t, hash, write, 1) {
			a.queues.counts.lmstfy.limited.WithLabelValues(t.Namespace, t.Prefix, action).Inc()
			// It is shown to nobody but who sent it.
			c.AbortWithStatusJSON(http.StatusTooManyRequests, gin.H{"msg": fmt.Sprintf(
				"token(%s) %s reach the limit rate, please retry later", token.Reveal(), action)})
		} else {
			c.Next()
		}
		if c.Writer.Status() != success {
			a.limits.add(context.WithoutCancel(c.Request.Context()), t, hash, write, -1)
		}
	}
}
