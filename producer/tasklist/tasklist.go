package tasklist

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/schedule"
	"adsync/base/store/settings"
	"adsync/media"
)

// Bad is an invalid row.
type Bad struct {
	ID       int64
	Name     string
	Revision string
	Errors   []*config.FieldError
}

// RevisionNumber returns the row's revision, or 0 if that is not a number.
func (b Bad) RevisionNumber() int64 {
	n, _ := strconv.ParseInt(b.Revision, 10, 64)
	return n
}

// List is the result of one reload. It never changes.
type List struct {
	Version int // rises with each reload that changed anything
	Tasks   map[int64]*Task
	Bad     map[int64]Bad // rows that were valid before are in Tasks too, with their last valid value
	Good    map[int64]settings.TaskRow
	lanes   []settings.Lane
	// the last valid rows that leaders stored; read when a reload first needs them
	stored map[int64]settings.TaskRow
}

// Partitions returns how many partitions the topic of a lane should have; 0 = the broker's default.
func (l *List) Partitions(media, lane string) int {
	n := 0
	for _, row := range l.lanes {
		if row.Name == lane && (row.Media == media || (row.Media == settings.AnyMedia && n == 0)) {
			n = row.Partitions
		}
	}
	return n
}

// Lane returns the row of a lane: the media's own, or that for any media.
func (l *List) Lane(media, name string) settings.Lane {
	var found settings.Lane
	for _, row := range l.lanes {
		if row.Name == name && (row.Media == media || (row.Media == settings.AnyMedia && found.Media == "")) {
			found = row
		}
	}
	return found
}

// Store reads cron_task, lane, and the last valid rows.
type Store interface {
	TaskRows(ctx context.Context) ([]settings.TaskRow, error)
	Lanes(ctx context.Context) ([]settings.Lane, error)
	GoodTaskRows(ctx context.Context) (map[int64]settings.TaskRow, error)
}

// Set holds the tasks as last loaded.
type Set struct {
	store    Store
	registry *media.Registry
	logger   *slog.Logger
	enabled  prometheus.Gauge // how many tasks are enabled
	bad      prometheus.Gauge // how many rows are invalid

	reloading sync.Mutex
	mu        sync.Mutex // guards the fields below
	list      *List
	loadedAt  time.Time // by the process's clock
}

// NewSet makes a set without tasks; Reload fills it. The gauges count the enabled tasks and the invalid rows.
func NewSet(s Store, registry *media.Registry, logger *slog.Logger, enabled, bad prometheus.Gauge) *Set {
	return &Set{
		store: s, registry: registry, logger: logger, enabled: enabled, bad: bad,
		list: &List{Tasks: map[int64]*Task{}, Bad: map[int64]Bad{}},
	}
}

// Current returns the tasks as last loaded.
func (s *Set) Current() *List {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// Age returns how long ago the tasks were loaded.
func (s *Set) Age() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return clock.Since(s.loadedAt)
}

// Reload reads the tables again.
func (s *Set) Reload(ctx context.Context) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	lanes, err := s.store.Lanes(ctx)
	if err != nil {
		return fmt.Errorf("load tasks: %w", err)
	}
	rows, err := s.store.TaskRows(ctx)
	if err != nil {
		return fmt.Errorf("load tasks: %w", err)
	}
	old := s.Current()
	list, err := s.build(ctx, old, rows, lanes)
	if err != nil {
		return fmt.Errorf("load tasks: %w", err)
	}
	if s.compare(old, list) || old.Version == 0 || !reflect.DeepEqual(old.lanes, lanes) {
		list.Version++
	}
	enabled := 0
	for _, t := range list.Tasks {
		if t.Enabled {
			enabled++
		}
	}
	s.enabled.Set(float64(enabled))
	s.bad.Set(float64(len(list.Bad)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.loadedAt = list, clock.Mark()
	return nil
}

// Check returns the errors that a row would have if the tables held these rows.
func (s *Set) Check(ctx context.Context, id int64, rows []settings.TaskRow,
	lanes []settings.Lane) ([]*config.FieldError, error) {
	// This does not lock reloading, because the caller may hold a lock of the table that a reload waits for.
	list, err := s.build(ctx, s.Current(), rows, lanes)
	if err != nil {
		return nil, fmt.Errorf("check a task: %w", err)
	}
	return list.Bad[id].Errors, nil
}

// build makes a list from the tables' rows. The task of a row that has become invalid keeps its last valid value, and
// no row affects another.
func (s *Set) build(ctx context.Context, old *List, rows []settings.TaskRow, lanes []settings.Lane) (*List, error) {
	list := &List{Version: old.Version, Tasks: map[int64]*Task{}, Bad: map[int64]Bad{}, Good: map[int64]settings.TaskRow{},
		lanes: lanes}
	ids := make(map[string]int64, len(rows))
	for _, row := range rows {
		ids[row.Name] = row.ID
	}
	for _, row := range rows {
		t, errs := s.read(row, lanes, ids)
		if len(errs) > 0 {
			var err error
			if t, err = s.spoil(ctx, old, list, row, ids, errs); err != nil {
				return nil, err
			}
		} else {
			list.Good[row.ID] = row
		}
		if t != nil {
			list.Tasks[row.ID] = t
		}
	}
	return list, s.spoilCircles(ctx, old, list, rows, ids)
}

// read checks a row; ids holds the ids of the tasks by name.
func (s *Set) read(row settings.TaskRow, lanes []settings.Lane, ids map[string]int64) (*Task, []*config.FieldError) {
	t, errs := readTask(row, s.registry, lanes)
	if len(errs) > 0 {
		return nil, errs
	}
	for _, name := range t.After {
		id, known := ids[name]
		if !known {
			errs = append(errs, &config.FieldError{Key: "after_tasks", Value: row.After,
				Want: "names of tasks: there is none called " + name})
			return nil, errs
		}
		t.Predecessors = append(t.Predecessors, id)
	}
	return t, nil
}

// spoil records that a row is invalid. It returns the task that runs instead, if any: the last valid one of this
// process, otherwise the last one that a leader stored.
func (s *Set) spoil(ctx context.Context, old, list *List, row settings.TaskRow, ids map[string]int64,
	errs []*config.FieldError) (*Task, error) {
	list.Bad[row.ID] = Bad{ID: row.ID, Name: row.Name, Revision: row.Revision, Errors: errs}
	delete(list.Good, row.ID)
	if before := old.Tasks[row.ID]; before != nil {
		return lastGood(before, row), nil
	}
	if list.stored == nil {
		var err error
		if list.stored, err = s.store.GoodTaskRows(ctx); err != nil {
			return nil, err
		}
	}
	stored, known := list.stored[row.ID]
	if !known {
		return nil, nil
	}
	before, _ := s.read(stored, list.lanes, ids) // A program that refuses what another took has nothing to run.
	return lastGood(before, row), nil
}

// spoilCircles finds rows that wait for each other, and records those that have changed as invalid.
func (s *Set) spoilCircles(ctx context.Context, old, list *List, rows []settings.TaskRow, ids map[string]int64) error {
	circles := map[int64][]string{}
	for id := range list.Good {
		if circle := list.circle(id); circle != nil && !list.Tasks[id].equal(old.Tasks[id]) {
			circles[id] = circle
		}
	}
	for _, row := range rows {
		circle, found := circles[row.ID]
		if !found {
			continue
		}
		want := "tasks that do not wait for this one: " + strings.Join(circle, " after ")
		t, err := s.spoil(ctx, old, list, row, ids, []*config.FieldError{{Key: "after_tasks", Value: row.After, Want: want}})
		if err != nil {
			return err
		}
		if delete(list.Tasks, row.ID); t != nil {
			list.Tasks[row.ID] = t
		}
	}
	return nil
}

// circle returns the names of the tasks that wait for each other, from the given task back to itself, or nil.
func (l *List) circle(id int64) []string {
	seen := map[int64]bool{}
	var walk func(at int64) []string
	walk = func(at int64) []string {
		t := l.Tasks[at]
		if t == nil {
			return nil
		}
		for _, next := range t.Predecessors {
			if next == id {
				return []string{t.Name, l.Tasks[id].Name}
			}
			if seen[next] {
				continue
			}
			seen[next] = true
			if names := walk(next); names != nil {
				return append([]string{t.Name}, names...)
			}
		}
		return nil
	}
	return walk(id)
}

// lastGood returns the task of a row before it became invalid. A row that disables its task takes effect despite other
// errors.
func lastGood(before *Task, row settings.TaskRow) *Task {
	if before == nil || row.Enabled != "0" || !before.Enabled {
		return before
	}
	off := *before
	off.Enabled = false
	return &off
}

// compare logs differences once, and reports whether any task has changed.
func (s *Set) compare(old, list *List) (changed bool) {
	for _, id := range slices.Sorted(maps.Keys(list.Tasks)) {
		t := list.Tasks[id]
		before, known := old.Tasks[id]
		switch {
		case !known:
			changed = true
			s.logger.Info("task added", "task", t.Name, "cron", t.Cron, "timezone", t.Timezone, "enabled", t.Enabled)
		case !t.equal(before):
			changed = true
			s.logger.Info("task changed", "task", t.Name, "cron", t.Cron, "timezone", t.Timezone, "enabled", t.Enabled)
		}
	}
	for id, before := range old.Tasks {
		if _, there := list.Tasks[id]; !there {
			changed = true
			s.logger.Info("task removed", "task", before.Name)
		}
	}
	for id, t := range list.Tasks {
		if before := old.Tasks[id]; before != nil && before.Cron == t.Cron {
			continue
		}
		if warnings := schedule.Warnings(t.Cron); len(warnings) > 0 {
			s.logger.Warn("a task's cron is probably a mistake", "task", t.Name, "cron", t.Cron, "warnings", warnings)
		}
	}
	for id, bad := range list.Bad {
		if reflect.DeepEqual(old.Bad[id], bad) {
			continue
		}
		_, runs := list.Tasks[id]
		s.logger.Warn("a row of cron_task is invalid", "task", cmp.Or(bad.Name, fmt.Sprint("id ", id)), "runs_as_before",
			runs, "errors", bad.Errors)
	}
	for id, bad := range old.Bad {
		if _, still := list.Bad[id]; !still {
			s.logger.Info("a row of cron_task is valid again or deleted", "task", bad.Name)
		}
	}
	return changed
}
