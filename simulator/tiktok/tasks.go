package tiktok

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

const (
	taskFirst   = 7_400_000_000_000_000_001
	fileNameMax = 255
	addressLife = 3600 // for how many seconds the address of a file is valid
)

func taskRules(c *platform.Call) platform.TaskRules {
	return platform.TaskRules{FirstID: taskFirst, Polls: c.Assumed(taskPolls), Life: c.Assumed(taskLife)}
}

// task is an asynchronous report.
type task struct{ *platform.Task }

// createTask starts an asynchronous report of one account. Tasks have no names and are listed nowhere.
func (t *tiktok) createTask(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	if c.Query.Get("advertiser_ids") != "" {
		return wrong("advertiser_ids: this platform has tasks of one account only")
	}
	p.TextOf("output_format", "CSV_STRING", "CSV_DOWNLOAD")
	p.TextOf("enable_report_title_translation", "true", "false")
	if name := c.Query.Get("file_name"); len(name) > fileNameMax || strings.ContainsAny(name, "/\t\b@#$%^&*()[]") {
		return wrong("file_name: up to %d characters, none of them special", fileNameMax)
	}
	x := task{&platform.Task{Account: a.ID, App: c.App, Made: c.Now, Params: maps.Clone(c.Query)}}
	if _, err := x.query(c, a); err != nil || p.Failure != nil {
		return err
	}
	t.tasks.Add(c, x.Task, taskRules(c)) // which refuses names and numbers of tasks only
	t.answer(c, func(w *platform.Writer) { w.TextField("task_id", strconv.FormatInt(x.ID, 10)) })
	return nil
}

// query returns the query of a task's file, which has the figures of the moment at which the task was created.
func (x task) query(c *platform.Call, a *world.Account) (*query, *platform.Failure) {
	inner := &platform.Call{Sim: c.Sim, Platform: c.Platform, Spec: c.Spec, Query: x.Params, Now: x.Made, View: c.View,
		Endpoint: createEndpoint}
	inner.View.Now, inner.View.Scratch = x.Made, nil
	q := &query{c: inner, accounts: []world.Account{*a}, isTask: true, projects: map[int64]world.Project{}}
	p := &platform.Params{Call: inner, Code: codeParameter}
	if err := q.read(p); err != nil {
		return nil, err
	}
	return q, p.Failure
}

// find returns a task of an account. The caller holds the lock.
func (t *tiktok) find(c *platform.Call, a *world.Account, p *platform.Params) (task, *platform.Failure) {
	id := p.Whole("task_id")
	list := t.tasks.Of(a.ID, c.Now, taskRules(c))
	at := slices.IndexFunc(list, func(x *platform.Task) bool { return x.ID == id })
	switch {
	case p.Failure != nil:
		return task{}, p.Failure
	case at < 0:
		return task{}, refusal(c, codeTaskGone, "task %d does not exist", id)
	}
	return task{list[at]}, nil
}

// checkTask answers report/task/check. Each call lets the task advance.
func (t *tiktok) checkTask(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	t.tasks.Lock()
	defer t.tasks.Unlock()
	x, err := t.find(c, a, p)
	if err != nil {
		return err
	}
	state := x.Poll(taskRules(c))
	t.answer(c, func(w *platform.Writer) {
		w.TextField("status", [...]string{"QUEUING", "PROCESSING", "SUCCESS", "FAILED", "CANCELED"}[state])
		if state == platform.TaskFailed {
			w.TextField("message", "The report failed.")
		}
	})
	return nil
}

// cancelTask ends a task that is not done.
func (t *tiktok) cancelTask(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	t.tasks.Lock()
	defer t.tasks.Unlock()
	x, err := t.find(c, a, p)
	if err != nil {
		return err
	}
	if x.State(taskRules(c)) > platform.TaskRuns {
		return platform.Failf(codeTaskError, "task %d has ended", x.ID)
	}
	x.Ended = true
	t.answer(c, func(w *platform.Writer) { w.TextField("status", "CANCELED") })
	return nil
}

// download sends a task's file, which is no JSON, or its address.
func (t *tiktok) download(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	t.tasks.Lock()
	defer t.tasks.Unlock()
	x, err := t.find(c, a, p)
	if err != nil {
		return err
	}
	switch state := x.State(taskRules(c)); {
	case state < platform.TaskDone:
		return platform.Failf(codeTaskRuns, "task %d is not ready", x.ID)
	case state != platform.TaskDone:
		return platform.Failf(codeTaskError, "task %d has no file", x.ID)
	case x.Expires():
		return refusal(c, codeTaskGone, "the file of task %d has expired", x.ID)
	}
	if x.Params.Get("output_format") != "CSV_DOWNLOAD" {
		return x.send(c, a)
	}
	name := x.Params.Get("file_name")
	if name == "" {
		name = "report_" + strconv.FormatInt(x.ID, 10)
	}
	end := c.Now + addressLife
	base := "http://" + c.Request.Host + strings.TrimSuffix(c.Request.URL.Path, c.Path)
	t.answer(c, func(w *platform.Writer) {
		w.TextField("download_url", fmt.Sprintf("%s%s%s/?advertiser_id=%d&task_id=%d&expires=%d&key=%s", base, prefix,
			fileEndpoint, a.ID, x.ID, end, fileKey(c, x.ID, end)))
		w.TextField("file_name", name+".csv")
		w.TextField("output_format", "CSV_DOWNLOAD")
	})
	return nil
}

// fileKey returns what makes the address of a file secret.
func fileKey(c *platform.Call, id, end int64) string {
	return fmt.Sprintf("%016x", uint64(world.Key(c.Sim.World.Seed).Sub(1<<43).Sub(uint64(id)).Sub(uint64(end))))
}

// file sends the file of an address, which needs no token and ends after an hour.
func (t *tiktok) file(c *platform.Call, _ *world.Login, p *platform.Params) *platform.Failure {
	a, ok := c.Sim.World.LookupText(t.about, c.Query.Get("advertiser_id"))
	id, end := p.Whole("task_id"), p.Whole("expires")
	if !ok || p.Failure != nil || c.Query.Get("key") != fileKey(c, id, end) || c.Now >= end {
		c.Status = http.StatusForbidden
		return refusal(c, codeTaskGone, "the address has expired")
	}
	t.tasks.Lock()
	defer t.tasks.Unlock()
	x, err := t.find(c, &a, p)
	if err != nil {
		return err
	}
	return x.send(c, &a)
}

// send sends the file of a task.
func (x task) send(c *platform.Call, a *world.Account) *platform.Failure {
	q, err := x.query(c, a)
	if err != nil {
		return err
	}
	names := q.dimensionNames()
	for _, m := range q.metrics {
		names = append(names, m.name)
	}
	if x.Params.Get("enable_report_title_translation") != "false" {
		for i, name := range names {
			names[i] = title(name)
		}
	}
	lines := [][]string{names}
	// The rows are those of the moment of creation: a trap of the present call does not change them.
	view := q.c.View
	list := q.lines(view.Rows, false)
	for i := range list {
		row := list[i].dimensions()
		for _, m := range q.metrics {
			row = append(row, list[i].fileText(&m))
		}
		lines = append(lines, row)
	}
	c.MeetRows(&view)
	c.CountSilence(&q.silences[0])
	c.Header.Set("Content-Type", "text/csv")
	file := platform.Table(c.Assumed(fileMark) == 1, c.Assumed(fileReturn) == 1, lines)
	c.Body = append(c.Body[:0], x.Send(file)...)
	return nil
}

// fileText returns a value of a file.
func (x *line) fileText(m *metric) string {
	if m.of != nil {
		if text, left := platform.LeavesOutText(x.silence, *m.of, &x.Figures); left {
			return text
		}
	}
	return m.text(x)
}

// title returns the translated name of a column: words with capitals.
func title(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, " ")
}

// Tasks implements platform.Asynchronous.
func (t *tiktok) Tasks() *platform.Tasks { return &t.tasks }
