package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/ratelimit/grant"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/client"
	"adsync/media"
	"adsync/producer/overview"
)

// restsShown is how many logins whose refresh rests are listed and ended at once.
const restsShown = 1000

// chooseMedia takes the media of a request from its subject where that names it, and refuses a request that chooses
// nothing, or two things.
func chooseMedia(r *client.EndPauseRequest) error {
	if of, id := settings.SplitName(r.Subject); of != "" {
		if r.Scope != "" || r.Media != "" && r.Media != of {
			return httpapi.Refused("subject", "%q is refused: want one of the media that is chosen, or its id alone", r.Subject)
		}
		r.Media, r.Subject = of, id
	}
	var errs httpapi.Refusals
	checkScope(&errs, r.Scope, r.Media != "", "media", "all platforms")
	return errs.Err()
}

// takes reports whether the order is about a point.
func takes(r *client.EndPauseRequest, endpoint, subject string) bool {
	return (r.Endpoint == "" || r.Endpoint == endpoint) && (r.Subject == "" || r.Subject == subject)
}

// pausesAreAway says what an operator can do while no process can be reached over Redis.
func pausesAreAway(err error) *httpapi.Problem {
	return httpapi.NewProblem(http.StatusServiceUnavailable,
		"Redis does not answer, so nobody knows which pauses the processes hold, and they do not learn that one has ended: "+
			"%v. "+
			"Each pause ends without anybody at the latest media.pause_max (1h as shipped) after it was asked for. "+
			"To end it before, have Redis answer again and repeat this order; or restart the consumers while Redis is away: "+
			"their pauses end with them. "+
			"Rests of refreshes are in the database: the endpoint %s ends them without Redis.", err, overview.RefreshPoint)
}

// restOf is the rest of a login's refresh as a point at which calls are paused.
func restOf(l *ledger.RestingLogin) client.PausedPoint {
	return client.PausedPoint{Media: l.Media, Endpoint: overview.RefreshPoint, Scope: overview.LoginScope,
		Subject: l.Login.Login, PausedUntil: l.Until, Times: int64(l.Tries)}
}

// chosenPauses are what an order ends.
type chosenPauses struct {
	pauses []grant.PauseState
	rests  []ledger.RestingLogin
	points []client.PausedPoint // all of these
	waits  []string             // the platforms of which subtasks that wait come due
	states []task.State
}

// choosePauses finds what an order takes.
func (a *limitRoutes) choosePauses(ctx context.Context, request *client.EndPauseRequest,
	platforms []media.Platform) (*chosenPauses, error) {
	chosen := &chosenPauses{points: []client.PausedPoint{}, states: []task.State{task.Deferred}}
	whole := request.Endpoint == "" && request.Subject == ""
	if whole {
		chosen.states = append(chosen.states, task.Retrying)
	}
	for _, p := range platforms {
		before := len(chosen.points)
		if request.Endpoint != overview.RefreshPoint {
			_, paused, err := a.limits.State(ctx, p.Name())
			if err != nil {
				return nil, pausesAreAway(err)
			}
			for _, s := range paused {
				if !s.Until.IsZero() && takes(request, s.Endpoint, s.Subject) {
					chosen.pauses, chosen.points = append(chosen.pauses, s), append(chosen.points, pauseOf(s))
				}
			}
		}
		resting, err := a.store.RestingLogins(ctx, p.Name(), restsShown)
		if err != nil {
			return nil, err
		}
		for i := range resting {
			if point := restOf(&resting[i]); takes(request, point.Endpoint, point.Subject) {
				chosen.rests, chosen.points = append(chosen.rests, resting[i]), append(chosen.points, point)
			}
		}
		if whole || len(chosen.points) > before {
			chosen.waits = append(chosen.waits, p.Name())
		}
	}
	return chosen, nil
}

// endLimitPauses ends pauses and rests that the answers of platforms have ordered; those of operators are lifted by
// their id. What waits for one of these waits for its moment, and knows of no end before: all that waits for a moment
// comes due, and waits again where it has to.
func (a *limitRoutes) endLimitPauses(c *gin.Context, request *client.EndPauseRequest) (any, error) {
	if err := chooseMedia(request); err != nil {
		return nil, err
	}
	platforms, err := a.platforms.named(request.Media)
	if err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	chosen, err := a.choosePauses(ctx, request, platforms)
	if err != nil {
		return nil, err
	}
	now, err := a.now(ctx)
	if err != nil {
		return nil, err
	}
	waiting := 0
	for _, name := range chosen.waits {
		n, err := a.store.CountWaits(ctx, name, chosen.states, now)
		if err != nil {
			return nil, err
		}
		waiting += n
	}
	answer := client.EndedPauses{DryRun: request.DryRun, Pauses: chosen.points, Subtasks: int64(waiting)}
	if request.DryRun || len(chosen.points)+waiting == 0 {
		return answer, nil
	}
	deed := func(ctx context.Context) (any, error) {
		for _, s := range chosen.pauses {
			if err := a.limits.EndPause(ctx, s); err != nil {
				return nil, pausesAreAway(err)
			}
		}
		for i := range chosen.rests {
			if err := a.store.EndRest(ctx, chosen.rests[i].ID); err != nil {
				return nil, err
			}
		}
		ended := 0
		for _, name := range chosen.waits {
			n, err := a.store.EndWaits(ctx, name, chosen.states, now)
			if ended += n; err != nil {
				return nil, err
			}
		}
		answer.Subtasks = int64(ended)
		a.producer.Wake()
		return gin.H{"request": request, "subtasks": ended}, nil
	}
	before := gin.H{"pauses": chosen.points, "subtasks": waiting}
	if err := a.audit.do(c, "limits.end_pause", "limits", before, gin.H{"request": request}, deed); err != nil {
		return nil, err
	}
	return answer, nil
}
