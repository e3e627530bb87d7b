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
)

// Limits tells how the call limits stand.
type Limits interface {
	State(ctx context.Context, media string) ([]grant.LimitState, []grant.PauseState, error)
	// EndPause ends a pause in all processes.
	EndPause(ctx context.Context, p grant.PauseState) error
}

var _ Limits = (*ratelimit.Waiter)(nil)

// limitJSON is a limit that was asked for of late.
type limitJSON struct {
	Media      string     `json:"media"`
	Endpoint   string     `json:"endpoint"`
	Scope      string     `json:"scope"`
	Subject    string     `json:"subject,omitempty"` // the app's id
	Unit       string     `json:"unit"`              // what calls and window count
	Calls      int        `json:"calls"`
	CallsMax   int        `json:"calls_max,omitempty"` // where calls is not known, and learned
	Period     string     `json:"period"`
	Share      float64    `json:"share"`
	Part       float64    `json:"part"` // of the share that is used now
	Window     int        `json:"window"`
	Ahead      int        `json:"ahead"` // granted beyond the window, up to 2 s
	Full       float64    `json:"full"`  // window, of what we allow ourselves
	LastMinute int        `json:"last_minute"`
	LastHour   int        `json:"last_hour"`
	AskedAt    time.Time  `json:"asked_at"`
	Lanes      []laneJSON `json:"lanes"`
}

type laneJSON struct {
	Importance int     `json:"importance"`
	Processes  int     `json:"processes"`
	Wanted     int     `json:"wanted"`
	PerSecond  float64 `json:"share_per_second"`
}

// pointJSON is where calls are paused, or were.
type pointJSON struct {
	Media       string    `json:"media"`
	Endpoint    string    `json:"endpoint,omitempty"`
	Scope       string    `json:"scope"`
	Subject     string    `json:"subject,omitempty"`
	PausedUntil time.Time `json:"paused_until,omitzero"`
	Times       int       `json:"times"`
}

// limitStore is what these routes need of the store.
type limitStore interface {
	RestingLogins(ctx context.Context, media string, limit int) ([]ledger.RestingLogin, error)
	EndRest(ctx context.Context, tokenID int64) error
	CountWaits(ctx context.Context, media string, states []task.State, now time.Time) (n int, err error)
	EndWaits(ctx context.Context, media string, states []task.State, now time.Time) (ended int, err error)
}

// limitRoutes are the call limits, and the pauses that platforms have asked for.
type limitRoutes struct {
	store     limitStore
	limits    Limits
	platforms platformList
	producer  waker
	audit     auditor
	now       databaseClock
}

func (a *limitRoutes) listLimits(c *gin.Context, q *httpapi.Query) (any, error) {
	if err := q.Err(); err != nil {
		return nil, err
	}
	platforms, err := a.platforms.named(q.Get("media"))
	if err != nil {
		return nil, err
	}
	limits, points := []limitJSON{}, []pointJSON{}
	for _, p := range platforms {
		states, paused, err := a.limits.State(c.Request.Context(), p.Name())
		if err != nil {
			return nil, httpapi.NewProblem(http.StatusServiceUnavailable, "Redis does not tell how the limits stand: %v.", err)
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
	return gin.H{"limits": limits, "pauses": points}, nil
}

func pauseOf(s grant.PauseState) pointJSON {
	return pointJSON{Media: s.Media, Endpoint: s.Endpoint, Scope: string(s.Scope), Subject: s.Subject, PausedUntil: s.Until, Times: s.Times}
}

func limitOf(s grant.LimitState) limitJSON {
	l := limitJSON{
		Media: s.Media, Endpoint: s.Endpoint, Scope: string(s.Scope), Subject: s.Subject, Unit: string(cmp.Or(s.Unit, grant.UnitCalls)), Calls: s.Limit, CallsMax: s.LimitMax, Period: s.Period.String(), Share: s.Share, Part: s.Part,
		Window: s.Window, Ahead: s.Ahead, Full: float64(s.Window) / max(1, float64(s.Limit)*s.Share*s.Part), LastMinute: s.LastMinute, LastHour: s.LastHour,
		AskedAt: s.AskedAt, Lanes: []laneJSON{},
	}
	for _, lane := range s.Lanes {
		l.Lanes = append(l.Lanes, laneJSON{Importance: lane.Importance, Processes: lane.Processes, Wanted: lane.Wanted, PerSecond: lane.PerSecond})
	}
	return l
}
