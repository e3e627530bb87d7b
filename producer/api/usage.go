package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/ratelimit/grant"
	"adsync/client"
	"adsync/producer/usage"
)

// usageMax is how far back calls are summed. The log, which has the calls by account, is kept for the same time.
const usageMax = 7 * 24 * time.Hour

// usageRoutes serve what is left of the call limits, and who used them.
type usageRoutes struct {
	store     usage.Store
	limits    Limits
	platforms platformList
	clock     clock.Clock
}

func (a *usageRoutes) getLimitUsage(c *gin.Context, params *client.GetLimitUsageParams) (any, error) {
	ctx, now := c.Request.Context(), a.clock.Now()
	since := params.Since
	if since.IsZero() {
		since = day.Of(now, time.UTC).Start(time.UTC)
	}
	if since.After(now) || now.Sub(since) > usageMax {
		return nil, httpapi.Refused("since", "%s is refused: want a time from %s to now",
			since.Format(time.RFC3339), now.Add(-usageMax).Format(time.RFC3339))
	}
	platforms, err := a.platforms.named(params.Media)
	if err != nil {
		return nil, err
	}
	var states []grant.LimitState
	var names []string
	for _, p := range platforms {
		some, _, err := a.limits.State(ctx, p.Name())
		if err != nil {
			return nil, httpapi.NewProblem(http.StatusServiceUnavailable, "cannot read the call limits from Redis: %v", err)
		}
		states, names = append(states, some...), append(names, p.Name())
	}
	answer, err := usage.CallsSince(ctx, a.store, names, since)
	answer.Limits = usage.Left(states)
	return answer, err
}
