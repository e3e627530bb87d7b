package engine

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	goredis "github.com/redis/go-redis/v9"

	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/media"
)

// watchPools registers metrics of the connections to the writers and to Redis.
func watchPools(s *store.Store, redis goredis.UniversalClient, r prometheus.Registerer) {
	pools := map[string]*sqldb.DB{"config": s.Config, "data": s.Data}
	if pulls := s.Data.Pulls(); pulls != s.Data {
		pools["pulls"] = pulls
	}
	for name, db := range pools {
		if pool, err := db.SQL(); err == nil {
			media.Register(r, collectors.NewDBStatsCollector(pool, name))
		}
	}
	if redis == nil {
		return
	}
	for state, of := range map[string]func(*goredis.PoolStats) uint32{
		"open": func(s *goredis.PoolStats) uint32 { return s.TotalConns },
		"idle": func(s *goredis.PoolStats) uint32 { return s.IdleConns },
	} {
		media.Register(r, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "adsync_redis_connections", Help: "Connections to Redis, by state: open, and idle of these.",
			ConstLabels: prometheus.Labels{"state": state},
		}, func() float64 { return float64(of(redis.PoolStats())) }))
	}
	media.Register(r, prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "adsync_redis_pool_timeouts_total", Help: "Number of times that no connection to Redis became free in time.",
	}, func() float64 { return float64(redis.PoolStats().Timeouts) }))
}
