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

func (a *consumerRoutes) listConsumers(c *gin.Context, _ *httpapi.Query) (any, error) {
	living, err := a.consumers.List(c.Request.Context())
	if err != nil {
		return nil, httpapi.NewProblem(http.StatusServiceUnavailable, "Redis does not tell which consumers live: %v.", err)
	}
	shown := make([]consumerJSON, len(living))
	for i, p := range living {
		shown[i] = consumerJSON{Process: p, AgeSeconds: p.Age.Round(100 * time.Millisecond).Seconds()}
	}
	return gin.H{"consumers": shown}, nil
}
