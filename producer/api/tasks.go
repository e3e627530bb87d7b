package api

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adsync/base/clock"
	"adsync/base/httpapi"
	"adsync/base/schedule"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/client"
	"adsync/producer"
)

// ticksShown is how many ticks of a task are shown before now, and how many after.
const ticksShown = 5

// The states of a row of cron_task.
const (
	statusGood     = "good"
	statusLastGood = "last_good" // the row is not usable; the task runs with its last good version
	statusUnusable = "unusable"  // the row is not usable, and this process knows no earlier good version
)

// statePending is the state of a run that has an id from its tick or order, and that the leader has not made yet.
const statePending = "pending"

// taskStore is what these routes need of the store.
type taskStore interface {
	LastTicks(ctx context.Context, taskID int64, limit int) ([]ledger.Tick, error)
	Runs(ctx context.Context, ids []int64) ([]ledger.Run, error)
	SearchRuns(ctx context.Context, f ledger.RunSearch) ([]ledger.Run, error)
	OpenRuns(ctx context.Context, taskIDs []int64, limit int) ([]ledger.Run, error)
	RecordSQLEdits(ctx context.Context, after int64) (next int64, err error)
	OrderReload(ctx context.Context, actor string) error
	AddTask(ctx context.Context, e settings.Editor, row settings.TaskRow, check func(settings.TaskTable) error) error
	EditTask(ctx context.Context, e settings.Editor, name string, change func(settings.TaskRow) (settings.TaskRow, error),
		check func(settings.TaskTable) error) error
	DeleteTask(ctx context.Context, e settings.Editor, name string,
		check func(settings.TaskTable) error) (settings.TaskRow, error)
}

// taskRoutes serve and change the tasks.
type taskRoutes struct {
	store    taskStore
	tasks    taskList
	producer Producer
	clock    clock.Clock
}

func (a *taskRoutes) listTasks(c *gin.Context) (any, error) {
	tasks := a.producer.Tasks()
	slices.SortFunc(tasks, func(x, y producer.Task) int { return strings.Compare(x.Name, y.Name) })
	shown, err := a.show(c.Request.Context(), tasks)
	if err != nil {
		return nil, err
	}
	all := make([]any, len(shown))
	for i := range shown {
		all[i] = taskAnswer(shown[i])
	}
	return gin.H{"tasks": all}, nil
}

func (a *taskRoutes) getTask(c *gin.Context) (any, error) {
	t, err := a.tasks.inPath(c)
	if err != nil {
		return nil, err
	}
	shown, err := a.show(c.Request.Context(), []producer.Task{t})
	if err != nil {
		return nil, err
	}
	return taskAnswer(shown[0]), nil
}

// taskAnswer returns the answer about a task. An unusable row has no settings.
func taskAnswer(t client.Task) any {
	if t.Status != statusUnusable {
		return t
	}
	return client.TaskState{
		ID: t.ID, Name: t.Name, Status: t.Status, Errors: t.Errors, Warnings: t.Warnings, RowRevision: t.RowRevision,
		NextTicks: t.NextTicks, LastTicks: t.LastTicks,
	}
}

// show adds to tasks their last ticks from the ledger, and their next ticks.
func (a *taskRoutes) show(ctx context.Context, tasks []producer.Task) ([]client.Task, error) {
	now := a.clock.Now()
	all := make([]client.Task, len(tasks))
	var runIDs []int64
	ticks := make([][]ledger.Tick, len(tasks))
	for i, t := range tasks {
		var err error
		if ticks[i], err = a.store.LastTicks(ctx, t.ID, ticksShown); err != nil {
			return nil, err
		}
		for _, tick := range ticks[i] {
			runIDs = append(runIDs, tick.RunID)
		}
		all[i] = describe(t, now)
	}
	runs, err := a.store.Runs(ctx, runIDs)
	if err != nil {
		return nil, err
	}
	states := make(map[int64]string, len(runs))
	for i := range runs {
		states[runs[i].ID] = string(runs[i].State)
	}
	for i := range all {
		for _, tick := range ticks[i] {
			state, made := states[tick.RunID]
			if !made {
				state = statePending
			}
			all[i].LastTicks = append(all[i].LastTicks, client.Tick{PlannedAt: tick.PlannedAt, MadeAt: tick.MadeAt,
				RunID: formatID(tick.RunID), State: state})
		}
	}
	return all, nil
}

func describe(t producer.Task, now time.Time) client.Task {
	j := client.Task{
		ID: formatID(t.ID), Name: t.Name, Status: statusGood, Warnings: t.Warnings, NextTicks: []time.Time{},
		LastTicks: []client.Tick{},
	}
	for _, e := range t.Errors {
		j.Errors = append(j.Errors, client.RowError{Field: e.Key, Value: e.Value, Want: e.Want})
		j.RowRevision = t.RowRevision
	}
	if !t.Usable {
		j.Status = statusUnusable
		return j
	}
	if len(t.Errors) > 0 {
		j.Status = statusLastGood
	}
	j.Enabled, j.Media, j.Handler, j.Params, j.Cron, j.Timezone, j.Lane, j.Scope = t.Enabled, t.Media, t.Handler, t.Params,
		t.Cron, t.Timezone, t.Lane, t.Scope
	j.TimeoutSeconds, j.TTLSeconds, j.RetryMax, j.RetryBaseSeconds = seconds(t.Timeout), seconds(t.TTL), int64(t.RetryMax),
		seconds(t.RetryBase)
	j.Overlap, j.Concurrency, j.ExclusiveMaxSeconds = string(t.Overlap), string(t.Concurrency), seconds(t.ExclusiveMax)
	j.SerialKey, j.ExclusiveOver, j.ExclusiveDrainSeconds = t.SerialKey, string(t.ExclusiveOver), seconds(t.ExclusiveDrain)
	j.CatchUp, j.CatchUpWindowSeconds = string(t.CatchUp), seconds(t.CatchUpWindow)
	j.CatchUpOrder, j.CatchUpSpreadSeconds = string(t.CatchUpOrder), seconds(t.CatchUpSpread)
	j.FanOutRate, j.After, j.Application, j.Revision = int64(t.FanOutRate), t.After, t.Application, t.Revision
	if s, err := schedule.Parse(t.Cron, t.Timezone, t.Name); err == nil && t.Enabled {
		j.NextTicks = s.NextN(now, ticksShown)
	}
	return j
}

func (a *taskRoutes) reloadTasks(c *gin.Context) (any, error) {
	// A reload mostly follows an edit by SQL: the audit log records it now, before the leader looks for such edits.
	if _, err := a.store.RecordSQLEdits(c.Request.Context(), 0); err != nil {
		return nil, err
	}
	// This makes the other producers, among them the leader, reload too.
	if err := a.store.OrderReload(c.Request.Context(), httpapi.CallerOf(c).Name); err != nil {
		return nil, err
	}
	before := a.producer.Tasks()
	if err := a.producer.Reload(c.Request.Context()); err != nil {
		return nil, err
	}
	return compare(before, a.producer.Tasks()), nil
}

func compare(before, after []producer.Task) client.Reload {
	result := client.Reload{Added: []string{}, Changed: []string{}, Removed: []string{}, Bad: []client.BadTask{},
		Warnings: []client.TaskWarnings{}}
	removed := map[int64]task.Task{} // until they are found in after
	for _, t := range before {
		if t.Usable {
			removed[t.ID] = t.Task
		}
	}
	for _, t := range after {
		if len(t.Errors) > 0 {
			d := describe(t, time.Time{})
			result.Bad = append(result.Bad, client.BadTask{Name: d.Name, Status: d.Status, Errors: d.Errors})
		}
		if !t.Usable {
			continue
		}
		if len(t.Warnings) > 0 {
			result.Warnings = append(result.Warnings, client.TaskWarnings{Name: t.Name, Warnings: t.Warnings})
		}
		result.Tasks++
		old, known := removed[t.ID]
		delete(removed, t.ID)
		switch {
		case !known:
			result.Added = append(result.Added, t.Name)
		case !reflect.DeepEqual(old, t.Task):
			result.Changed = append(result.Changed, t.Name)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(removed)) {
		result.Removed = append(result.Removed, removed[id].Name)
	}
	slices.Sort(result.Added)
	slices.Sort(result.Changed)
	slices.Sort(result.Removed)
	slices.SortFunc(result.Warnings, func(x, y client.TaskWarnings) int { return strings.Compare(x.Name, y.Name) })
	slices.SortFunc(result.Bad, func(x, y client.BadTask) int { return strings.Compare(x.Name, y.Name) })
	return result
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
