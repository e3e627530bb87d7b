package producer

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

	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/schedule"
	"adsync/base/store"
	"adsync/base/task"
	"adsync/media"
)

// badTask is a row that cannot be used as it is.
type badTask struct {
	ID       int64
	Name     string
	Revision string
	Errors   []*config.FieldError
}

// revision is 0 where the row has none that is a number.
func (b badTask) revision() int64 {
	n, _ := strconv.ParseInt(b.Revision, 10, 64)
	return n
}

// taskList is what one reload found. It is never changed afterwards.
type taskList struct {
	version int // rises with each reload that changed anything
	tasks   map[int64]*loadedTask
	bad     map[int64]badTask // those that were good before are in tasks too, as they were
	good    map[int64]store.TaskRow
	lanes   []store.Lane
	stored  map[int64]store.TaskRow // while it is built: the last good rows that leaders kept; nil until they are needed
}

// partitions is how many partitions the topic of a lane is to have; 0 = as the broker is configured.
func (l *taskList) partitions(media, lane string) int {
	n := 0
	for _, row := range l.lanes {
		if row.Name == lane && (row.Media == media || (row.Media == store.AnyMedia && n == 0)) {
			n = row.Partitions
		}
	}
	return n
}

// Task is a row of cron_task as a producer last loaded it.
type Task struct {
	// Task is what runs. Of a row that cannot be used and never could, it is only the id and the name.
	task.Task
	// Errors is all that is wrong with the row as it stands, or empty.
	Errors []*config.FieldError
	// Warnings name what is probably not meant by the cron that runs.
	Warnings []string
	// RowRevision is that of the row as it stands; of a good one also that of Task.
	RowRevision int64
	// Usable tells whether Task can run: the row is good, or was good before.
	Usable bool
}

// Tasks returns all rows of cron_task as this producer last loaded them, by id.
func (p *Producer) Tasks() []Task {
	list := p.tasks.current()
	all := make([]Task, 0, len(list.tasks)+len(list.bad))
	for id, t := range list.tasks {
		shown := Task{Task: t.Task, Warnings: schedule.Warnings(t.Cron), RowRevision: t.Revision, Usable: true}
		if bad, spoilt := list.bad[id]; spoilt {
			shown.Errors, shown.RowRevision = bad.Errors, bad.revision()
		}
		all = append(all, shown)
	}
	for id, bad := range list.bad {
		if _, usable := list.tasks[id]; !usable {
			all = append(all, Task{Task: task.Task{ID: id, Name: bad.Name}, Errors: bad.Errors, RowRevision: bad.revision()})
		}
	}
	slices.SortFunc(all, func(a, b Task) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Reload loads the tasks here and has the leader, if it is this producer, plan with them at once. The other producers
// follow within a few seconds of store.OrderReload, or else at their next reload.
func (p *Producer) Reload(ctx context.Context) error {
	if err := p.tasks.reload(ctx); err != nil {
		return err
	}
	p.Wake()
	return nil
}

// CheckTask tells what would be wrong with the row of an id if cron_task and lane held these rows: it is what loads them that
// judges.
func (p *Producer) CheckTask(ctx context.Context, id int64, rows []store.TaskRow, lanes []store.Lane) ([]*config.FieldError, error) {
	return p.tasks.check(ctx, id, rows, lanes)
}

// taskStore is cron_task and lane, and the rows that could be used last.
type taskStore interface {
	TaskRows(ctx context.Context) ([]store.TaskRow, error)
	Lanes(ctx context.Context) ([]store.Lane, error)
	GoodTaskRows(ctx context.Context) (map[int64]store.TaskRow, error)
}

// taskSet holds the tasks as the table last had them.
type taskSet struct {
	store    taskStore
	registry *media.Registry
	logger   *slog.Logger
	metrics  *metrics

	reloading sync.Mutex
	mu        sync.Mutex // guards what is below
	list      *taskList
	loadedAt  time.Time // a reading of the process's clock
}

func newTaskSet(s taskStore, registry *media.Registry, logger *slog.Logger, m *metrics) *taskSet {
	return &taskSet{
		store: s, registry: registry, logger: logger, metrics: m,
		list: &taskList{tasks: map[int64]*loadedTask{}, bad: map[int64]badTask{}},
	}
}

// current returns the tasks as last loaded.
func (s *taskSet) current() *taskList {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// age is how long ago the tasks were loaded.
func (s *taskSet) age() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return clock.Since(s.loadedAt)
}

// reload reads the tables again.
func (s *taskSet) reload(ctx context.Context) error {
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
	old := s.current()
	list, err := s.build(ctx, old, rows, lanes)
	if err != nil {
		return fmt.Errorf("load tasks: %w", err)
	}
	if s.compare(old, list) || old.version == 0 || !reflect.DeepEqual(old.lanes, lanes) {
		list.version++
	}
	enabled := 0
	for _, t := range list.tasks {
		if t.Enabled {
			enabled++
		}
	}
	s.metrics.tasks.Set(float64(enabled))
	s.metrics.badTasks.Set(float64(len(list.bad)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.loadedAt = list, clock.Mark()
	return nil
}

// check tells what would be wrong with a row if the tables were these.
func (s *taskSet) check(ctx context.Context, id int64, rows []store.TaskRow, lanes []store.Lane) ([]*config.FieldError, error) {
	// Not under reloading: who asks may hold the table that a reload waits for.
	list, err := s.build(ctx, s.current(), rows, lanes)
	if err != nil {
		return nil, fmt.Errorf("check a task: %w", err)
	}
	return list.bad[id].Errors, nil
}

// build makes the list of what the tables hold. A row that has become bad keeps its last good value; no row harms another.
func (s *taskSet) build(ctx context.Context, old *taskList, rows []store.TaskRow, lanes []store.Lane) (*taskList, error) {
	list := &taskList{version: old.version, tasks: map[int64]*loadedTask{}, bad: map[int64]badTask{}, good: map[int64]store.TaskRow{}, lanes: lanes}
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
			list.good[row.ID] = row
		}
		if t != nil {
			list.tasks[row.ID] = t
		}
	}
	return list, s.spoilCircles(ctx, old, list, rows, ids)
}

// read checks a row; ids has the tasks by their names.
func (s *taskSet) read(row store.TaskRow, lanes []store.Lane, ids map[string]int64) (*loadedTask, []*config.FieldError) {
	t, errs := readTask(row, s.registry, lanes)
	if len(errs) > 0 {
		return nil, errs
	}
	for _, name := range t.After {
		id, known := ids[name]
		if !known {
			errs = append(errs, &config.FieldError{Key: "after_tasks", Value: row.After, Want: "names of tasks: there is none called " + name})
			return nil, errs
		}
		t.after = append(t.after, id)
	}
	return t, nil
}

// spoil notes that a row cannot be used, and returns what runs instead, if anything: what it was when this process last
// could use it, or else when any leader could.
func (s *taskSet) spoil(ctx context.Context, old, list *taskList, row store.TaskRow, ids map[string]int64, errs []*config.FieldError) (*loadedTask, error) {
	list.bad[row.ID] = badTask{ID: row.ID, Name: row.Name, Revision: row.Revision, Errors: errs}
	delete(list.good, row.ID)
	if before := old.tasks[row.ID]; before != nil {
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

// spoilCircles finds rows that wait for each other. Those are at fault that are not what they were before.
func (s *taskSet) spoilCircles(ctx context.Context, old, list *taskList, rows []store.TaskRow, ids map[string]int64) error {
	circles := map[int64][]string{}
	for id := range list.good {
		if circle := list.circle(id); circle != nil && !list.tasks[id].equal(old.tasks[id]) {
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
		if delete(list.tasks, row.ID); t != nil {
			list.tasks[row.ID] = t
		}
	}
	return nil
}

// circle returns the names of tasks that wait for each other, from the given one to itself again, or nil.
func (l *taskList) circle(id int64) []string {
	seen := map[int64]bool{}
	var walk func(at int64) []string
	walk = func(at int64) []string {
		t := l.tasks[at]
		if t == nil {
			return nil
		}
		for _, next := range t.after {
			if next == id {
				return []string{t.Name, l.tasks[id].Name}
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

// lastGood returns what a row was before it became bad. Switching a task off works whatever else is wrong with it.
func lastGood(before *loadedTask, row store.TaskRow) *loadedTask {
	if before == nil || row.Enabled != "0" || !before.Enabled {
		return before
	}
	off := *before
	off.Enabled = false
	return &off
}

// compare logs what is new, once, and tells whether any task is another now.
func (s *taskSet) compare(old, list *taskList) (changed bool) {
	for _, id := range slices.Sorted(maps.Keys(list.tasks)) {
		t := list.tasks[id]
		before, known := old.tasks[id]
		switch {
		case !known:
			changed = true
			s.logger.Info("task added", "task", t.Name, "cron", t.Cron, "timezone", t.Timezone, "enabled", t.Enabled)
		case !t.equal(before):
			changed = true
			s.logger.Info("task changed", "task", t.Name, "cron", t.Cron, "timezone", t.Timezone, "enabled", t.Enabled)
		}
	}
	for id, before := range old.tasks {
		if _, there := list.tasks[id]; !there {
			changed = true
			s.logger.Info("task removed", "task", before.Name)
		}
	}
	for id, t := range list.tasks {
		if before := old.tasks[id]; before != nil && before.Cron == t.Cron {
			continue
		}
		if warnings := schedule.Warnings(t.Cron); len(warnings) > 0 {
			s.logger.Warn("a task's cron is probably not what is meant", "task", t.Name, "cron", t.Cron, "warnings", warnings)
		}
	}
	for id, bad := range list.bad {
		if reflect.DeepEqual(old.bad[id], bad) {
			continue
		}
		_, runs := list.tasks[id]
		s.logger.Warn("a row of cron_task cannot be used", "task", cmp.Or(bad.Name, fmt.Sprint("id ", id)), "runs_as_before", runs, "errors", bad.Errors)
	}
	for id, bad := range old.bad {
		if _, still := list.bad[id]; !still {
			s.logger.Info("a bad row of cron_task is gone or good again", "task", bad.Name)
		}
	}
	return changed
}
