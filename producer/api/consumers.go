package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/roster"
)

// Consumers tells which consumers live.
type Consumers interface {
	List(ctx context.Context) ([]roster.Process, error)
}

var _ Consumers = (*roster.Roster)(nil)

// consumerJSON is a process that works off lanes.
type consumerJSON struct {
	roster.Process
	AgeSeconds float64 `json:"age_seconds"` // how long ago it told this of itself
}

// consumerRoutes are the consumers that live.
type consumerRoutes struct {
	consumers Consumers
}

func (a *consumerRoutes) routes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Path: "/api/v1/consumers", Role: httpapi.Viewer, Handler: a.listConsumers},
	}
}

func (a *consumerRoutes) listConsumers(c *gin.Context) error {
	if _, err := queryOf(c); err != nil {
		return err
	}
	living, err := a.consumers.List(c.Request.Context())
	if err != nil {
		return httpapi.NewProblem(http.StatusServiceUnavailable, "Redis does not tell which consumers live: %v.", err)
	}
	shown := make([]consumerJSON, len(living))
	for i, p := range living {
		shown[i] = consumerJSON{Process: p, AgeSeconds: p.Age.Round(100 * time.Millisecond).Seconds()}
	}
	c.JSON(http.StatusOK, gin.H{"consumers": shown})
	return nil
}
