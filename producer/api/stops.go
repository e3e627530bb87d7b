package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/client"
	"adsync/media"
)

const (
	stopsPerPage    = 50
	stopsPerPageMax = 500
	// pauseMax is how long a pause with an end may be. One that is to last longer has none, and is lifted.
	pauseMax = 366 * 24 * time.Hour
	// What the columns take, in characters.
	reasonMax = 255
	targetMax = 191
	nameMax   = 96
)

var stopKinds = []string{string(task.StopRun), string(task.StopTask), string(task.StopAccount), string(task.StopMedia)}

// signature is what every order that stops work must say: others will ask why their work stands still.
type signature struct {
	Reason string `json:"reason"`
	By     string `json:"by"` // see signedBy
}

// Validate implements httpapi.Validator.
func (s *signature) Validate() []httpapi.FieldError {
	s.Reason = strings.TrimSpace(s.Reason)
	switch n := utf8.RuneCountInString(s.Reason); {
	case n == 0:
		return []httpapi.FieldError{{Field: "reason", Detail: "is missing: say why the work is to stop"}}
	case n > reasonMax:
		return []httpapi.FieldError{{Field: "reason", Detail: fmt.Sprintf("has %d characters: want up to %d", n, reasonMax)}}
	}
	return nil
}

// signedBy returns who gives an order: the holder of the token, in whose name nobody else can sign. Where no token is needed nobody is known,
// and the order itself must say who gives it.
func signedBy(c *gin.Context, by string) (string, error) {
	by = strings.TrimSpace(by)
	refuse := func(format string, args ...any) (string, error) { return "", httpapi.Refused("by", format, args...) }
	caller := httpapi.CallerOf(c)
	switch n := utf8.RuneCountInString(by); {
	case !caller.Unknown && by != "" && by != caller.Name:
		return refuse("is another name than that of the token, %q: leave it out", caller.Name)
	case !caller.Unknown:
		return caller.Name, nil
	case n == 0:
		return refuse("is missing: say who orders it")
	case n > nameMax:
		return refuse("has %d characters: want up to %d", n, nameMax)
	}
	return by, nil
}

// cancelRequest is the body of a cancel.
type cancelRequest struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	signature
}

// Validate implements httpapi.Validator.
func (r *cancelRequest) Validate() []httpapi.FieldError {
	var errs httpapi.Refusals
	if !slices.Contains(stopKinds, r.Kind) {
		errs.Refuse("kind", "%q is refused: want one of %s", r.Kind, strings.Join(stopKinds, ", "))
	}
	if n := utf8.RuneCountInString(r.Target); n > targetMax {
		errs.Refuse("target", "has %d characters: want up to %d", n, targetMax)
	}
	if r.Target == "" {
		errs.Refuse("target", "is missing: want a run's id, a task's name, an account as media/id, or a media's name")
	}
	return append(errs, r.signature.Validate()...)
}

// pauseRequest is the body of a pause. With neither end it lasts until it is lifted.
type pauseRequest struct {
	cancelRequest
	ForSeconds *int64 `json:"for_seconds,omitempty"`
	Until      string `json:"until,omitempty"` // RFC 3339
}

// Validate implements httpapi.Validator.
func (r *pauseRequest) Validate() []httpapi.FieldError {
	errs := httpapi.Refusals(r.cancelRequest.Validate())
	if _, err := time.Parse(time.RFC3339Nano, r.Until); r.Until != "" && err != nil {
		errs.Refuse("until", "%q is refused: want a time such as 2026-11-21T10:30:00Z", r.Until)
	}
	if r.ForSeconds == nil {
		return errs
	}
	if r.Until != "" {
		errs.Refuse("until", "for_seconds is given too: want one of the two, or neither for a pause until it is lifted")
	}
	if longest := int64(pauseMax.Seconds()); *r.ForSeconds < 1 || *r.ForSeconds > longest {
		errs.Refuse("for_seconds", "%d is refused: want 1 to %d, or neither for_seconds nor until for a pause until it is lifted", *r.ForSeconds, longest)
	}
	return errs
}

// end returns when the pause ends; zero = when it is lifted.
func (r *pauseRequest) end(now time.Time) (time.Time, error) {
	if r.ForSeconds != nil {
		return now.Add(time.Duration(*r.ForSeconds) * time.Second), nil
	}
	if r.Until == "" {
		return time.Time{}, nil
	}
	until, err := time.Parse(time.RFC3339Nano, r.Until)
	if err != nil || !until.After(now) || until.After(now.Add(pauseMax)) {
		return time.Time{}, httpapi.Refused("until", "%s is refused: want a time after %s, the present, and within a year", r.Until, now.Format(time.RFC3339))
	}
	return until.UTC().Truncate(time.Millisecond), nil
}

func describeStop(s *task.Stop, now time.Time) client.Stop {
	j := client.Stop{
		ID: formatID(s.ID), Kind: string(s.Kind), Target: s.TargetName, Reason: s.Reason, By: s.By, State: "active",
		OrderedAt: s.OrderedAt, Until: s.Until, EndedAt: s.EndedAt, LiftedBy: s.EndedBy,
	}
	if !s.InForce(now) {
		j.State = "ended"
		if j.EndedAt.IsZero() { // The leader is about to note it.
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

// stopRoutes are the orders that stop work: pauses and cancels.
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

func (a *stopRoutes) orderPause(c *gin.Context, request *pauseRequest) (any, error) {
	now, err := a.now(c.Request.Context())
	if err != nil {
		return nil, err
	}
	until, err := request.end(now)
	if err != nil {
		return nil, err
	}
	return a.orderStop(c, task.Stop{Verb: task.Pause, Until: until, OrderedAt: now}, &request.cancelRequest)
}

func (a *stopRoutes) cancelRun(c *gin.Context) error {
	request := cancelRequest{Kind: string(task.StopRun), Target: c.Param("id")}
	if err := httpapi.Bind(c, &request.signature); err != nil {
		return err
	}
	return write(c)(a.orderCancel(c, &request))
}

func (a *stopRoutes) orderCancel(c *gin.Context, request *cancelRequest) (any, error) {
	now, err := a.now(c.Request.Context())
	if err != nil {
		return nil, err
	}
	return a.orderStop(c, task.Stop{Verb: task.Cancel, OrderedAt: now}, request)
}

// orderStop writes an order. Its times are the database's, as consumers compare them; its id is by the clock that names
// runs, for a cancel takes the runs before it.
func (a *stopRoutes) orderStop(c *gin.Context, stop task.Stop, request *cancelRequest) (any, error) {
	ctx := c.Request.Context()
	by, err := signedBy(c, request.By)
	if err != nil {
		return nil, err
	}
	stop.ID, stop.Kind, stop.Reason, stop.By = task.NewRunID(a.clock.Now()), task.StopKind(request.Kind), request.Reason, by
	if err := a.findTarget(ctx, &stop, request.Target); err != nil {
		return nil, err
	}
	answer := describeStop(&stop, stop.OrderedAt)
	deed := func(ctx context.Context) (any, error) { return nil, a.store.AddStop(ctx, stop) }
	if err := a.audit.do(c, "stop."+string(stop.Verb), string(stop.Kind)+"/"+stop.TargetName, nil, answer, deed); err != nil {
		return nil, err
	}
	c.Status(http.StatusCreated)
	return answer, nil
}

// findTarget fills in what the order names.
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
		return httpapi.Refused("target", "there is no task %q: the list of tasks has those that there are", target)
	case task.StopAccount:
		account, known, err := a.accounts.named(ctx, "", target)
		if err != nil {
			return err
		}
		if !known {
			return httpapi.Refused("target", "%q is no account that is known here, or one of several platforms: want the media and the platform's id, such as %s", target, a.accounts.example())
		}
		stop.Target = formatID(account.ID)
		return nil
	default: // a media
		if medias := mediasOf(a.registry); !slices.Contains(medias, target) {
			return httpapi.Refused("target", "there is no media %q: want one of %s", target, strings.Join(medias, ", "))
		}
		return nil
	}
}

// listStops lists the orders of a verb under a name.
func (a *stopRoutes) listStops(verb task.StopVerb, name string) answerFunc {
	return func(c *gin.Context, q *httpapi.Query) (any, error) {
		filter := ledger.StopFilter{Verb: verb}
		switch state := q.Get("state"); state {
		case "":
		case "active":
			filter.Active = true
		default:
			q.Refuse("state", "%q is refused: want active, or leave it out for all", state)
		}
		filter.Before = q.IDAfter()
		page := q.Limit(stopsPerPage, stopsPerPageMax)
		if err := q.Err(); err != nil {
			return nil, err
		}
		ctx := c.Request.Context()
		now, err := a.now(ctx)
		if err != nil {
			return nil, err
		}
		filter.Limit = page + 1 // One more tells whether there is a next page.
		list, err := a.store.ListStops(ctx, filter)
		if err != nil {
			return nil, err
		}
		list, next := httpapi.PageByID(list, page, func(s *task.Stop) int64 { return s.ID })
		shown := make([]client.Stop, len(list))
		for i := range list {
			shown[i] = describeStop(&list[i], now)
		}
		return gin.H{name: shown, "next": next}, nil
	}
}

func (a *stopRoutes) liftPause(c *gin.Context, q *httpapi.Query) (any, error) {
	by, err := signedBy(c, q.Get("by"))
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
		deed := func(ctx context.Context) (any, error) {
			if _, err := a.store.LiftPause(ctx, id, by, now); err != nil {
				return nil, err
			}
			stop, err = a.store.Stop(ctx, id)
			return describeStop(&stop, now), err
		}
		if err := a.audit.do(c, "stop.lift", string(stop.Kind)+"/"+stop.TargetName, describeStop(&stop, now), nil, deed); err != nil {
			return nil, err
		}
	}
	// One that has ended already stays as it ended: lifting it twice is no error.
	return describeStop(&stop, now), nil
}

func noPause(id string) error {
	return httpapi.NewProblem(http.StatusNotFound, "There is no pause %q: the list of pauses has those that there are.", id)
}
