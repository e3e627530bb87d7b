package baidu

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// taskFirst is the number of the first task.
const taskFirst = 700_001

func taskRules(c *platform.Call) platform.TaskRules {
	return platform.TaskRules{FirstID: taskFirst, Polls: c.Assumed(taskPolls), Life: taskLife}
}

// owner returns whose a task is: an account's or a manager's.
func (by caller) owner(c *platform.Call) int64 {
	if by.account != nil {
		return by.account.ID
	}
	id, _ := master(c.Sim.World, by.login)
	return id
}

// createTask starts an asynchronous report, which has no pages. Its accounts are all reached: there is no known answer
// for a part of them.
func (b *baidu) createTask(c *platform.Call, by caller, p *platform.Params) *platform.Failure {
	q := newQuery(c, by, p)
	if q == nil {
		return nil
	}
	if len(q.problems) > 0 {
		return q.problems[0].Failure
	}
	t := &platform.Task{Account: by.owner(c), App: c.App, Made: c.Now}
	b.tasks.Add(c, t, taskRules(c)) // tasks without names and without a limit are all created
	b.keep(c, t, q)
	asObject := c.Assumed(dataObject) == 1 || c.Sim.Faults.Takes(c, platform.FormOther)
	w := b.begin(c, statusGood)
	openData(&w, asObject)
	w.Open('{')
	w.TextField("taskId", strconv.FormatInt(t.ID, 10))
	w.Close('}')
	closeData(&w, asObject)
	b.end(c, &w)
	return nil
}

// taskStatus answers the state of a task. The address of its file is new in each answer.
func (b *baidu) taskStatus(c *platform.Call, by caller, _ *platform.Params) *platform.Failure {
	b.tasks.Lock()
	defer b.tasks.Unlock()
	t := b.find(c, by.owner(c))
	if t == nil {
		return c.Refusal(codeTask, "taskId is unknown or over")
	}
	state := t.Poll(taskRules(c))
	started, finished, address := "", "", ""
	if state != platform.TaskNew {
		started = c.Moment(t.Made)
	}
	if state == platform.TaskDone {
		finished, address = c.Moment(c.Now), fileURL(c, t, c.Now+fileLife)
	}
	w := b.begin(c, statusGood)
	w.Open('[')
	w.Open('{')
	w.TextField("taskStatus", [...]string{"SUBMITTED", "RUNNING", "SUCCESS", "FAIL"}[state])
	w.TextField("submitTime", c.Moment(t.Made))
	w.TextField("startTime", started)
	w.TextField("finishTime", finished)
	w.TextField("fileUrl", address)
	w.NumberField("dataStartRow", c.Assumed(fileFirstRow)+c.Assumed(fileHead)+1)
	w.OpenArray("tableHeader")
	for _, name := range b.queries[t.ID].header() {
		w.Text(name)
	}
	w.Close(']')
	w.Close('}')
	w.Close(']')
	b.end(c, &w)
	return nil
}

// find returns a caller's task that is still kept. The caller holds the lock.
func (b *baidu) find(c *platform.Call, owner int64) *platform.Task {
	list := b.tasks.Of(owner, c.Now, taskRules(c))
	at := slices.IndexFunc(list, func(t *platform.Task) bool {
		return strconv.FormatInt(t.ID, 10) == c.Query.Get("taskId")
	})
	if at < 0 {
		return nil
	}
	return list[at]
}

// fileURL returns the address of a task's file, with its end and a signature: the file is sent without credentials.
func fileURL(c *platform.Call, t *platform.Task, until int64) string {
	query := url.Values{"taskId": {strconv.FormatInt(t.ID, 10)}, "owner": {strconv.FormatInt(t.Account, 10)},
		"until": {strconv.FormatInt(until, 10)}, "sign": {fileSign(c, t.ID, until)}}
	scheme := "http"
	if c.Request.TLS != nil {
		scheme = "https"
	}
	prefix := strings.TrimSuffix(c.Request.URL.Path, c.Path)
	return scheme + "://" + c.Request.Host + prefix + "/" + taskFile + "?" + query.Encode()
}

func fileSign(c *platform.Call, task, until int64) string {
	return fmt.Sprintf("%016x", uint64(world.Key(c.Sim.World.Seed).Sub(uint64(task)).Sub(uint64(until))))
}

// download sends a task's file, which is no JSON. A wrong or old address is HTTP 403.
func (b *baidu) download(c *platform.Call) {
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(c.Query.Get(name), 10, 64)
		return n
	}
	until, task := number("until"), number("taskId")
	b.tasks.Lock()
	defer b.tasks.Unlock()
	t := b.find(c, number("owner"))
	if t == nil || c.Query.Get("sign") != fileSign(c, task, until) || c.Now >= until || t.Expires() {
		c.Status, c.Code = http.StatusForbidden, http.StatusForbidden
		c.Header.Set("Content-Type", "application/xml")
		c.Body = append(c.Body[:0], "<Error><Code>AccessDenied</Code></Error>\n"...)
		return
	}
	c.App, c.Account = t.App, c.Query.Get("owner")
	c.Header.Set("Content-Type", "text/csv")
	c.Body = append(c.Body[:0], t.Send(b.file(c, t))...)
}

// keep stores the query of a task, at the moment of its creation, and drops those of tasks that are over.
func (b *baidu) keep(c *platform.Call, t *platform.Task, q *query) {
	q.c = &platform.Call{Sim: c.Sim, Platform: c.Platform, Spec: c.Spec, Query: maps.Clone(c.Query), Now: c.Now,
		View: c.View, Endpoint: c.Endpoint}
	q.c.View.Scratch = nil
	b.tasks.Lock()
	defer b.tasks.Unlock()
	maps.DeleteFunc(b.queries, func(_ int64, old *query) bool { return c.Now >= old.c.Now+taskLife })
	b.queries[t.ID] = q
}

func (q *query) header() []string {
	names := make([]string, len(q.columns))
	for i, x := range q.columns {
		names[i] = x.name
	}
	return names
}

// file returns the file of a task: a table after some lines of its own. The rows are those of the moment of creation.
func (b *baidu) file(c *platform.Call, t *platform.Task) []byte {
	q := b.queries[t.ID]
	var lines [][]string
	for range c.Assumed(fileHead) {
		lines = append(lines, []string{"报告", q.c.Query.Get("startDate"), q.c.Query.Get("endDate")})
	}
	lines = append(lines, q.header())
	view := q.c.View
	rows := q.rows(view.Rows)
	for i := range rows {
		line := make([]string, len(q.columns))
		for n, x := range q.columns {
			line[n] = q.fileCell(x, &rows[i])
		}
		lines = append(lines, line)
	}
	c.MeetRows(&view)
	for _, s := range q.subjects {
		c.CountSilence(&s.silence)
	}
	return platform.Table(c.Assumed(fileMark) == 1, c.Assumed(fileReturn) == 1, lines)
}

// fileCell returns a value as text. An omitted figure is empty, or a dash.
func (q *query) fileCell(x *column, r *row) string {
	if x.of != nil {
		if text, left := platform.LeavesOutText(&r.on.silence, *x.of, &r.Figures); left {
			return text
		}
	}
	return q.cell(x, r)
}

// Tasks implements platform.Asynchronous.
func (b *baidu) Tasks() *platform.Tasks { return &b.tasks }
