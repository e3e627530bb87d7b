package kuaishou

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

const (
	taskNameMax = 50
	taskIDsMax  = 10
	tasksADay   = 50
	taskSizeMax = 200
	taskFirst   = 1_230_000
)

// The states of a task.
const (
	taskNew = iota
	taskRuns
	taskDone
	taskFailed
)

// task is an asynchronous report. Its file has the figures of the moment of its creation.
type task struct {
	id      int64
	name    string
	account int64
	app     string
	made    int64
	params  url.Values
	fate    platform.TaskFate
	polls   int64 // how often a list has had it
	size    int64 // of its file in bytes; 0 until the file exists
	isGone  bool
}

// taskStore holds the tasks of all accounts, in order of their ids.
type taskStore struct {
	mu   sync.Mutex
	last int64
	list []*task
}

// state returns a task's state, which advances with each list that has it.
func (t *task) state(c *platform.Call) int64 {
	switch {
	case t.polls >= c.Assumed(taskPolls) && t.fate == platform.TaskFails:
		return taskFailed
	case t.polls >= c.Assumed(taskPolls):
		return taskDone
	}
	return min(t.polls, taskRuns)
}

// isOver reports whether a task is no longer kept.
func (t *task) isOver(c *platform.Call) bool { return t.isGone || c.Now >= t.made+c.Assumed(taskLife) }

// views are the levels of asynchronous reports (view_type). This world has no figures for those without a level.
var views = func() map[int64]*level {
	all := map[int64]*level{5: nil, 7: nil, 8: nil, 21: nil, 25: nil}
	for _, l := range levels {
		all[l.view] = l
	}
	return all
}()

// createTask starts an asynchronous report. Its name is the account's only one.
func (k *kuaishou) createTask(c *platform.Call, l *world.Login) *platform.Failure {
	a, err := k.account(c, l)
	if err != nil {
		return err
	}
	name := c.Query.Get("task_name")
	if n := utf8.RuneCountInString(name); n < 1 || n > taskNameMax {
		return wrong(c, "task_name has 1 to %d characters", taskNameMax)
	}
	params, err := taskParams(c)
	if err != nil {
		return err
	}
	t := &task{name: name, account: a.ID, app: c.App, made: c.Now, params: params}
	if _, err := t.query(c, a); err != nil {
		return err
	}
	if err := k.tasks.add(c, t); err != nil {
		return err
	}
	w := begin(c)
	w.Open('{')
	w.NumberField("advertiser_id", a.ID)
	w.NumberField("task_id", t.id)
	w.Close('}')
	k.end(c, &w)
	return nil
}

// add stores a new task and gives it its id.
func (s *taskStore) add(c *platform.Call, t *task) *platform.Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(x *task) bool {
		return x.isOver(c) && world.DayOf(x.made) != world.DayOf(c.Now)
	})
	today := 0
	for _, x := range s.list {
		if x.account == t.account && x.name == t.name {
			return refusal(c, codeTaskName, "the account has a task with the name %q", t.name)
		}
		isCounted := x.account == t.account || x.app == t.app && c.Assumed(tasksByApp) == 1
		if isCounted && world.DayOf(x.made) == world.DayOf(c.Now) {
			today++
		}
	}
	if today >= tasksADay {
		return refusal(c, codeTaskMany, "at most %d tasks a day", tasksADay)
	}
	s.last = max(s.last, taskFirst) + 1
	t.id, t.fate = s.last, c.Sim.Faults.Task(c)
	s.list = append(s.list, t)
	return nil
}

// taskParams reads the parameters of a report, which are an object.
func taskParams(c *platform.Call) (url.Values, *platform.Failure) {
	var given map[string]json.RawMessage
	if json.Unmarshal([]byte(c.Query.Get("task_params")), &given) != nil || given == nil {
		return nil, wrong(c, "task_params is an object")
	}
	params := url.Values{}
	for name, raw := range given {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		// The documents call it a text here, and a list in real-time reports.
		if name == "report_dims" && text != "" && !strings.HasPrefix(text, "[") {
			text = `["` + text + `"]`
		}
		params.Set(name, text)
	}
	return params, nil
}

// query returns the query of a task's file.
func (t *task) query(c *platform.Call, a world.Account) (*query, *platform.Failure) {
	// The parameters of the report are the call's here.
	inner := &platform.Call{Sim: c.Sim, Platform: c.Platform, Spec: c.Spec, Query: t.params, Now: t.made, View: c.View,
		Endpoint: c.Endpoint}
	inner.View.Now = t.made
	view, err := anyNumber(inner, "view_type")
	if err != nil {
		return nil, err
	}
	l, known := views[view]
	if !known {
		return nil, wrong(c, "view_type %d is unknown", view)
	}
	q := newQuery(inner, a, cmp.Or(l, &level{}))
	q.none = l == nil
	if err := q.readShape(); err != nil {
		return nil, err
	}
	if err := q.readDays(); err != nil {
		return nil, err
	}
	if err := t.checkDays(c, q); err != nil {
		return nil, err
	}
	return q, t.readConditions(inner, q, view)
}

// checkDays refuses days that are too many or too old.
func (t *task) checkDays(c *platform.Call, q *query) *platform.Failure {
	from, to := world.DayStart(q.scope.From), world.DayStart(q.scope.To)
	switch {
	case to < from:
		return wrong(c, "end_date is before start_date")
	case from < monthsBefore(t.made):
		return wrong(c, "only the last %d months can be read", monthsKept)
	case from < monthsBefore(to):
		return wrong(c, "a task has at most %d months", monthsKept)
	}
	return nil
}

// readConditions reads the conditions of a task. Those on words and files belong to levels that have them.
func (t *task) readConditions(c *platform.Call, q *query, view int64) *platform.Failure {
	for name, only := range map[string][]int64{
		"campaign_ids": nil, "unit_ids": nil, "creative_ids": nil, "virtual_creative_ids": nil,
		"photo_ids": {5, 7, 8}, "cover_ids": {5, 7, 8}, "word_info_ids": {21, 25},
	} {
		ids, err := numbers(c, name, reportIDsMax)
		if err != nil {
			return err
		}
		if len(ids) > 0 && only != nil && !slices.Contains(only, view) {
			return wrong(c, "%s is not for view_type %d", name, view)
		}
		if name == "virtual_creative_ids" {
			name = "creative_ids"
		}
		q.ids[name] = append(q.ids[name], ids...)
	}
	for _, name := range []string{"query", "selected_columns"} {
		if c.Query.Has(name) && view != 21 && view != 25 {
			return wrong(c, "%s is not for view_type %d", name, view)
		}
	}
	status, err := number(c, "status", 0, 1, 2, 3)
	q.status = status
	return err
}

// listTasks lists an account's tasks.
func (k *kuaishou) listTasks(c *platform.Call, l *world.Login) *platform.Failure {
	a, err := k.account(c, l)
	if err != nil {
		return err
	}
	ids, err := numbers(c, "task_ids", taskIDsMax)
	if err != nil {
		return err
	}
	p, err := readPage(c, taskSizeMax)
	if err != nil {
		return err
	}
	k.tasks.mu.Lock()
	defer k.tasks.mu.Unlock()
	var list []*task
	for _, t := range k.tasks.list {
		if t.account == a.ID && !t.isOver(c) && (len(ids) == 0 || slices.Contains(ids, t.id)) {
			list = append(list, t)
		}
	}
	writePage(k, c, p, list, func(w *platform.Writer, at **task) { (*at).write(c, w, a) })
	return nil
}

func (t *task) write(c *platform.Call, w *platform.Writer, a world.Account) {
	state := t.state(c)
	t.polls++
	if state == taskDone && t.size == 0 {
		t.size = int64(len(t.file(c, a)))
	}
	w.NumberField("advertiser_id", a.ID)
	w.NumberField("task_id", t.id)
	w.TextField("task_name", t.name)
	w.TextField("create_time", moment(c, t.made))
	w.NumberField("task_status", state)
	w.NumberField("file_size", t.size)
}

// download sends a task's file, which is no JSON.
func (k *kuaishou) download(c *platform.Call, l *world.Login) *platform.Failure {
	a, err := k.account(c, l)
	if err != nil {
		return err
	}
	id, err := anyNumber(c, "task_id")
	if err != nil {
		return err
	}
	k.tasks.mu.Lock()
	defer k.tasks.mu.Unlock()
	at := slices.IndexFunc(k.tasks.list, func(t *task) bool { return t.id == id && t.account == a.ID })
	if at < 0 || k.tasks.list[at].isOver(c) {
		return refusal(c, codeTaskGone, "task %d is unknown or over", id)
	}
	t := k.tasks.list[at]
	switch state := t.state(c); {
	case state != taskDone:
		return refusal(c, codeTaskState, "task %d has no file: its state is %d", id, state)
	case t.fate == platform.TaskExpires:
		t.isGone = true
		return refusal(c, codeTaskGone, "the file of task %d has expired", id)
	}
	c.Header.Set("Content-Type", "text/csv")
	c.Body = append(c.Body[:0], t.file(c, a)...)
	return nil
}
