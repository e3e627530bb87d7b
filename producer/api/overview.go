package api

import (
	"adsync/base/httpapi"
	"adsync/producer/overview"
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
)

// overviewRoutes are how everything stands.
type overviewRoutes struct {
	read func(ctx context.Context) overview.Overview
}

func (a *overviewRoutes) routes() []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Path: "/api/v1/overview", Role: httpapi.Viewer, Handler: a.getOverview},
	}
}

// getOverview tells what the first page shows. It is answered with what is known also while a database is away: troubles says so.
func (a *overviewRoutes) getOverview(c *gin.Context) error {
	if _, err := queryOf(c); err != nil {
		return err
	}
	c.JSON(http.StatusOK, a.read(c.Request.Context()))
	return nil
}
