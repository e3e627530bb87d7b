package api

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/media"
)

const (
	runsPerPage    = 50
	runsPerPageMax = 500
	// estimateMax is how far ahead an end is still worth telling.
	estimateMax = 30 * 24 * time.Hour
)

var runStates = []string{
	string(task.RunFanningOut), string(task.RunRunning), string(task.RunSucceeded), string(task.RunPartial),
	string(task.RunFailed), string(task.RunCancelled), string(task.RunSkipped), string(task.RunExpired),
}

type runJSON struct {
	ID           string        `json:"id"`
	TaskID       string        `json:"task_id"`
	Task         string        `json:"task"`
	TaskRevision int64         `json:"task_revision"`
	Media        string        `json:"media"`
	Handler      string        `json:"handler"`
	Lane         string        `json:"lane"`
	Kind         string        `json:"kind"`
	Order        *orderedJSON  `json:"order,omitempty"`
	OriginRunID  string        `json:"origin_run_id,omitempty"` // the run whose dead subtasks it takes up
	State        task.RunState `json:"state"`
	Error        string        `json:"error,omitempty"`
	Counts       countsJSON    `json:"counts"`
	PlannedAt    time.Time     `json:"planned_at"`
	CreatedAt    time.Time     `json:"created_at"`
	FannedOutAt  time.Time     `json:"fanned_out_at,omitzero"`
	EndedAt      time.Time     `json:"ended_at,omitzero"`
}

// orderedJSON is what was ordered.
type orderedJSON struct {
	Accounts int     `json:"accounts"` // how many were named; 0 = the task's scope
	From     day.Day `json:"from,omitempty"`
	To       day.Day `json:"to,omitempty"`
	By       string  `json:"by"`
	Confirm  bool    `json:"confirm,omitempty"` // the platform's answers are believed
	Spare    bool    `json:"spare,omitempty"`   // its calls have only what nothing else wants of the limits
	Redrive  bool    `json:"redrive,omitempty"` // of dead subtasks
}

// countsJSON are the run's subtasks by state.
type countsJSON struct {
	Total      *int64 `json:"total"` // null until the fan-out has ended
	Succeeded  int64  `json:"succeeded"`
	Failed     int64  `json:"failed"`
	Expired    int64  `json:"expired"`
	Cancelled  int64  `json:"cancelled"`
	Superseded int64  `json:"superseded"`
	// Those that have not ended are told of one run only.
	Waiting  *int64 `json:"waiting,omitempty"`
	Retrying *int64 `json:"retrying,omitempty"`
	Deferred *int64 `json:"deferred,omitempty"`
}

// runDetail is one run with its progress.
type runDetail struct {
	runJSON
	// RatePerSecond is over all of the run's time until now or its end.
	RatePerSecond float64   `json:"rate_per_second,omitempty"`
	EstimatedEnd  time.Time `json:"estimated_end,omitzero"`
}

func describeRun(r *ledger.Run) runJSON {
	j := runJSON{
		ID: formatID(r.ID), TaskID: formatID(r.TaskID), Task: r.TaskName, TaskRevision: r.TaskRevision,
		Media: r.Media, Handler: r.Handler, Lane: r.Settings.Lane, Kind: r.Kind, OriginRunID: idOrNone(r.OriginRunID), State: r.State, Error: r.ErrorText,
		Counts: countsJSON{
			Total: r.Total, Succeeded: r.Succeeded, Failed: r.Failed, Expired: r.Expired, Cancelled: r.Cancelled, Superseded: r.Superseded,
		},
		PlannedAt: r.PlannedAt, CreatedAt: r.CreatedAt, FannedOutAt: r.FannedOutAt, EndedAt: r.EndedAt,
	}
	if o := r.Settings.Order; o != nil {
		j.Order = &orderedJSON{Accounts: len(o.Accounts), From: o.From, To: o.To, By: o.By, Confirm: o.Confirm, Spare: o.Spare, Redrive: o.Redrive != nil}
	}
	return j
}

// runStore is what these routes need of the store.
type runStore interface {
	SearchRuns(ctx context.Context, f ledger.RunSearch) ([]ledger.Run, error)
	RunProgress(ctx context.Context, id int64) (run ledger.Run, retrying, deferred int64, err error)
	Order(ctx context.Context, runID int64) (taskID int64, err error)
}

// runRoutes are the runs.
type runRoutes struct {
	store    runStore
	tasks    taskList
	registry *media.Registry
	clock    clock.Clock
}

func (a *runRoutes) listRuns(c *gin.Context, q *httpapi.Query) (any, error) {
	filter := ledger.RunSearch{TaskName: q.Get("task"), Media: q.OneOf("media", mediasOf(a.registry))}
	if q.Has("state") {
		for state := range strings.SplitSeq(q.Get("state"), ",") {
			if !slices.Contains(runStates, state) {
				q.Refuse("state", "%q is refused: want one of %s, or several with commas between them", state, strings.Join(runStates, ", "))
			}
			filter.States = append(filter.States, task.RunState(state))
		}
	}
	if since := q.Time("since", time.Time{}); !since.IsZero() {
		filter.From = task.FirstRunIDAt(since)
	}
	filter.Before = q.IDAfter()
	page := q.Limit(runsPerPage, runsPerPageMax)
	if err := q.Err(); err != nil {
		return nil, err
	}
	filter.Limit = page + 1 // One more tells whether there is a next page.
	runs, err := a.store.SearchRuns(c.Request.Context(), filter)
	if err != nil {
		return nil, err
	}
	runs, next := httpapi.PageByID(runs, page, func(r *ledger.Run) int64 { return r.ID })
	shown := make([]runJSON, len(runs))
	for i := range runs {
		shown[i] = describeRun(&runs[i])
	}
	return gin.H{"runs": shown, "next": next}, nil
}

func (a *runRoutes) getRun(c *gin.Context, _ *httpapi.Query) (any, error) {
	ctx := c.Request.Context()
	id, err := httpapi.ParseID(c.Param("id"))
	if err != nil {
		return nil, noRun(c.Param("id"))
	}
	run, retrying, deferred, err := a.store.RunProgress(ctx, id)
	if errors.Is(err, sqldb.ErrNotFound) {
		return a.getPending(c, id)
	}
	if err != nil {
		return nil, err
	}
	return detail(&run, retrying, deferred, a.clock.Now()), nil
}

// getPending tells of an order whose run the leader has not made yet.
func (a *runRoutes) getPending(c *gin.Context, id int64) (any, error) {
	taskID, err := a.store.Order(c.Request.Context(), id)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, noRun(c.Param("id"))
	}
	if err != nil {
		return nil, err
	}
	answer := gin.H{"id": formatID(id), "task_id": formatID(taskID), "kind": ledger.RunOfOrder, "state": statePending}
	if t, known := a.tasks.byID(taskID); known {
		answer["task"] = t.Name
	}
	return answer, nil
}

func detail(run *ledger.Run, retrying, deferred int64, now time.Time) runDetail {
	d := runDetail{runJSON: describeRun(run)}
	d.Counts.Retrying, d.Counts.Deferred = &retrying, &deferred
	if run.Total != nil {
		waiting := *run.Total - run.Ended() - retrying - deferred
		d.Counts.Waiting = &waiting
	}
	until := now
	if !run.EndedAt.IsZero() {
		until = run.EndedAt
	}
	took := until.Sub(run.CreatedAt).Seconds()
	if took <= 0 { // The clock stood still, or was set back.
		return d
	}
	d.RatePerSecond = float64(run.Ended()) / took
	if run.State == task.RunRunning && run.Total != nil && d.RatePerSecond > 0 {
		left := float64(*run.Total-run.Ended()) / d.RatePerSecond
		if left >= 0 && left <= estimateMax.Seconds() {
			d.EstimatedEnd = now.Add(time.Duration(left * float64(time.Second))).Truncate(time.Second)
		}
	}
	return d
}
