package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/ratelimit"
)

// Limits tells how the call limits stand.
type Limits interface {
	State(ctx context.Context, media string) ([]ratelimit.LimitState, []ratelimit.PauseState, error)
	// EndPause ends a pause in all processes.
	EndPause(ctx context.Context, p ratelimit.PauseState) error
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

func (a *api) listLimits(c *gin.Context) error {
	q, err := queryOf(c, "media")
	if err != nil {
		return err
	}
	if err := q.err(); err != nil {
		return err
	}
	platforms, err := a.platforms(q.values.Get("media"))
	if err != nil {
		return err
	}
	limits, points := []limitJSON{}, []pointJSON{}
	for _, p := range platforms {
		states, paused, err := a.Limits.State(c.Request.Context(), p.Name())
		if err != nil {
			return httpapi.NewProblem(http.StatusServiceUnavailable, "Redis does not tell how the limits stand: %v.", err)
		}
		for _, s := range states {
			limits = append(limits, limitOf(s))
		}
		for _, s := range paused {
			points = append(points, pauseOf(s))
		}
	}
	c.JSON(http.StatusOK, gin.H{"limits": limits, "pauses": points})
	return nil
}

func pauseOf(s ratelimit.PauseState) pointJSON {
	return pointJSON{Media: s.Media, Endpoint: s.Endpoint, Scope: string(s.Scope), Subject: s.Subject, PausedUntil: s.Until, Times: s.Times}
}

func limitOf(s ratelimit.LimitState) limitJSON {
	l := limitJSON{
		Media: s.Media, Endpoint: s.Endpoint, Scope: string(s.Scope), Subject: s.Subject, Unit: string(cmp.Or(s.Unit, ratelimit.UnitCalls)), Calls: s.Limit, CallsMax: s.LimitMax, Period: s.Period.String(), Share: s.Share, Part: s.Part,
		Window: s.Window, Ahead: s.Ahead, Full: float64(s.Window) / max(1, float64(s.Limit)*s.Share*s.Part), LastMinute: s.LastMinute, LastHour: s.LastHour,
		AskedAt: s.AskedAt, Lanes: []laneJSON{},
	}
	for _, lane := range s.Lanes {
		l.Lanes = append(l.Lanes, laneJSON{Importance: lane.Importance, Processes: lane.Processes, Wanted: lane.Wanted, PerSecond: lane.PerSecond})
	}
	return l
}

// endPauseRequest is the body of an order to end pauses that platforms have asked for. What is left out chooses all.
type endPauseRequest struct {
	Media    string `json:"media,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	Subject  string `json:"subject,omitempty"` // an app's or an account's id, as the list has it
	Scope    string `json:"scope,omitempty"`   // "all" = of all platforms, in the place of media
	DryRun   bool   `json:"dry_run,omitempty"`
}

// Validate implements httpapi.Validator.
func (r *endPauseRequest) Validate() []httpapi.FieldError {
	if field := checkScope(r.Scope, r.Media != "", "media", "all platforms"); field != nil {
		return []httpapi.FieldError{*field}
	}
	return nil
}

// pausesAreAway says what an operator can do while no process can be reached over Redis.
func pausesAreAway(err error) *httpapi.Problem {
	return httpapi.NewProblem(http.StatusServiceUnavailable, "Redis does not answer, so nobody knows which pauses the processes hold, and they do not learn that one has ended: %v. "+
		"Each pause ends without anybody at the latest media.pause_max (1h as shipped) after it was asked for. "+
		"To end it before, have Redis answer again and repeat this order; or restart the consumers while Redis is away: their pauses end with them.", err)
}

// endLimitPauses ends pauses that the answers of platforms have ordered; those of operators are lifted by their id.
func (a *api) endLimitPauses(c *gin.Context) error {
	var request endPauseRequest
	if err := httpapi.Bind(c, &request); err != nil {
		return err
	}
	platforms, err := a.platforms(request.Media)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	var chosen []ratelimit.PauseState
	points := []pointJSON{}
	for _, p := range platforms {
		_, paused, err := a.Limits.State(ctx, p.Name())
		if err != nil {
			return pausesAreAway(err)
		}
		for _, s := range paused {
			if s.Until.IsZero() || request.Endpoint != "" && s.Endpoint != request.Endpoint || request.Subject != "" && s.Subject != request.Subject {
				continue
			}
			chosen, points = append(chosen, s), append(points, pauseOf(s))
		}
	}
	answer := gin.H{"dry_run": request.DryRun, "pauses": points}
	if request.DryRun || len(chosen) == 0 {
		c.JSON(http.StatusOK, answer)
		return nil
	}
	deed := func(ctx context.Context) (any, error) {
		for _, s := range chosen {
			if err := a.Limits.EndPause(ctx, s); err != nil {
				return nil, pausesAreAway(err)
			}
		}
		return nil, nil
	}
	if err := a.audited(c, "limits.end_pause", "limits", gin.H{"pauses": points}, gin.H{"request": request}, deed); err != nil {
		return err
	}
	c.JSON(http.StatusOK, answer)
	return nil
}
