package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	goredis "github.com/redis/go-redis/v9"
)

// redisList is the peer of jobs-one-by-one: the same routes in the same HTTP layer, on a list in Redis. Nothing of it
// is durable, and a job is gone once it was consumed.
const redisList = "redis-list"

func withPeer(m measure) measure {
	m.peers, m.peersDurable = []string{redisList}, "nothing (Redis, in memory)"
	m.sideBySide = map[string]take{redisList: (*deployment).onRedisList}
	return m
}

func (d *deployment) onRedisList(ctx context.Context) (map[string]float64, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: redisListHandler(d.cache, d.keys.Of("bench", "list")), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	q := newQueueBench(d, listener.Addr().String(), "jobs-one-by-one")
	defer q.client.CloseIdleConnections()
	return q.oneByOne(ctx)
}

func redisListHandler(client goredis.UniversalClient, list string) http.Handler {
	e := gin.New()
	e.PUT("/api/:namespace/:queue", func(c *gin.Context) {
		body, err := io.ReadAll(c.Request.Body)
		if err == nil {
			err = client.LPush(c.Request.Context(), list, body).Err()
		}
		if err != nil {
			c.JSON(http.StatusInternalServerError, gin.H{"error": err.Error()})
			return
		}
		c.JSON(http.StatusCreated, gin.H{"msg": "published", "job_id": "none"})
	})
	e.GET("/api/:namespace/:queue", func(c *gin.Context) {
		wait, _ := strconv.Atoi(c.Query("timeout"))
		found, err := client.BRPop(c.Request.Context(), time.Duration(wait)*time.Second, list).Result()
		switch {
		case errors.Is(err, goredis.Nil):
			c.JSON(http.StatusNotFound, gin.H{"msg": "no job available"})
		case err != nil:
			c.JSON(http.StatusInternalServerError, gin.H{"error": err.Error()})
		default:
			c.JSON(http.StatusOK, gin.H{"msg": "new job", "job_id": "none", "data": []byte(found[1])})
		}
	})
	e.DELETE("/api/:namespace/:queue/job/:id", func(c *gin.Context) { c.Status(http.StatusNoContent) })
	return e
}
