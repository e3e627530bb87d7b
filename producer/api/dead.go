package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/store"
	"adsync/base/task"
)

const (
	deadPerPage    = 50
	deadPerPageMax = 500
	// filterTextMax bounds what an order carries in its row.
	filterTextMax = 512
)

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

func deadFilterOf(q *query) deadFilter {
	get := q.values.Get
	return deadFilter{
		Task: get("task"), Media: get("media"), Account: get("account"), Run: get("run"), Print: get("print"),
		Class: get("class"), Text: get("text"), Since: get("since"), Until: get("until"),
	}
}

// resolve turns a caller's filter into the store's. What cannot be used is refused by the name of its field.
func (a *api) resolve(ctx context.Context, f deadFilter, refuse func(field, format string, args ...any)) (task.DeadFilter, error) {
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
		if *m.into, err = time.Parse(time.RFC3339Nano, m.text); err != nil || !isMoment(m.into.UnixMilli()) {
			refuse(m.field, "%q is refused: want a time such as 2026-11-21T10:30:00Z", m.text)
		}
	}
	if f.Run != "" {
		var err error
		if out.RunID, err = parseID(f.Run); err != nil {
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

func (a *api) resolveAccount(ctx context.Context, media, externalID string, out *task.DeadFilter, refuse func(field, format string, args ...any)) error {
	found, err := a.Store.NamedAccounts(ctx, media, []string{externalID})
	if err != nil {
		return err
	}
	account, known := found[externalID]
	switch {
	case !known && media == "":
		refuse("account", "%q is no account that is known here, or one of several platforms: give media too, or tencent/20000001", externalID)
	case !known:
		refuse("account", "%q is no account of %s that is known here", externalID, media)
	}
	out.AccountID = account.ID
	return nil
}

// deadTask finds a task by name, also one that was deleted and left dead subtasks; 0 when there is none.
func (a *api) deadTask(ctx context.Context, name string) (id int64, media string, err error) {
	for _, t := range a.Producer.Tasks() {
		if t.Name == name {
			return t.ID, t.Media, nil
		}
	}
	id, err = a.Store.DeadTask(ctx, name)
	return id, "", err
}

// deadJSON is one dead subtask.
type deadJSON struct {
	RunID      string    `json:"run_id"`
	AccountID  string    `json:"account_id"` // ours; "0" for work that belongs to no account
	Account    string    `json:"account,omitempty"`
	Part       string    `json:"part"`
	TaskID     string    `json:"task_id"`
	Task       string    `json:"task,omitempty"` // as its run was called
	Media      string    `json:"media"`
	Attempts   int       `json:"attempts"`
	ErrorClass string    `json:"error_class"`
	ErrorPrint string    `json:"error_print"`
	Error      string    `json:"error"`
	DeadAt     time.Time `json:"dead_at"`
	// RedriveRun is the run that is taking it up.
	RedriveRun string `json:"redrive_run_id,omitempty"`
	// Healed says that what it was to pull has been pulled whole since.
	Healed bool `json:"healed,omitempty"`
}

func (a *api) describeDead(ctx context.Context, rows []store.DeadSubtask) ([]deadJSON, error) {
	ids := make([]int64, 0, len(rows))
	for _, d := range rows {
		if d.AccountID != 0 {
			ids = append(ids, d.AccountID)
		}
	}
	accounts, err := a.Store.AccountsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	healed, err := a.Store.Healed(ctx, rows)
	if err != nil {
		return nil, err
	}
	all := make([]deadJSON, len(rows))
	for i, d := range rows {
		all[i] = deadJSON{
			RunID: formatID(d.RunID), AccountID: formatID(d.AccountID), Account: accounts[d.AccountID].ExternalID, Part: d.Part,
			TaskID: formatID(d.TaskID), Task: d.TaskName, Media: d.Media, Attempts: d.Attempt,
			ErrorClass: d.ErrorClass, ErrorPrint: d.ErrorPrint, Error: d.ErrorText, DeadAt: d.DeadAt, Healed: healed[d.Key],
		}
		if d.RedriveRun != 0 {
			all[i].RedriveRun = formatID(d.RedriveRun)
		}
	}
	return all, nil
}

// deadPage is the token of a page: where the one before ended.
type deadPage struct {
	At      int64  `json:"at"` // milliseconds
	Run     int64  `json:"run"`
	Account int64  `json:"account"`
	Part    string `json:"part"`
}

func deadPageAt(p store.DeadPlace) deadPage {
	return deadPage{At: p.At.UnixMilli(), Run: p.Key.RunID, Account: p.Key.AccountID, Part: p.Key.Part}
}

func (a *api) listDead(c *gin.Context) error {
	q, err := queryOf(c, append([]string{"after", "limit"}, deadParameters...)...)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	filter, err := a.resolve(ctx, deadFilterOf(q), q.refuse)
	if err != nil {
		return err
	}
	var place store.DeadPlace
	if p, ok := pageAfter(q, func(p deadPage) bool { return isMoment(p.At) }); ok {
		place = store.DeadPlace{At: time.UnixMilli(p.At), Key: task.Key{RunID: p.Run, AccountID: p.Account, Part: p.Part}}
	}
	limit := q.limit(deadPerPage, deadPerPageMax)
	if err := q.err(); err != nil {
		return err
	}
	rows, end, err := a.Store.ListDead(ctx, filter, place, limit+1) // One more tells whether there is a next page.
	if err != nil {
		return err
	}
	rows, next, err := pageOf(rows, limit, func(last store.DeadSubtask) deadPage {
		return deadPageAt(store.DeadPlace{At: last.DeadAt, Key: last.Key})
	})
	if err == nil && next == "" && !end.At.IsZero() {
		next, err = pageToken(deadPageAt(end)) // It has not looked at all of them.
	}
	if err != nil {
		return err
	}
	shown, err := a.describeDead(ctx, rows)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, gin.H{"dead": shown, "next": next})
	return nil
}

// deadGroupsJSON is the dead subtasks by error print.
type deadGroupsJSON struct {
	Total     int64           `json:"total"`     // dead subtasks that the filter chooses
	Redriving int64           `json:"redriving"` // of them, those that a run is taking up
	Stake     deadStakeJSON   `json:"stake"`     // of those that died last
	Groups    []deadGroupJSON `json:"groups"`
	More      bool            `json:"more"` // there are more groups, of fewer subtasks each
}

type deadGroupJSON struct {
	Print     string    `json:"print"`
	Count     int64     `json:"count"`
	Redriving int64     `json:"redriving"`
	Healed    int64     `json:"healed,omitempty"` // of those that the stake has looked at
	First     time.Time `json:"first_dead_at"`
	Last      time.Time `json:"last_dead_at"`
	Example   string    `json:"example"`
	Classes   []string  `json:"classes"`
	Tasks     []string  `json:"tasks"`
}

func (a *api) groupDead(c *gin.Context) error {
	q, err := queryOf(c, append([]string{"limit"}, deadParameters...)...)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	filter, err := a.resolve(ctx, deadFilterOf(q), q.refuse)
	if err != nil {
		return err
	}
	limit := q.limit(deadPerPage, deadPerPageMax)
	if err := q.err(); err != nil {
		return err
	}
	groups, total, err := a.Store.DeadGroups(ctx, filter, limit+1)
	if err != nil {
		return err
	}
	stake, healed, err := a.deadStake(ctx, filter)
	if err != nil {
		return err
	}
	answer := deadGroupsJSON{Stake: stake, Total: total.All, Redriving: total.Redriving, Groups: []deadGroupJSON{}}
	names := map[int64]string{}
	if len(groups) > limit {
		groups, answer.More = groups[:limit], true
	}
	for _, g := range groups {
		j := deadGroupJSON{
			Print: g.Print, Count: g.Count, Redriving: g.Redriving, Healed: healed[g.Print], First: g.First, Last: g.Last, Example: g.Example, Classes: g.Classes,
		}
		for _, id := range g.TaskIDs {
			if names[id] == "" {
				if names[id], err = a.nameOfTask(ctx, id); err != nil {
					return err
				}
			}
			j.Tasks = append(j.Tasks, names[id])
		}
		answer.Groups = append(answer.Groups, j)
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

// nameOfTask is the same of a task's id.
func (a *api) nameOfTask(ctx context.Context, id int64) (string, error) {
	n := store.DeadCount{TaskID: id}
	for _, t := range a.Producer.Tasks() {
		if t.ID == id {
			return t.Name, nil
		}
	}
	var err error
	n.TaskName, err = a.Store.DeadTaskName(ctx, id)
	return a.taskName(n), err
}

// taskName is what a task of dead subtasks is called: as it is now, else as its last run was, else by its id.
func (a *api) taskName(n store.DeadCount) string {
	for _, t := range a.Producer.Tasks() {
		if t.ID == n.TaskID {
			return t.Name
		}
	}
	if n.TaskName != "" {
		return n.TaskName
	}
	return "task " + formatID(n.TaskID)
}

// deadDetail is one dead subtask with all that is known of it.
type deadDetail struct {
	deadJSON
	Run    *runJSON        `json:"run,omitempty"`    // nothing when its row is gone
	Params json.RawMessage `json:"params,omitempty"` // that the run had
	Log    *subtaskLogJSON `json:"log,omitempty"`    // nothing when its day's log was dropped
}

type subtaskLogJSON struct {
	State     task.State `json:"state"`
	Delivery  int        `json:"delivery"` // how often it was sent
	Node      string     `json:"node"`     // who worked on it last
	CreatedAt time.Time  `json:"created_at"`
	StartedAt time.Time  `json:"started_at,omitzero"` // the last try
	EndedAt   time.Time  `json:"ended_at,omitzero"`
	Rows      int64      `json:"rows"`  // written by the last try
	Calls     int64      `json:"calls"` // of all tries
}

func (a *api) getDead(c *gin.Context) error {
	q, err := queryOf(c, "run", "account_id", "part")
	if err != nil {
		return err
	}
	var key task.Key
	if key.RunID, err = parseID(q.values.Get("run")); err != nil {
		q.refuse("run", "%q is refused: want the run_id of a dead subtask", q.values.Get("run"))
	}
	if err := a.subtaskAccount(c.Request.Context(), q, q.values.Get("account_id"), &key); err != nil {
		return err
	}
	if key.Part = q.values.Get("part"); key.Part == "" {
		q.refuse("part", "is missing: want the part of a dead subtask")
	}
	if err := q.err(); err != nil {
		return err
	}
	answer, err := a.detailDead(c.Request.Context(), key)
	if errors.Is(err, store.ErrNotFound) {
		return httpapi.NewProblem(http.StatusNotFound,
			"There is no such dead subtask: the list of dead subtasks has those that there are. One that was taken up again is in its new run.")
	}
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

func (a *api) detailDead(ctx context.Context, key task.Key) (*deadDetail, error) {
	row, err := a.Store.DeadSubtask(ctx, key)
	if err != nil {
		return nil, err
	}
	shown, err := a.describeDead(ctx, []store.DeadSubtask{row})
	if err != nil {
		return nil, err
	}
	d := &deadDetail{deadJSON: shown[0]}
	run, err := a.Store.Run(ctx, key.RunID)
	switch {
	case err == nil:
		j := describeRun(&run)
		d.Run, d.Params = &j, run.Settings.Params
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	log, err := a.Store.SubtaskLog(ctx, key)
	switch {
	case err == nil:
		d.Log = &subtaskLogJSON{
			State: log.State, Delivery: log.Delivery, Node: log.Node, CreatedAt: log.CreatedAt, StartedAt: log.StartedAt,
			EndedAt: log.EndedAt, Rows: log.Rows, Calls: log.Calls,
		}
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	return d, nil
}
