package producer

import (
	"cmp"
	"context"
	"slices"

	"adsync/base/config"
	"adsync/base/schedule"
	"adsync/base/store/settings"
	"adsync/base/task"
)

// Task is a row of cron_task as a producer last loaded it.
type Task struct {
	// Task is the task that runs. For a row that was never valid it holds only the id and the name.
	task.Task
	// Errors lists all errors of the present row; empty if it is valid.
	Errors []*config.FieldError
	// Warnings lists what is probably unintended in the cron that runs.
	Warnings []string
	// RowRevision is the revision of the present row. If the row is valid, it is also Task's.
	RowRevision int64
	// Usable reports whether Task can run: the row is valid, or was valid before.
	Usable bool
}

// Tasks returns all rows of cron_task as this producer last loaded them, by id.
func (p *Producer) Tasks() []Task {
	list := p.tasks.Current()
	all := make([]Task, 0, len(list.Tasks)+len(list.Bad))
	for id, t := range list.Tasks {
		shown := Task{Task: t.Task, Warnings: schedule.Warnings(t.Cron), RowRevision: t.Revision, Usable: true}
		if bad, spoilt := list.Bad[id]; spoilt {
			shown.Errors, shown.RowRevision = bad.Errors, bad.RevisionNumber()
		}
		all = append(all, shown)
	}
	for id, bad := range list.Bad {
		if _, usable := list.Tasks[id]; !usable {
			all = append(all, Task{Task: task.Task{ID: id, Name: bad.Name}, Errors: bad.Errors,
				RowRevision: bad.RevisionNumber()})
		}
	}
	slices.SortFunc(all, func(a, b Task) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Reload loads the tasks in this process and, if it leads, plans with them at once. The other producers follow within a
// few seconds of settings.OrderReload, or at their next reload.
func (p *Producer) Reload(ctx context.Context) error {
	if err := p.tasks.Reload(ctx); err != nil {
		return err
	}
	p.Wake()
	return nil
}

// CheckTask returns the errors that the row of an id would have if cron_task and lane held these rows. It uses the same
// checks as a reload.
func (p *Producer) CheckTask(ctx context.Context, id int64, rows []settings.TaskRow,
	lanes []settings.Lane) ([]*config.FieldError, error) {
	return p.tasks.Check(ctx, id, rows, lanes)
}
