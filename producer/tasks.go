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

// Reload loads the tasks here and has the leader, if it is this producer, plan with them at once. The other producers
// follow within a few seconds of settings.OrderReload, or else at their next reload.
func (p *Producer) Reload(ctx context.Context) error {
	if err := p.tasks.Reload(ctx); err != nil {
		return err
	}
	p.Wake()
	return nil
}

// CheckTask tells what would be wrong with the row of an id if cron_task and lane held these rows: it is what loads
// them that judges.
func (p *Producer) CheckTask(ctx context.Context, id int64, rows []settings.TaskRow,
	lanes []settings.Lane) ([]*config.FieldError, error) {
	return p.tasks.Check(ctx, id, rows, lanes)
}
