package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/client"
	"adsync/producer/api/outside"
)

// Limits reads the state of the call limits, ends pauses, and grants calls to outside workers.
type Limits interface {
	outside.Limits
	State(ctx context.Context, media string) ([]grant.LimitState, []grant.PauseState, error)
	// EndPause ends a pause in all processes.
	EndPause(ctx context.Context, p grant.PauseState) error
}

var _ Limits = (*ratelimit.Waiter)(nil)

// limitsUnknown begins the explanation of an error of Redis.
const limitsUnknown = "The state of the limits cannot be read from Redis: "

// limitStore is what these routes need of the store.
type limitStore interface {
	RestingLogins(ctx context.Context, media string, limit int) ([]ledger.RestingLogin, error)
	EndRest(ctx context.Context, tokenID int64) error
	CountWaits(ctx context.Context, media string, states []task.State, now time.Time) (n int, err error)
	EndWaits(ctx context.Context, media string, states []task.State, now time.Time) (ended int, err error)
}

// limitRoutes serve the call limits, and the pauses that platforms have asked for.
type limitRoutes struct {
	store     limitStore
	limits    Limits
	platforms platformList
	producer  waker
	audit     auditor
	now       databaseClock
}

func (a *limitRoutes) listLimits(c *gin.Context, params *client.ListLimitsParams) (any, error) {
	platforms, err := a.platforms.named(params.Media)
	if err != nil {
		return nil, err
	}
	limits, points := []client.Limit{}, []client.PausedPoint{}
	for _, p := range platforms {
		states, paused, err := a.limits.State(c.Request.Context(), p.Name())
		if err != nil {
			return nil, httpapi.NewProblem(http.StatusServiceUnavailable, limitsUnknown+"%v.", err)
		}
		for _, s := range states {
			limits = append(limits, limitOf(s))
		}
		for _, s := range paused {
			points = append(points, pauseOf(s))
		}
		resting, err := a.store.RestingLogins(c.Request.Context(), p.Name(), restsShown)
		if err != nil {
			return nil, err
		}
		for i := range resting {
			points = append(points, restOf(&resting[i]))
		}
	}
	return client.LimitList{Limits: limits, Pauses: points}, nil
}

func pauseOf(s grant.PauseState) client.PausedPoint {
	return client.PausedPoint{Media: s.Media, Endpoint: s.Endpoint, Scope: string(s.Scope), Subject: s.Subject,
		PausedUntil: s.Until, Times: int64(s.Times)}
}

func limitOf(s grant.LimitState) client.Limit {
	l := client.Limit{
		Media: s.Media, Endpoint: s.Endpoint, Scope: string(s.Scope), Subject: s.Subject,
		Unit: string(cmp.Or(s.Unit, grant.UnitCalls)), Calls: int64(s.Limit), CallsMax: int64(s.LimitMax),
		Period: s.Period.String(), Share: s.Share, Part: s.Part,
		Window: int64(s.Window), Ahead: int64(s.Ahead), Full: float64(s.Window) / max(1, float64(s.Limit)*s.Share*s.Part),
		LastMinute: int64(s.LastMinute), LastHour: int64(s.LastHour),
		AskedAt: s.AskedAt, Lanes: []client.LimitLane{},
	}
	for _, lane := range s.Lanes {
		l.Lanes = append(l.Lanes, client.LimitLane{Importance: int64(lane.Importance), Processes: int64(lane.Processes),
			Wanted: int64(lane.Wanted), SharePerSecond: lane.PerSecond})
	}
	return l
}
