package api

import (
	"context"
	"time"

	"adsync/base/httpapi"
	"adsync/base/task"
)

// deadFilter chooses dead subtasks as callers write it, in a query or in a body. An empty field chooses all.
type deadFilter struct {
	Task    string
	Media   string
	Account string // the platform's id
	Run     string
	Print   string // an error print, whole
	Class   string
	Text    string // a part of the error's text
	Since   time.Time
	Until   time.Time
}

// chooses reports whether the filter excludes anything. Until does not count: without it the end is now.
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

// resolve turns a caller's filter into the store's. A refusal names the field that is wrong.
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
			errs.Refuse("task", "%q is not a known task, and no deleted task of this name has dead subtasks", f.Task)
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
			errs.Refuse("account", "%q is not a known account, or several platforms have it: give media too, or %s",
				f.Account, a.accounts.example())
		case !known:
			errs.Refuse("account", "%q is not a known account of %s", f.Account, media)
		}
		out.AccountID = account.ID
	}
	return out, errs.Err()
}

// deadTask finds a task by name, also one that was deleted and left dead subtasks; the id is 0 if there is none.
func (a deadFilters) deadTask(ctx context.Context, name string) (id int64, media string, err error) {
	if t, known := a.tasks.named(name); known {
		return t.ID, t.Media, nil
	}
	id, err = a.DeadTask(ctx, name)
	return id, "", err
}
