package api

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/roster"
	"adsync/client"
)

// Consumers lists the live consumers.
type Consumers interface {
	List(ctx context.Context) ([]roster.Process, error)
}

var _ Consumers = (*roster.Roster)(nil)

// consumerRoutes serve the live consumers.
type consumerRoutes struct {
	consumers Consumers
}

func (a *consumerRoutes) listConsumers(c *gin.Context) (any, error) {
	alive, err := liveConsumers(c.Request.Context(), a.consumers)
	if err != nil {
		return nil, err
	}
	shown := make([]client.Consumer, len(alive))
	for i, p := range alive {
		shown[i] = describeConsumer(p)
	}
	return client.ConsumerList{Consumers: shown}, nil
}

func describeConsumer(p roster.Process) client.Consumer {
	shown := client.Consumer{
		ID: p.ID, Node: p.Node, Version: p.Version, Commit: p.Commit, StartedAt: p.StartedAt,
		AgeSeconds: p.Age.Round(100 * time.Millisecond).Seconds(), Pools: make([]client.ConsumerPool, len(p.Pools)),
	}
	for i, pool := range p.Pools {
		of := client.ConsumerPool{
			Media: pool.Media, Lane: pool.Lane, Running: int64(pool.Running), Capacity: int64(pool.Capacity),
			Limited: int64(pool.Limited),
			Careful: int64(pool.Careful), Partitions: make([]client.Count, len(pool.Partitions)),
		}
		for j, partition := range pool.Partitions {
			of.Partitions[j] = int64(partition)
		}
		shown.Pools[i] = of
	}
	for _, s := range p.Slow {
		shown.Slow = append(shown.Slow, client.SlowEndpoint{
			Media: s.Media, Endpoint: s.Endpoint, Calls: int64(s.Calls), Slow: int64(s.Slow), Seconds: s.Seconds,
			Accounts: s.Accounts,
		})
	}
	return shown
}
