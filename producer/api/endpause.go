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

// restsShown is how many resting logins are listed and ended at once. A login rests while its refresh is paused.
const restsShown = 1000

// chooseMedia sets the media of a request from its subject if the subject names it. It refuses a request that chooses
// no media and no scope, or both, or two media.
func chooseMedia(r *client.EndPauseRequest) error {
	if of, id := settings.SplitName(r.Subject); of != "" {
		if r.Scope != "" || r.Media != "" && r.Media != of {
			return httpapi.Refused("subject", "%q is refused: want a subject of the chosen media, or its id alone", r.Subject)
		}
		r.Media, r.Subject = of, id
	}
	var errs httpapi.Refusals
	checkScope(&errs, r.Scope, r.Media != "", "media", "all platforms")
	return errs.Err()
}

// covers reports whether the order includes a point.
func covers(r *client.EndPauseRequest, endpoint, subject string) bool {
	return (r.Endpoint == "" || r.Endpoint == endpoint) && (r.Subject == "" || r.Subject == subject)
}

// pausesUnavailable explains what an operator can do while no process can be reached over Redis.
func pausesUnavailable(err error) *httpapi.Problem {
	return httpapi.NewProblem(http.StatusServiceUnavailable,
		"Redis does not answer: the pauses that processes hold cannot be read or ended: %v. "+
			"Each pause ends automatically at most media.pause_max (1h as shipped) after the platform asked for it. "+
			"To end it earlier, make Redis answer again and repeat this order. "+
			"Or restart the consumers while Redis does not answer: their pauses end with them. "+
			"Rests of refreshes are in the database: the endpoint %s ends them without Redis.", err, overview.RefreshPoint)
}

// restOf returns the rest of a login's refresh as a paused point.
func restOf(l *ledger.RestingLogin) client.PausedPoint {
	return client.PausedPoint{Media: l.Media, Endpoint: overview.RefreshPoint, Scope: overview.LoginScope,
		Subject: l.Login.Login, PausedUntil: l.Until, Times: int64(l.Tries)}
}

// chosenPauses are the pauses and rests that an order ends.
type chosenPauses struct {
	pauses []grant.PauseState
	rests  []ledger.RestingLogin
	points []client.PausedPoint // the pauses and the rests
	waits  []string             // the platforms whose waiting subtasks become due
	states []task.State         // the states of these subtasks
}

// choosePauses finds the pauses and rests that an order ends.
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
				return nil, pausesUnavailable(err)
			}
			for _, s := range paused {
				if !s.Until.IsZero() && covers(request, s.Endpoint, s.Subject) {
					chosen.pauses, chosen.points = append(chosen.pauses, s), append(chosen.points, pauseOf(s))
				}
			}
		}
		resting, err := a.store.RestingLogins(ctx, p.Name(), restsShown)
		if err != nil {
			return nil, err
		}
		for i := range resting {
			if point := restOf(&resting[i]); covers(request, point.Endpoint, point.Subject) {
				chosen.rests, chosen.points = append(chosen.rests, resting[i]), append(chosen.points, point)
			}
		}
		if whole || len(chosen.points) > before {
			chosen.waits = append(chosen.waits, p.Name())
		}
	}
	return chosen, nil
}

// endLimitPauses ends pauses and rests that the answers of platforms have ordered; operators' pauses are lifted by
// their id. A subtask that waits for such a pause has only a due time, which does not change when the pause ends. So
// every subtask of the platform that waits for a due time becomes due, and waits again if it must.
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
	apply := func(ctx context.Context) (any, error) {
		for _, s := range chosen.pauses {
			if err := a.limits.EndPause(ctx, s); err != nil {
				return nil, pausesUnavailable(err)
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
	if err := a.audit.do(c, "limits.end_pause", "limits", before, gin.H{"request": request}, apply); err != nil {
		return nil, err
	}
	return answer, nil
}
