package api

import (
	"context"

	"github.com/gin-gonic/gin"

	"adsync/client"
	"adsync/producer/overview"
)

// overviewRoutes serve the overview.
type overviewRoutes struct {
	read func(ctx context.Context) overview.Overview
}

// getOverview answers with the data of the first page. While a database is unavailable the answer has the rest of the
// data, and troubles has the reason.
func (a *overviewRoutes) getOverview(c *gin.Context) (any, error) {
	o := a.read(c.Request.Context()).Overview
	o.Troubles, o.Attention, o.Open, o.Ended = notNil(o.Troubles), notNil(o.Attention), notNil(o.Open), notNil(o.Ended)
	o.Limits, o.Pauses = notNil(o.Limits), notNil(o.Pauses)
	media := make([]client.MediaOverview, len(o.Media)) // A copy: other requests read the same overview.
	for i, m := range o.Media {
		m.Spend, m.ParkedReasons = notNil(m.Spend), notNil(m.ParkedReasons)
		media[i] = m
	}
	o.Media = media
	return o, nil
}

// notNil returns an empty list for nil, so that the answer has [] in place of null.
func notNil[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}
