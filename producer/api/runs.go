package api

import (
	"context"
	"errors"
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
	"adsync/producer/api/outside"
)

// estimateMax is how far ahead an estimated end is still shown.
const estimateMax = 30 * 24 * time.Hour

func describeRun(r *ledger.Run) client.Run {
	j := client.Run{
		ID: formatID(r.ID), TaskID: formatID(r.TaskID), Task: r.TaskName, TaskRevision: r.TaskRevision,
		Media: r.Media, Handler: r.Handler, Lane: r.Settings.Lane, Kind: r.Kind, OriginRunID: idOrNone(r.OriginRunID),
		State: client.RunState(r.State), Error: r.ErrorText,
		Counts: client.Counts{
			Total: r.Total, Succeeded: r.Succeeded, Failed: r.Failed, Expired: r.Expired, Cancelled: r.Cancelled,
			Superseded: r.Superseded,
		},
		PlannedAt: r.PlannedAt, CreatedAt: r.CreatedAt, FannedOutAt: r.FannedOutAt, EndedAt: r.EndedAt,
	}
	if o := r.Settings.Order; o != nil {
		j.Order = &client.Ordered{Accounts: int64(len(o.Accounts)), From: string(o.From), To: string(o.To), By: o.By,
			Confirm: o.Confirm, Spare: o.Spare, Redrive: o.Redrive != nil, Params: o.Params,
			Under: outside.DescribeUnder(o.Under), Depth: int64(len(o.Ancestors))}
	}
	return j
}

// runStore is what these routes need of the store.
type runStore interface {
	SearchRuns(ctx context.Context, f ledger.RunSearch) ([]ledger.Run, error)
	RunProgress(ctx context.Context, id int64) (run ledger.Run, retrying, deferred int64, err error)
	Order(ctx context.Context, runID int64) (taskID int64, err error)
	RunsUnder(ctx context.Context, runID int64) (ledger.RunsUnder, error)
}

// runRoutes serve the runs.
type runRoutes struct {
	store    runStore
	tasks    taskList
	registry *media.Registry
	clock    clock.Clock
}

func (a *runRoutes) listRuns(c *gin.Context, params *client.ListRunsParams) (any, error) {
	if known := platformsOf(a.registry); params.Media != "" && !slices.Contains(known, params.Media) {
		return nil, httpapi.Refused("media", "%q is refused: want one of %s", params.Media, strings.Join(known, ", "))
	}
	before, err := httpapi.IDAfter(params.After)
	if err != nil {
		return nil, err
	}
	page := int(params.Limit)
	// One more shows whether there is a next page.
	filter := ledger.RunSearch{TaskName: params.Task, Media: params.Media, Before: before, Limit: page + 1}
	if params.Under != "" {
		if filter.Under, err = httpapi.ParseID(params.Under); err != nil {
			return nil, httpapi.Refused("under", "%q is refused: want the id of a run", params.Under)
		}
	}
	for _, state := range params.State {
		filter.States = append(filter.States, task.RunState(state))
	}
	if !params.Since.IsZero() {
		filter.From = task.FirstRunIDAt(params.Since)
	}
	if !params.Until.IsZero() {
		until := task.FirstRunIDAt(params.Until)
		if until <= filter.From {
			return nil, httpapi.Refused("until", "%s is refused: want a time after that of since",
				params.Until.Format(time.RFC3339))
		}
		if before == 0 || until < before {
			filter.Before = until
		}
	}
	runs, err := a.store.SearchRuns(c.Request.Context(), filter)
	if err != nil {
		return nil, err
	}
	runs, next := httpapi.PageByID(runs, page, func(r *ledger.Run) int64 { return r.ID })
	shown := make([]client.Run, len(runs))
	for i := range runs {
		shown[i] = describeRun(&runs[i])
	}
	return client.RunList{Runs: shown, Next: next}, nil
}

func (a *runRoutes) getRun(c *gin.Context) (any, error) {
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
	answer := detail(&run, retrying, deferred, a.clock.Now())
	under, err := a.store.RunsUnder(ctx, id)
	if err == nil && under.Runs > 0 {
		answer.RunsUnder = client.RunsUnder{Runs: under.Runs, Open: under.Open, Undone: under.Undone}
	}
	return answer, err
}

// getPending answers with an order whose run the leader has not made yet.
func (a *runRoutes) getPending(c *gin.Context, id int64) (any, error) {
	taskID, err := a.store.Order(c.Request.Context(), id)
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, noRun(c.Param("id"))
	}
	if err != nil {
		return nil, err
	}
	answer := client.PendingRun{ID: formatID(id), TaskID: formatID(taskID), Kind: ledger.RunOfOrder, State: statePending}
	if t, known := a.tasks.byID(taskID); known {
		answer.Task = t.Name
	}
	return answer, nil
}

func detail(run *ledger.Run, retrying, deferred int64, now time.Time) client.Run {
	d := describeRun(run)
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
	if took <= 0 { // The clock did not advance, or was set back.
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
