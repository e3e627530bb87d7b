package api

import (
	"context"

	"github.com/gin-gonic/gin"

	"adsync/client"
	"adsync/producer/overview"
)

// overviewRoutes are how everything stands.
type overviewRoutes struct {
	read func(ctx context.Context) overview.Overview
}

// getOverview answers with what the first page shows. It is answered with what is known also while a database is away:
// troubles names why.
func (a *overviewRoutes) getOverview(c *gin.Context) (any, error) {
	o := a.read(c.Request.Context()).Overview
	o.Troubles, o.Attention, o.Open, o.Ended = list(o.Troubles), list(o.Attention), list(o.Open), list(o.Ended)
	o.Limits, o.Pauses = list(o.Limits), list(o.Pauses)
	media := make([]client.MediaOverview, len(o.Media)) // Others read the same overview.
	for i, m := range o.Media {
		m.Spend, m.ParkedReasons = list(m.Spend), list(m.ParkedReasons)
		media[i] = m
	}
	o.Media = media
	return o, nil
}

// list is a list that is answered as one also when nothing is in it.
func list[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}
