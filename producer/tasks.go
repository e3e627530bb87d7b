package producer

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"adsync/base/config"
	"adsync/base/store"
	"adsync/base/task"
	"adsync/media"

	"adsync/base/clock"
)

// badTask is a row that cannot be used as it is.
type badTask struct {
	ID     int64
	Name   string
	Errors []*config.FieldError
}

// taskList is what one reload found. It is never changed afterwards.
type taskList struct {
	version int // rises with each reload that changed anything
	tasks   map[int64]*loadedTask
	bad     map[int64]badTask // those that were good before are in tasks too, as they were
	lanes   []store.Lane
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
	// Task is what runs. Of a row that cannot be used and was never good since the process began, it is only the id and
	// the name.
	task.Task
	// Errors is all that is wrong with the row as it stands, or empty.
	Errors []*config.FieldError
	// Usable tells whether Task can run: the row is good, or was good before.
	Usable bool
}

// Tasks returns all rows of cron_task as this producer last loaded them, by id.
func (p *Producer) Tasks() []Task {
	list := p.tasks.current()
	all := make([]Task, 0, len(list.tasks)+len(list.bad))
	for id, t := range list.tasks {
		all = append(all, Task{Task: t.Task, Errors: list.bad[id].Errors, Usable: true})
	}
	for id, bad := range list.bad {
		if _, usable := list.tasks[id]; !usable {
			all = append(all, Task{Task: task.Task{ID: id, Name: bad.Name}, Errors: bad.Errors})
		}
	}
	slices.SortFunc(all, func(a, b Task) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Reload loads the tasks here and has the leader, if it is this producer, plan with them at once. The other producers
// follow within a few seconds of an entry for store.AuditTasks in the audit log, or else at their next reload.
func (p *Producer) Reload(ctx context.Context) error {
	if err := p.tasks.reload(ctx); err != nil {
		return err
	}
	p.Wake()
	return nil
}

// taskSet holds the tasks as the table last had them.
type taskSet struct {
	store    *store.Store
	registry *media.Registry
	logger   *slog.Logger
	metrics  *metrics

	reloading sync.Mutex
	mu        sync.Mutex // guards what is below
	list      *taskList
	loadedAt  time.Time // a reading of the process's clock
}

func newTaskSet(s *store.Store, registry *media.Registry, logger *slog.Logger, m *metrics) *taskSet {
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

// reload reads the tables again. A row that has become bad keeps its last good value; no row harms another.
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
	list := &taskList{version: old.version, tasks: map[int64]*loadedTask{}, bad: map[int64]badTask{}, lanes: lanes}
	for _, row := range rows {
		t, errs := readTask(row, s.registry, lanes)
		if len(errs) > 0 {
			list.bad[row.ID] = badTask{ID: row.ID, Name: row.Name, Errors: errs}
			t = lastGood(old.tasks[row.ID], row)
		}
		if t != nil {
			list.tasks[row.ID] = t
		}
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
		case !reflect.DeepEqual(before.Task, t.Task):
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
