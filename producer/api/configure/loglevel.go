package configure

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

// Audit records a change that apply makes, with the object before and after; see the auditor of package api.
type Audit func(c *gin.Context, action, object string, before, after any,
	apply func(ctx context.Context) (after any, err error)) error

const logLevelDefault = 15 * time.Minute

// LogLevel shows and changes the temporary log level of processes.
type LogLevel struct {
	Levels LogLevels
	Audit  Audit
	// Now reads the database's time.
	Now func(ctx context.Context) (time.Time, error)
}

// describe returns an order with its end; left is the time until then.
func (a *LogLevel) describe(ctx context.Context, order loglevel.Order, left time.Duration) (client.LogLevel,
	error) {
	j := client.LogLevel{Level: order.Level, Role: order.Role, Node: order.Node, By: order.By}
	if left > 0 {
		now, err := a.Now(ctx)
		if err != nil {
			return j, err
		}
		j.Until = now.Add(left).UTC().Truncate(time.Second)
	}
	return j, nil
}

// Get answers with the level that is in force, and until when.
func (a *LogLevel) Get(c *gin.Context) (any, error) {
	order, left, err := a.Levels.Current(c.Request.Context())
	if err != nil {
		return nil, redisUnavailable(err)
	}
	return a.describe(c.Request.Context(), order, left)
}

// Put changes the level for a time: 15 minutes without another.
func (a *LogLevel) Put(c *gin.Context, request *client.LogLevelRequest) (any, error) {
	duration := logLevelDefault
	if request.ForSeconds != nil {
		duration = time.Duration(*request.ForSeconds) * time.Second
	}
	order := loglevel.Order{Level: request.Level, Role: request.Role, Node: request.Node, By: httpapi.CallerOf(c).Name}
	after, err := a.describe(c.Request.Context(), order, duration)
	if err != nil {
		return nil, err
	}
	err = a.audited(c, "log_level.put", after,
		func(ctx context.Context) error { return a.Levels.Put(ctx, order, duration) })
	if err != nil {
		return nil, err
	}
	return a.describe(c.Request.Context(), order, duration)
}

// End puts the level that is configured in force again.
func (a *LogLevel) End(c *gin.Context) (any, error) {
	if err := a.audited(c, "log_level.end", nil, a.Levels.End); err != nil {
		return nil, err
	}
	return client.LogLevel{}, nil
}

// audited changes the order with apply and records that, with the order before.
func (a *LogLevel) audited(c *gin.Context, action string, after any,
	apply func(ctx context.Context) error) error {
	order, left, err := a.Levels.Current(c.Request.Context())
	if err != nil {
		return redisUnavailable(err)
	}
	var before any
	if order != (loglevel.Order{}) {
		if before, err = a.describe(c.Request.Context(), order, left); err != nil {
			return err
		}
	}
	return a.Audit(c, action, "log_level", before, after, func(ctx context.Context) (any, error) {
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
