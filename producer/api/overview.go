package api

import (
	"context"

	"github.com/gin-gonic/gin"

	"adsync/producer/overview"
)

// overviewRoutes are how everything stands.
type overviewRoutes struct {
	read func(ctx context.Context) overview.Overview
}

// getOverview tells what the first page shows. It is answered with what is known also while a database is away: troubles says so.
func (a *overviewRoutes) getOverview(c *gin.Context) (any, error) {
	return a.read(c.Request.Context()), nil
}
