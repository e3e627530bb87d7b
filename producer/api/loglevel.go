package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/loglevel"
	"adsync/client"
)

// LogLevels stores the order that changes the processes' log level for a time.
type LogLevels interface {
	Put(ctx context.Context, order loglevel.Order, duration time.Duration) error
	End(ctx context.Context) error
	Current(ctx context.Context) (loglevel.Order, time.Duration, error)
}

var _ LogLevels = (*loglevel.Orders)(nil)

const logLevelDefault = 15 * time.Minute

// logLevelRoutes serve the temporary log level of processes.
type logLevelRoutes struct {
	levels LogLevels
	audit  auditor
	now    databaseClock
}

// logLevelOf returns an order with its end; left is the time until then.
func (a *logLevelRoutes) logLevelOf(ctx context.Context, order loglevel.Order, left time.Duration) (client.LogLevel,
	error) {
	j := client.LogLevel{Level: order.Level, Role: order.Role, Node: order.Node, By: order.By}
	if left > 0 {
		now, err := a.now(ctx)
		if err != nil {
			return j, err
		}
		j.Until = now.Add(left).UTC().Truncate(time.Second)
	}
	return j, nil
}

func (a *logLevelRoutes) getLogLevel(c *gin.Context) (any, error) {
	order, left, err := a.levels.Current(c.Request.Context())
	if err != nil {
		return nil, redisUnavailable(err)
	}
	return a.logLevelOf(c.Request.Context(), order, left)
}

func (a *logLevelRoutes) putLogLevel(c *gin.Context, request *client.LogLevelRequest) (any, error) {
	duration := logLevelDefault
	if request.ForSeconds != nil {
		duration = time.Duration(*request.ForSeconds) * time.Second
	}
	order := loglevel.Order{Level: request.Level, Role: request.Role, Node: request.Node, By: httpapi.CallerOf(c).Name}
	after, err := a.logLevelOf(c.Request.Context(), order, duration)
	if err != nil {
		return nil, err
	}
	err = a.auditedLogLevel(c, "log_level.put", after,
		func(ctx context.Context) error { return a.levels.Put(ctx, order, duration) })
	if err != nil {
		return nil, err
	}
	return a.logLevelOf(c.Request.Context(), order, duration)
}

func (a *logLevelRoutes) endLogLevel(c *gin.Context) (any, error) {
	if err := a.auditedLogLevel(c, "log_level.end", nil, a.levels.End); err != nil {
		return nil, err
	}
	return client.LogLevel{}, nil
}

// auditedLogLevel changes the order with apply and records that, with the order before.
func (a *logLevelRoutes) auditedLogLevel(c *gin.Context, action string, after any,
	apply func(ctx context.Context) error) error {
	order, left, err := a.levels.Current(c.Request.Context())
	if err != nil {
		return redisUnavailable(err)
	}
	var before any
	if order != (loglevel.Order{}) {
		if before, err = a.logLevelOf(c.Request.Context(), order, left); err != nil {
			return err
		}
	}
	return a.audit.do(c, action, "log_level", before, after, func(ctx context.Context) (any, error) {
		if err := apply(ctx); err != nil {
			return nil, redisUnavailable(err)
		}
		return nil, nil
	})
}

func redisUnavailable(err error) error {
	return httpapi.NewProblem(http.StatusServiceUnavailable,
		"Redis, which carries the log level to the processes, does not answer: %v. Without Redis, restart a process with "+
			"log.level.", err)
}
