package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/client"
	"adsync/media"
)

// pauseMax is how long a pause with an end may last. A longer pause is ordered without an end, and is lifted.
const pauseMax = 366 * 24 * time.Hour

// signedBy returns who gives an order. With a token that is the token's name, and by must be empty or the same. Without
// tokens the caller is unknown, and by is required.
func signedBy(c *gin.Context, by string) (string, error) {
	by = strings.TrimSpace(by)
	refuse := func(format string, args ...any) (string, error) { return "", httpapi.Refused("by", format, args...) }
	caller := httpapi.CallerOf(c)
	switch {
	case !caller.Unknown && by != "" && by != caller.Name:
		return refuse("is not the name of the token, %q: leave it out", caller.Name)
	case !caller.Unknown:
		return caller.Name, nil
	case by == "":
		return refuse("is missing: want the name of the person who orders it")
	}
	return by, nil
}

// pauseEnd returns the end of a pause. Zero = the pause lasts until it is lifted.
func pauseEnd(r *client.PauseRequest, now time.Time) (time.Time, error) {
	switch {
	case r.ForSeconds != nil && !r.Until.IsZero():
		return time.Time{}, httpapi.Refused("until",
			"for_seconds is given too: want one of the two, or neither for a pause until it is lifted")
	case r.ForSeconds != nil:
		return now.Add(time.Duration(*r.ForSeconds) * time.Second), nil
	case r.Until.IsZero():
		return time.Time{}, nil
	case !r.Until.After(now) || r.Until.After(now.Add(pauseMax)):
		return time.Time{}, httpapi.Refused("until", "%s is refused: want a time after now, %s, and within a year",
			r.Until.Format(time.RFC3339Nano), now.Format(time.RFC3339))
	}
	return r.Until.UTC().Truncate(time.Millisecond), nil
}

func describeStop(s *task.Stop, now time.Time) client.Stop {
	j := client.Stop{
		ID: formatID(s.ID), Kind: string(s.Kind), Target: s.TargetName, Reason: s.Reason, By: s.By, State: "active",
		OrderedAt: s.OrderedAt, Until: s.Until, EndedAt: s.EndedAt, LiftedBy: s.EndedBy,
	}
	if !s.InForce(now) {
		j.State = "ended"
		if j.EndedAt.IsZero() { // The leader has not recorded the end yet.
			j.EndedAt = s.Until
		}
	}
	return j
}

// stopStore is what these routes need of the store.
type stopStore interface {
	Stop(ctx context.Context, id int64) (task.Stop, error)
	AddStop(ctx context.Context, stop task.Stop) error
	LiftPause(ctx context.Context, id int64, by string, now time.Time) (bool, error)
	ListStops(ctx context.Context, f ledger.StopFilter) ([]task.Stop, error)
}

// stopRoutes serve the orders that stop work: pauses and cancels.
type stopRoutes struct {
	store    stopStore
	accounts accountFinder
	tasks    taskList
	runs     runFinder
	registry *media.Registry
	audit    auditor
	clock    clock.Clock
	now      databaseClock
}

func (a *stopRoutes) orderPause(c *gin.Context, request *client.PauseRequest) (any, error) {
	now, err := a.now(c.Request.Context())
	if err != nil {
		return nil, err
	}
	until, err := pauseEnd(request, now)
	if err != nil {
		return nil, err
	}
	return a.orderStop(c, task.Stop{
		Verb: task.Pause, Kind: task.StopKind(request.Kind), Until: until, OrderedAt: now, Reason: request.Reason,
		By: request.By,
	}, request.Target)
}

func (a *stopRoutes) cancelRun(c *gin.Context, request *client.Signature) (any, error) {
	return a.orderCancel(c, &client.CancelRequest{
		Kind: string(task.StopRun), Target: c.Param("id"), Reason: request.Reason, By: request.By,
	})
}

func (a *stopRoutes) orderCancel(c *gin.Context, request *client.CancelRequest) (any, error) {
	now, err := a.now(c.Request.Context())
	if err != nil {
		return nil, err
	}
	return a.orderStop(c, task.Stop{
		Verb: task.Cancel, Kind: task.StopKind(request.Kind), OrderedAt: now, Reason: request.Reason, By: request.By,
	}, request.Target)
}

// orderStop writes an order. Its times are the database's, because consumers compare them with it. Its id is made from
// the clock that makes run ids, because a cancel applies to the runs with smaller ids.
func (a *stopRoutes) orderStop(c *gin.Context, stop task.Stop, target string) (any, error) {
	ctx := c.Request.Context()
	by, err := signedBy(c, stop.By)
	if err != nil {
		return nil, err
	}
	stop.ID, stop.Reason, stop.By = task.NewRunID(a.clock.Now()), strings.TrimSpace(stop.Reason), by
	if err := a.findTarget(ctx, &stop, target); err != nil {
		return nil, err
	}
	answer := describeStop(&stop, stop.OrderedAt)
	apply := func(ctx context.Context) (any, error) { return nil, a.store.AddStop(ctx, stop) }
	if err := a.audit.do(c, "stop."+string(stop.Verb), string(stop.Kind)+"/"+stop.TargetName, nil, answer,
		apply); err != nil {
		return nil, err
	}
	c.Status(http.StatusCreated)
	return answer, nil
}

// findTarget fills in the order's target.
func (a *stopRoutes) findTarget(ctx context.Context, stop *task.Stop, target string) error {
	stop.Target, stop.TargetName = target, target
	switch stop.Kind {
	case task.StopRun:
		run, err := a.runs.named(ctx, target)
		if err == nil && run.State != "" && !run.State.Open() {
			return httpapi.NewProblem(http.StatusConflict, "The run %s has ended already: its state is %s.", target, run.State)
		}
		stop.Target = formatID(run.ID)
		return err
	case task.StopTask:
		t, known := a.tasks.named(target)
		if known {
			stop.Target = formatID(t.ID)
			return nil
		}
		return httpapi.Refused("target", "there is no task %q: want one in the list of tasks", target)
	case task.StopAccount:
		account, known, err := a.accounts.named(ctx, "", target)
		if err != nil {
			return err
		}
		if !known {
			return httpapi.Refused("target",
				"%q is not a known account, or several platforms have it: want the media and the platform's id, such as %s",
				target, a.accounts.example())
		}
		stop.Target = formatID(account.ID)
		return nil
	default: // a media
		if known := platformsOf(a.registry); !slices.Contains(known, target) {
			return httpapi.Refused("target", "there is no media %q: want one of %s", target, strings.Join(known, ", "))
		}
		return nil
	}
}

func (a *stopRoutes) listCancels(c *gin.Context, params *client.ListCancelsParams) (any, error) {
	shown, next, err := a.listStops(c, task.Cancel, params.State, params.After, int(params.Limit))
	return client.CancelList{Cancels: shown, Next: next}, err
}

func (a *stopRoutes) listPauses(c *gin.Context, params *client.ListPausesParams) (any, error) {
	shown, next, err := a.listStops(c, task.Pause, params.State, params.After, int(params.Limit))
	return client.PauseList{Pauses: shown, Next: next}, err
}

// listStops lists a page of the orders of a verb: all of them, or only those in force if state is not empty.
func (a *stopRoutes) listStops(c *gin.Context, verb task.StopVerb, state, after string, page int) (
	shown []client.Stop, next string, err error,
) {
	// One more shows whether there is a next page.
	filter := ledger.StopFilter{Verb: verb, Active: state != "", Limit: page + 1}
	if filter.Before, err = httpapi.IDAfter(after); err != nil {
		return nil, "", err
	}
	ctx := c.Request.Context()
	now, err := a.now(ctx)
	if err != nil {
		return nil, "", err
	}
	list, err := a.store.ListStops(ctx, filter)
	if err != nil {
		return nil, "", err
	}
	list, next = httpapi.PageByID(list, page, func(s *task.Stop) int64 { return s.ID })
	shown = make([]client.Stop, len(list))
	for i := range list {
		shown[i] = describeStop(&list[i], now)
	}
	return shown, next, nil
}

func (a *stopRoutes) liftPause(c *gin.Context, params *client.LiftPauseParams) (any, error) {
	by, err := signedBy(c, params.By)
	if err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	id, err := httpapi.ParseID(c.Param("id"))
	if err != nil {
		return nil, noPause(c.Param("id"))
	}
	stop, err := a.store.Stop(ctx, id)
	if errors.Is(err, sqldb.ErrNotFound) || (err == nil && stop.Verb != task.Pause) {
		return nil, noPause(c.Param("id"))
	}
	if err != nil {
		return nil, err
	}
	now, err := a.now(ctx)
	if err != nil {
		return nil, err
	}
	if stop.InForce(now) {
		apply := func(ctx context.Context) (any, error) {
			if _, err := a.store.LiftPause(ctx, id, by, now); err != nil {
				return nil, err
			}
			stop, err = a.store.Stop(ctx, id)
			return describeStop(&stop, now), err
		}
		if err := a.audit.do(c, "stop.lift", string(stop.Kind)+"/"+stop.TargetName, describeStop(&stop, now), nil,
			apply); err != nil {
			return nil, err
		}
	}
	// An ended pause does not change: lifting it twice is not an error.
	return describeStop(&stop, now), nil
}

func noPause(id string) error {
	return httpapi.NewProblem(http.StatusNotFound, "There is no pause %q: want the id of one in the list of pauses.", id)
}
