package api

import (
	"context"
	"encoding/json"
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
	"adsync/producer"
)

// ticksShown is how many ticks of a task are told of, before now and after.
const ticksShown = 5

// The words for how a row of cron_task stands.
const (
	statusGood     = "good"
	statusLastGood = "last_good" // the row cannot be used; its last good value runs
	statusUnusable = "unusable"  // the row cannot be used and never could, as far as this process knows
)

// statePending is the state of a run that its tick or order has named, and that the leader has not made yet.
const statePending = "pending"

type taskJSON struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Status string     `json:"status"`
	Errors []rowError `json:"errors,omitempty"`
	// Warnings name what is probably not meant by the cron, such as a step that does not divide its field.
	Warnings []string `json:"warnings,omitempty"`
	// RowRevision is there for a row that cannot be used: the one that an edit of it must name.
	RowRevision int64 `json:"row_revision,omitempty"`
	*settingsJSON
	NextTicks []time.Time `json:"next_ticks"`
	LastTicks []tickJSON  `json:"last_ticks"`
}

// settingsJSON is what runs; an unusable row has none.
type settingsJSON struct {
	Enabled        bool              `json:"enabled"`
	Media          string            `json:"media"`
	Handler        string            `json:"handler"`
	Params         json.RawMessage   `json:"params,omitempty"`
	Cron           string            `json:"cron"`
	Timezone       string            `json:"timezone"`
	Lane           string            `json:"lane"`
	Scope          string            `json:"scope"`
	TimeoutSeconds int64             `json:"timeout_seconds"`
	TTLSeconds     int64             `json:"ttl_seconds"`
	RetryMax       int               `json:"retry_max"`
	RetryBase      int64             `json:"retry_base_seconds"`
	Overlap        task.Overlap      `json:"overlap"`
	CatchUp        task.CatchUp      `json:"catch_up"`
	CatchUpWindow  int64             `json:"catch_up_window_seconds"`
	CatchUpOrder   task.CatchUpOrder `json:"catch_up_order"`
	CatchUpSpread  int64             `json:"catch_up_spread_seconds"`
	Concurrency    task.Concurrency  `json:"concurrency"`
	ExclusiveMax   int64             `json:"exclusive_max_seconds"`
	FanOutRate     int               `json:"fan_out_rate"`
	After          []string          `json:"after,omitempty"`
	Revision       int64             `json:"revision"`
}

// rowError says what is wrong with one column of a row.
type rowError struct {
	Field string `json:"field"`
	Value string `json:"value,omitempty"`
	Want  string `json:"want"`
}

type tickJSON struct {
	PlannedAt time.Time `json:"planned_at"`
	MadeAt    time.Time `json:"made_at"`
	RunID     string    `json:"run_id"`
	State     string    `json:"state"`
}

// taskStore is what these routes need of the store.
type taskStore interface {
	LastTicks(ctx context.Context, taskID int64, limit int) ([]ledger.Tick, error)
	Runs(ctx context.Context, ids []int64) ([]ledger.Run, error)
	NoteEdits(ctx context.Context, after int64) (next int64, err error)
	OrderReload(ctx context.Context, actor string) error
	AddTask(ctx context.Context, e settings.Editor, row settings.TaskRow, check func(settings.TaskTable) error) error
	EditTask(ctx context.Context, e settings.Editor, name string, change func(settings.TaskRow) (settings.TaskRow, error), check func(settings.TaskTable) error) error
}

// taskRoutes are the tasks: what they are, and their changes.
type taskRoutes struct {
	store    taskStore
	tasks    taskList
	producer Producer
	clock    clock.Clock
}

func (a *taskRoutes) listTasks(c *gin.Context, _ *httpapi.Query) (any, error) {
	tasks := a.producer.Tasks()
	slices.SortFunc(tasks, func(x, y producer.Task) int { return strings.Compare(x.Name, y.Name) })
	shown, err := a.show(c.Request.Context(), tasks)
	if err != nil {
		return nil, err
	}
	return gin.H{"tasks": shown}, nil
}

func (a *taskRoutes) getTask(c *gin.Context, _ *httpapi.Query) (any, error) {
	t, err := a.tasks.inPath(c)
	if err != nil {
		return nil, err
	}
	shown, err := a.show(c.Request.Context(), []producer.Task{t})
	if err != nil {
		return nil, err
	}
	return shown[0], nil
}

// show adds to tasks what the ledger and the clock tell of them.
func (a *taskRoutes) show(ctx context.Context, tasks []producer.Task) ([]taskJSON, error) {
	now := a.clock.Now()
	all := make([]taskJSON, len(tasks))
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
			all[i].LastTicks = append(all[i].LastTicks, tickJSON{PlannedAt: tick.PlannedAt, MadeAt: tick.MadeAt, RunID: formatID(tick.RunID), State: state})
		}
	}
	return all, nil
}

func describe(t producer.Task, now time.Time) taskJSON {
	j := taskJSON{
		ID: formatID(t.ID), Name: t.Name, Status: statusGood, Warnings: t.Warnings, NextTicks: []time.Time{}, LastTicks: []tickJSON{},
	}
	for _, e := range t.Errors {
		j.Errors = append(j.Errors, rowError{Field: e.Key, Value: e.Value, Want: e.Want})
		j.RowRevision = t.RowRevision
	}
	if !t.Usable {
		j.Status = statusUnusable
		return j
	}
	if len(t.Errors) > 0 {
		j.Status = statusLastGood
	}
	j.settingsJSON = &settingsJSON{
		Enabled: t.Enabled, Media: t.Media, Handler: t.Handler, Params: t.Params, Cron: t.Cron, Timezone: t.Timezone,
		Lane: t.Lane, Scope: t.Scope, TimeoutSeconds: seconds(t.Timeout), TTLSeconds: seconds(t.TTL),
		RetryMax: t.RetryMax, RetryBase: seconds(t.RetryBase), Overlap: t.Overlap,
		CatchUp: t.CatchUp, CatchUpWindow: seconds(t.CatchUpWindow),
		CatchUpOrder: t.CatchUpOrder, CatchUpSpread: seconds(t.CatchUpSpread), Concurrency: t.Concurrency, ExclusiveMax: seconds(t.ExclusiveMax),
		FanOutRate: t.FanOutRate, After: t.After, Revision: t.Revision,
	}
	if s, err := schedule.Parse(t.Cron, t.Timezone, t.Name); err == nil && t.Enabled {
		j.NextTicks = s.NextN(now, ticksShown)
	}
	return j
}

// reloadJSON tells what a reload changed, by the tasks' names.
type reloadJSON struct {
	Tasks   int       `json:"tasks"` // how many can run
	Added   []string  `json:"added"`
	Changed []string  `json:"changed"`
	Removed []string  `json:"removed"`
	Bad     []badJSON `json:"bad"` // every row that cannot be used, also those that were bad before
	// Warnings has every task whose cron is probably not what is meant.
	Warnings []warningsJSON `json:"warnings"`
}

type warningsJSON struct {
	Name     string   `json:"name"`
	Warnings []string `json:"warnings"`
}

type badJSON struct {
	Name   string     `json:"name"`
	Status string     `json:"status"`
	Errors []rowError `json:"errors"`
}

func (a *taskRoutes) reloadTasks(c *gin.Context, _ *httpapi.Query) (any, error) {
	// Whoever reloads has mostly edited by SQL a moment ago: the log need not wait for the leader to look.
	if _, err := a.store.NoteEdits(c.Request.Context(), 0); err != nil {
		return nil, err
	}
	// The other producers, the leader among them, reload too.
	if err := a.store.OrderReload(c.Request.Context(), httpapi.CallerOf(c).Name); err != nil {
		return nil, err
	}
	before := a.producer.Tasks()
	if err := a.producer.Reload(c.Request.Context()); err != nil {
		return nil, err
	}
	return compare(before, a.producer.Tasks()), nil
}

func compare(before, after []producer.Task) reloadJSON {
	result := reloadJSON{Added: []string{}, Changed: []string{}, Removed: []string{}, Bad: []badJSON{}, Warnings: []warningsJSON{}}
	gone := map[int64]task.Task{}
	for _, t := range before {
		if t.Usable {
			gone[t.ID] = t.Task
		}
	}
	for _, t := range after {
		if len(t.Errors) > 0 {
			d := describe(t, time.Time{})
			result.Bad = append(result.Bad, badJSON{Name: d.Name, Status: d.Status, Errors: d.Errors})
		}
		if !t.Usable {
			continue
		}
		if len(t.Warnings) > 0 {
			result.Warnings = append(result.Warnings, warningsJSON{Name: t.Name, Warnings: t.Warnings})
		}
		result.Tasks++
		old, known := gone[t.ID]
		delete(gone, t.ID)
		switch {
		case !known:
			result.Added = append(result.Added, t.Name)
		case !reflect.DeepEqual(old, t.Task):
			result.Changed = append(result.Changed, t.Name)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(gone)) {
		result.Removed = append(result.Removed, gone[id].Name)
	}
	slices.Sort(result.Added)
	slices.Sort(result.Changed)
	slices.Sort(result.Removed)
	slices.SortFunc(result.Warnings, func(x, y warningsJSON) int { return strings.Compare(x.Name, y.Name) })
	slices.SortFunc(result.Bad, func(x, y badJSON) int { return strings.Compare(x.Name, y.Name) })
	return result
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
