package api

import (
	"context"
	"time"

	"adsync/base/httpapi"
	"adsync/base/task"
)

// deadFilter is a choice of dead subtasks as callers write it, in a query or in a body; what is empty chooses all.
type deadFilter struct {
	Task    string
	Media   string
	Account string // the platform's id
	Run     string
	Print   string // an error print, whole
	Class   string
	Text    string // a piece of the error's text
	Since   time.Time
	Until   time.Time
}

// chooses reports whether the filter leaves anything out. When something died at the latest does not count: without it
// that is now.
func (f deadFilter) chooses() bool {
	f.Until = time.Time{}
	return f != deadFilter{}
}

// deadTasks finds tasks that were deleted and left dead subtasks.
type deadTasks interface {
	DeadTask(ctx context.Context, name string) (int64, error)
}

// deadFilters resolves the filters that callers write.
type deadFilters struct {
	deadTasks
	accounts accountFinder
	tasks    taskList
}

// resolve turns a caller's filter into the store's. What cannot be used is refused by the name of its field.
func (a deadFilters) resolve(ctx context.Context, f deadFilter) (task.DeadFilter, error) {
	var errs httpapi.Refusals
	out := task.DeadFilter{Media: f.Media, Print: f.Print, Class: f.Class, Text: f.Text, Since: f.Since, Until: f.Until}
	if f.Run != "" {
		var err error
		if out.RunID, err = httpapi.ParseID(f.Run); err != nil {
			errs.Refuse("run", "%q is refused: want the id of a run", f.Run)
		}
	}
	media := f.Media
	if f.Task != "" {
		id, of, err := a.deadTask(ctx, f.Task)
		if err != nil {
			return out, err
		}
		if id == 0 {
			errs.Refuse("task", "%q is no task that is known here, nor one of which subtasks are dead", f.Task)
		}
		out.TaskID = id
		if media == "" {
			media = of
		}
	}
	if f.Account != "" {
		account, known, err := a.accounts.named(ctx, media, f.Account)
		switch {
		case err != nil:
			return out, err
		case !known && media == "":
			errs.Refuse("account", "%q is no account that is known here, or one of several platforms: give media too, or %s",
				f.Account, a.accounts.example())
		case !known:
			errs.Refuse("account", "%q is no account of %s that is known here", f.Account, media)
		}
		out.AccountID = account.ID
	}
	return out, errs.Err()
}

// deadTask finds a task by name, also one that was deleted and left dead subtasks; 0 when there is none.
func (a deadFilters) deadTask(ctx context.Context, name string) (id int64, media string, err error) {
	if t, known := a.tasks.named(name); known {
		return t.ID, t.Media, nil
	}
	id, err = a.DeadTask(ctx, name)
	return id, "", err
}
