package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/store"
	"adsync/base/task"
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
	refuse := func(format string, args ...any) (string, error) {
		return "", httpapi.Invalid(httpapi.FieldError{Field: "by", Detail: fmt.Sprintf(format, args...)})
	}
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
	var errs []httpapi.FieldError
	if !slices.Contains(stopKinds, r.Kind) {
		errs = append(errs, httpapi.FieldError{Field: "kind", Detail: fmt.Sprintf("%q is refused: want one of %s", r.Kind, strings.Join(stopKinds, ", "))})
	}
	if n := utf8.RuneCountInString(r.Target); n > targetMax {
		errs = append(errs, httpapi.FieldError{Field: "target", Detail: fmt.Sprintf("has %d characters: want up to %d", n, targetMax)})
	}
	if r.Target == "" {
		errs = append(errs, httpapi.FieldError{Field: "target", Detail: "is missing: want a run's id, a task's name, an account as media/id, or a media's name"})
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
	errs := r.cancelRequest.Validate()
	refuse := func(field, format string, args ...any) {
		errs = append(errs, httpapi.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
	}
	if _, err := time.Parse(time.RFC3339Nano, r.Until); r.Until != "" && err != nil {
		refuse("until", "%q is refused: want a time such as 2026-11-21T10:30:00Z", r.Until)
	}
	if r.ForSeconds == nil {
		return errs
	}
	if r.Until != "" {
		refuse("until", "for_seconds is given too: want one of the two, or neither for a pause until it is lifted")
	}
	if longest := int64(pauseMax.Seconds()); *r.ForSeconds < 1 || *r.ForSeconds > longest {
		refuse("for_seconds", "%d is refused: want 1 to %d, or neither for_seconds nor until for a pause until it is lifted", *r.ForSeconds, longest)
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
		return time.Time{}, httpapi.Invalid(httpapi.FieldError{Field: "until", Detail: fmt.Sprintf("%s is refused: want a time after %s, the present, and within a year",
			r.Until, now.Format(time.RFC3339))})
	}
	return until.UTC().Truncate(time.Millisecond), nil
}

// stopJSON is an order that stops work.
type stopJSON struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Target    string    `json:"target"`
	Reason    string    `json:"reason"`
	By        string    `json:"by"`
	State     string    `json:"state"` // active, ended
	OrderedAt time.Time `json:"ordered_at"`
	Until     time.Time `json:"until,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	LiftedBy  string    `json:"lifted_by,omitempty"`
}

func describeStop(s *task.Stop, now time.Time) stopJSON {
	j := stopJSON{
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

func (a *api) orderPause(c *gin.Context) error {
	var request pauseRequest
	if err := httpapi.Bind(c, &request); err != nil {
		return err
	}
	now, err := a.Store.Data.Now(c.Request.Context())
	if err != nil {
		return err
	}
	until, err := request.end(now)
	if err != nil {
		return err
	}
	return a.orderStop(c, task.Stop{Verb: task.Pause, Until: until, OrderedAt: now}, &request.cancelRequest)
}

func (a *api) orderCancel(c *gin.Context) error {
	var request cancelRequest
	if err := httpapi.Bind(c, &request); err != nil {
		return err
	}
	return a.cancel(c, &request)
}

func (a *api) cancelRun(c *gin.Context) error {
	request := cancelRequest{Kind: string(task.StopRun), Target: c.Param("id")}
	if err := httpapi.Bind(c, &request.signature); err != nil {
		return err
	}
	return a.cancel(c, &request)
}

func (a *api) cancel(c *gin.Context, request *cancelRequest) error {
	now, err := a.Store.Data.Now(c.Request.Context())
	if err != nil {
		return err
	}
	return a.orderStop(c, task.Stop{Verb: task.Cancel, OrderedAt: now}, request)
}

// orderStop writes an order. Its times are the database's, as consumers compare them; its id is by the clock that names
// runs, for a cancel takes the runs before it.
func (a *api) orderStop(c *gin.Context, stop task.Stop, request *cancelRequest) error {
	ctx := c.Request.Context()
	by, err := signedBy(c, request.By)
	if err != nil {
		return err
	}
	stop.ID, stop.Kind, stop.Reason, stop.By = task.NewRunID(a.Clock.Now()), task.StopKind(request.Kind), request.Reason, by
	if err := a.findTarget(ctx, &stop, request.Target); err != nil {
		return err
	}
	answer := describeStop(&stop, stop.OrderedAt)
	deed := func(ctx context.Context) (any, error) { return nil, a.Store.AddStop(ctx, stop) }
	if err := a.audited(c, "stop."+string(stop.Verb), string(stop.Kind)+"/"+stop.TargetName, nil, answer, deed); err != nil {
		return err
	}
	c.JSON(http.StatusCreated, answer)
	return nil
}

// findTarget fills in what the order names.
func (a *api) findTarget(ctx context.Context, stop *task.Stop, target string) error {
	refuse := func(format string, args ...any) error {
		return httpapi.Invalid(httpapi.FieldError{Field: "target", Detail: fmt.Sprintf(format, args...)})
	}
	stop.Target, stop.TargetName = target, target
	switch stop.Kind {
	case task.StopRun:
		id, err := a.findRun(ctx, target)
		stop.Target = formatID(id)
		return err
	case task.StopTask:
		for _, t := range a.Producer.Tasks() {
			if t.Name == target {
				stop.Target = formatID(t.ID)
				return nil
			}
		}
		return refuse("there is no task %q: the list of tasks has those that there are", target)
	case task.StopAccount:
		found, err := a.Store.NamedAccounts(ctx, "", []string{target})
		if err != nil {
			return err
		}
		account, known := found[target]
		if !known {
			return refuse("%q is no account that is known here, or one of several platforms: want the media and the platform's id, such as tencent/20000001", target)
		}
		stop.Target = formatID(account.ID)
		return nil
	default: // a media
		if medias := a.medias(); !slices.Contains(medias, target) {
			return refuse("there is no media %q: want one of %s", target, strings.Join(medias, ", "))
		}
		return nil
	}
}

// findRun returns the id of a run that has not ended; one that is ordered and not made yet is among them.
func (a *api) findRun(ctx context.Context, target string) (int64, error) {
	id, err := parseID(target)
	if err != nil {
		return 0, noRun(target)
	}
	run, err := a.Store.Run(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		if _, err = a.Store.Order(ctx, id); errors.Is(err, store.ErrNotFound) {
			return 0, noRun(target)
		}
		return id, err
	}
	if err == nil && !run.State.Open() {
		return 0, httpapi.NewProblem(http.StatusConflict, "The run %s has ended already: its state is %s.", target, run.State)
	}
	return id, err
}

func (a *api) listPauses(c *gin.Context) error  { return a.listStops(c, task.Pause, "pauses") }
func (a *api) listCancels(c *gin.Context) error { return a.listStops(c, task.Cancel, "cancels") }

func (a *api) listStops(c *gin.Context, verb task.StopVerb, name string) error {
	q, err := queryOf(c, "state", "after", "limit")
	if err != nil {
		return err
	}
	filter := store.StopFilter{Verb: verb, Limit: stopsPerPage}
	switch state := q.values.Get("state"); state {
	case "":
	case "active":
		filter.Active = true
	default:
		q.refuse("state", "%q is refused: want active, or leave it out for all", state)
	}
	if text := q.values.Get("after"); text != "" {
		if filter.Before, err = parseID(text); err != nil {
			q.refuse("after", "%q is refused: want the value of next in the page before", text)
		}
	}
	if text := q.values.Get("limit"); text != "" {
		if filter.Limit, err = strconv.Atoi(text); err != nil || filter.Limit < 1 || filter.Limit > stopsPerPageMax {
			q.refuse("limit", "%q is refused: want 1 to %d", text, stopsPerPageMax)
		}
	}
	if err := q.err(); err != nil {
		return err
	}
	ctx := c.Request.Context()
	now, err := a.Store.Data.Now(ctx)
	if err != nil {
		return err
	}
	page := filter.Limit
	filter.Limit++ // One more tells whether there is a next page.
	list, err := a.Store.ListStops(ctx, filter)
	if err != nil {
		return err
	}
	next := ""
	if len(list) > page {
		list = list[:page]
		next = formatID(list[page-1].ID)
	}
	shown := make([]stopJSON, len(list))
	for i := range list {
		shown[i] = describeStop(&list[i], now)
	}
	c.JSON(http.StatusOK, gin.H{name: shown, "next": next})
	return nil
}

func (a *api) liftPause(c *gin.Context) error {
	q, err := queryOf(c, "by")
	if err != nil {
		return err
	}
	by, err := signedBy(c, q.values.Get("by"))
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	id, err := parseID(c.Param("id"))
	if err != nil {
		return noPause(c.Param("id"))
	}
	stop, err := a.Store.Stop(ctx, id)
	if errors.Is(err, store.ErrNotFound) || (err == nil && stop.Verb != task.Pause) {
		return noPause(c.Param("id"))
	}
	if err != nil {
		return err
	}
	now, err := a.Store.Data.Now(ctx)
	if err != nil {
		return err
	}
	if stop.InForce(now) {
		deed := func(ctx context.Context) (any, error) {
			if _, err := a.Store.LiftPause(ctx, id, by, now); err != nil {
				return nil, err
			}
			stop, err = a.Store.Stop(ctx, id)
			return describeStop(&stop, now), err
		}
		if err := a.audited(c, "stop.lift", string(stop.Kind)+"/"+stop.TargetName, describeStop(&stop, now), nil, deed); err != nil {
			return err
		}
	}
	// One that has ended already stays as it ended: lifting it twice is no error.
	c.JSON(http.StatusOK, describeStop(&stop, now))
	return nil
}

func noPause(id string) error {
	return httpapi.NewProblem(http.StatusNotFound, "There is no pause %q: the list of pauses has those that there are.", id)
}
