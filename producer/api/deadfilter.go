package api

import (
	"context"
	"time"
	"unicode/utf8"

	"adsync/base/httpapi"
	"adsync/base/task"
)

// filterTextMax bounds what an order carries in its row.
const filterTextMax = 512

// deadFilter is a choice of dead subtasks as callers write it, in a query or in a body; what is empty chooses all.
type deadFilter struct {
	Task    string `json:"task,omitempty"`
	Media   string `json:"media,omitempty"`
	Account string `json:"account,omitempty"` // the platform's id
	Run     string `json:"run,omitempty"`
	Print   string `json:"print,omitempty"` // an error print, whole
	Class   string `json:"class,omitempty"`
	Text    string `json:"text,omitempty"`  // a piece of the error's text
	Since   string `json:"since,omitempty"` // RFC 3339
	Until   string `json:"until,omitempty"`
}

var deadParameters = []string{"task", "media", "account", "run", "print", "class", "text", "since", "until"}

// chooses tells whether the filter leaves anything out. When something died at the latest does not count: without it that
// is now.
func (f deadFilter) chooses() bool {
	f.Until = ""
	return f != deadFilter{}
}

func deadFilterOf(q *httpapi.Query) deadFilter {
	get := q.Get
	return deadFilter{
		Task: get("task"), Media: get("media"), Account: get("account"), Run: get("run"), Print: get("print"),
		Class: get("class"), Text: get("text"), Since: get("since"), Until: get("until"),
	}
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
func (a deadFilters) resolve(ctx context.Context, f deadFilter, refuse func(field, format string, args ...any)) (task.DeadFilter, error) {
	out := task.DeadFilter{Media: f.Media, Print: f.Print, Class: f.Class, Text: f.Text}
	for _, text := range [][2]string{
		{"task", f.Task}, {"media", f.Media}, {"account", f.Account}, {"print", f.Print}, {"class", f.Class}, {"text", f.Text},
	} {
		if utf8.RuneCountInString(text[1]) > filterTextMax {
			refuse(text[0], "is too long: want up to %d characters", filterTextMax)
			return out, nil
		}
	}
	for _, m := range []struct {
		field, text string
		into        *time.Time
	}{{"since", f.Since, &out.Since}, {"until", f.Until, &out.Until}} {
		var err error
		if m.text == "" {
			continue
		}
		if *m.into, err = time.Parse(time.RFC3339Nano, m.text); err != nil || !httpapi.IsMoment(m.into.UnixMilli()) {
			refuse(m.field, "%q is refused: want a time such as 2026-11-21T10:30:00Z", m.text)
		}
	}
	if f.Run != "" {
		var err error
		if out.RunID, err = httpapi.ParseID(f.Run); err != nil {
			refuse("run", "%q is refused: want the id of a run", f.Run)
		}
	}
	media := f.Media
	if f.Task != "" {
		id, of, err := a.deadTask(ctx, f.Task)
		if err != nil {
			return out, err
		}
		if id == 0 {
			refuse("task", "%q is no task that is known here, nor one of which subtasks are dead", f.Task)
		}
		out.TaskID = id
		if media == "" {
			media = of
		}
	}
	if f.Account != "" {
		return out, a.resolveAccount(ctx, media, f.Account, &out, refuse)
	}
	return out, nil
}

func (a deadFilters) resolveAccount(ctx context.Context, media, externalID string, out *task.DeadFilter, refuse func(field, format string, args ...any)) error {
	account, known, err := a.accounts.named(ctx, media, externalID)
	switch {
	case err != nil:
		return err
	case !known && media == "":
		refuse("account", "%q is no account that is known here, or one of several platforms: give media too, or %s", externalID, a.accounts.example())
	case !known:
		refuse("account", "%q is no account of %s that is known here", externalID, media)
	}
	out.AccountID = account.ID
	return nil
}

// deadTask finds a task by name, also one that was deleted and left dead subtasks; 0 when there is none.
func (a deadFilters) deadTask(ctx context.Context, name string) (id int64, media string, err error) {
	if t, known := a.tasks.named(name); known {
		return t.ID, t.Media, nil
	}
	id, err = a.DeadTask(ctx, name)
	return id, "", err
}
