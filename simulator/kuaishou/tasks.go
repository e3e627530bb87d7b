package kuaishou

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

const (
	taskNameMax = 50
	taskIDsMax  = 10
	tasksADay   = 50
	taskSizeMax = 200
	taskFirst   = 1_230_001
)

func taskRules(c *platform.Call) platform.TaskRules {
	return platform.TaskRules{FirstID: taskFirst, Polls: c.Assumed(taskPolls), Life: c.Assumed(taskLife), ADay: tasksADay,
		ByApp: c.Assumed(tasksByApp) == 1}
}

// task is an asynchronous report.
type task struct{ *platform.Task }

// views are the levels of asynchronous reports (view_type). This world has no figures for those without a level.
var views = func() map[int64]*level {
	all := map[int64]*level{5: nil, 7: nil, 8: nil, 21: nil, 25: nil}
	for _, l := range levels {
		all[l.view] = l
	}
	return all
}()

// createTask starts an asynchronous report. Its name is the account's only one.
func (k *kuaishou) createTask(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	name := c.Query.Get("task_name")
	if n := utf8.RuneCountInString(name); n < 1 || n > taskNameMax {
		return wrong(c, "task_name has 1 to %d characters", taskNameMax)
	}
	given, err := taskParams(p)
	if err != nil {
		return err
	}
	t := task{&platform.Task{Name: name, Account: a.ID, App: c.App, Made: c.Now, Params: given}}
	if _, err := t.query(c, a); err != nil {
		return err
	}
	switch k.tasks.Add(c, t.Task, taskRules(c)) {
	case platform.TaskNameTaken:
		return c.Refusal(codeTaskName, "the account has a task with the name %q", name)
	case platform.TaskTooMany:
		return c.Refusal(codeTaskMany, "at most %d tasks a day", tasksADay)
	}
	w := begin(c)
	w.Open('{')
	w.NumberField("advertiser_id", a.ID)
	w.NumberField("task_id", t.ID)
	w.Close('}')
	k.end(c, &w)
	return nil
}

// taskParams reads the parameters of a report, which are an object.
func taskParams(p *platform.Params) (url.Values, *platform.Failure) {
	list, ok := p.Object("task_params")
	if !ok {
		return nil, wrong(p.Call, "task_params is an object")
	}
	// The documents call it a text here, and a list in real-time reports.
	if dims := list.Get("report_dims"); dims != "" && !strings.HasPrefix(dims, "[") {
		list.Set("report_dims", `["`+dims+`"]`)
	}
	return list, nil
}

// query returns the query of a task's file.
func (t task) query(c *platform.Call, a *world.Account) (*query, *platform.Failure) {
	// The parameters of the report are the call's here.
	inner := &platform.Call{Sim: c.Sim, Platform: c.Platform, Spec: c.Spec, Query: t.Params, Now: t.Made, View: c.View,
		Endpoint: c.Endpoint}
	inner.View.Now = t.Made
	p := params(inner)
	view := p.OneOf("view_type", append([]int64{0}, slices.Sorted(maps.Keys(views))...)...)
	if view == 0 {
		return nil, cmp.Or(p.Failure, wrong(c, "view_type is missing"))
	}
	l := views[view]
	q := newQuery(p, a, cmp.Or(l, &level{}))
	q.none = l == nil
	q.readShape()
	if err := cmp.Or(q.readDays(), t.checkDays(c, q), t.readConditions(q, view)); err != nil {
		return nil, err
	}
	return q, p.Failure
}

// checkDays refuses days that are too many or too old.
func (t task) checkDays(c *platform.Call, q *query) *platform.Failure {
	from, to := world.DayStart(q.scope.From), world.DayStart(q.scope.To)
	switch {
	case to < from:
		return wrong(c, "end_date is before start_date")
	case from < monthsBefore(t.Made):
		return wrong(c, "only the last %d months can be read", monthsKept)
	case from < monthsBefore(to):
		return wrong(c, "a task has at most %d months", monthsKept)
	}
	return nil
}

// readConditions reads the conditions of a task. Those on words and files belong to levels that have them.
func (t task) readConditions(q *query, view int64) *platform.Failure {
	for name, only := range map[string][]int64{
		"campaign_ids": nil, "unit_ids": nil, "creative_ids": nil, "virtual_creative_ids": nil,
		"photo_ids": {5, 7, 8}, "cover_ids": {5, 7, 8}, "word_info_ids": {21, 25}, "query": {21, 25},
		"selected_columns": {21, 25},
	} {
		given := q.params.Texts(name, reportIDsMax)
		if len(given) > 0 && only != nil && !slices.Contains(only, view) {
			return wrong(q.c, "%s is not for view_type %d", name, view)
		}
		if only == nil {
			key := strings.TrimPrefix(name, "virtual_")
			q.ids[key] = append(q.ids[key], q.params.Numbers(name, reportIDsMax)...)
		}
	}
	q.status = q.params.OneOf("status", 0, 1, 2, 3)
	return nil
}

// listTasks lists an account's tasks.
func (k *kuaishou) listTasks(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	ids, at := p.Numbers("task_ids", taskIDsMax), readPage(p, taskSizeMax)
	if p.Failure != nil {
		return p.Failure
	}
	k.tasks.Lock()
	defer k.tasks.Unlock()
	list := slices.DeleteFunc(k.tasks.Of(a.ID, c.Now, taskRules(c)), func(t *platform.Task) bool {
		return len(ids) > 0 && !slices.Contains(ids, t.ID)
	})
	writePage(k, c, at, list, func(w *platform.Writer, t **platform.Task) { task{*t}.write(c, w, a) })
	return nil
}

func (t task) write(c *platform.Call, w *platform.Writer, a *world.Account) {
	state := t.Poll(taskRules(c))
	if state == platform.TaskDone && t.Size == 0 {
		t.Size = int64(len(t.file(c, a)))
	}
	w.NumberField("advertiser_id", a.ID)
	w.NumberField("task_id", t.ID)
	w.TextField("task_name", t.Name)
	w.TextField("create_time", c.Moment(t.Made))
	w.NumberField("task_status", int64(state)) // 0 is new, 1 runs, 2 is done, 3 has failed
	w.NumberField("file_size", t.Size)
}

// download sends a task's file, which is no JSON.
func (k *kuaishou) download(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	id := p.Whole("task_id")
	if p.Failure != nil {
		return p.Failure
	}
	k.tasks.Lock()
	defer k.tasks.Unlock()
	list := k.tasks.Of(a.ID, c.Now, taskRules(c))
	at := slices.IndexFunc(list, func(t *platform.Task) bool { return t.ID == id })
	if at < 0 {
		return c.Refusal(codeTaskGone, "task %d is unknown or over", id)
	}
	t := task{list[at]}
	switch state := t.State(taskRules(c)); {
	case state != platform.TaskDone:
		return c.Refusal(codeTaskState, "task %d has no file: its state is %d", id, state)
	case t.Expires():
		return c.Refusal(codeTaskGone, "the file of task %d has expired", id)
	}
	c.Header.Set("Content-Type", "text/csv")
	c.Body = append(c.Body[:0], t.Send(t.file(c, a))...)
	return nil
}

// Tasks implements platform.Asynchronous.
func (k *kuaishou) Tasks() *platform.Tasks { return &k.tasks }
