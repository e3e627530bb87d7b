package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
	"adsync/client"
	"adsync/producer"
)

// putTask writes the fields that a request has into a row.
func putTask(r *client.EditTaskRequest, row *settings.TaskRow) {
	for _, f := range []struct {
		from *string
		into *string
	}{
		{r.Media, &row.Media},
		{r.Handler, &row.Handler},
		{r.Cron, &row.Cron},
		{r.Timezone, &row.Timezone},
		{r.Lane, &row.Lane},
		{r.Scope, &row.Scope},
		{r.Overlap, &row.Overlap},
		{r.CatchUp, &row.CatchUp},
		{r.CatchUpOrder, &row.CatchUpOrder},
		{r.Concurrency, &row.Concurrency},
		{r.SerialKey, &row.SerialKey},
		{r.ExclusiveOver, &row.ExclusiveOver},
		{r.Application, &row.Application},
	} {
		if f.from != nil {
			*f.into = *f.from
		}
	}
	for _, f := range []struct {
		from *int64
		into *string
	}{
		{r.TimeoutSeconds, &row.Timeout},
		{r.TTLSeconds, &row.TTL},
		{r.RetryMax, &row.RetryMax},
		{r.RetryBaseSeconds, &row.RetryBase},
		{r.CatchUpWindowSeconds, &row.CatchUpWindow},
		{r.CatchUpSpreadSeconds, &row.CatchUpSpread},
		{r.ExclusiveMaxSeconds, &row.ExclusiveMax},
		{r.ExclusiveDrainSeconds, &row.ExclusiveDrain},
		{r.FanOutRate, &row.FanOutRate},
	} {
		if f.from != nil {
			*f.into = strconv.FormatInt(*f.from, 10)
		}
	}
	if r.Enabled != nil {
		row.Enabled = enabledText(*r.Enabled)
	}
	switch {
	case string(r.Params) == "null":
		row.Params = ""
	case r.Params != nil:
		var text bytes.Buffer
		_ = json.Compact(&text, r.Params)         // It was read as JSON.
		if !sameJSON(row.Params, text.String()) { // The order of keys and the spacing do not count.
			row.Params = text.String()
		}
	}
	if r.After != nil {
		row.After = strings.Join(*r.After, ",")
	}
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b string) bool {
	value := func(text string) (v any, err error) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber() // Ids have more digits than a float64 holds.
		err = d.Decode(&v)
		return v, err
	}
	x, errX := value(a)
	y, errY := value(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func enabledText(enabled bool) string {
	if enabled {
		return "1"
	}
	return "0"
}

// The sizes of the columns, in characters. The column of params is TEXT, which counts bytes: 16,000 characters always
// fit.
const (
	afterMax  = 512
	paramsMax = 16_000
)

func (a *taskRoutes) addTask(c *gin.Context, r *client.NewTaskRequest) (any, error) {
	row := settings.NewTaskRow()
	row.Name = r.Name
	putTask(&client.EditTaskRequest{
		Enabled: r.Enabled, Media: &r.Media, Handler: &r.Handler, Params: r.Params, Cron: &r.Cron, Timezone: r.Timezone,
		Lane: r.Lane, Scope: r.Scope, TimeoutSeconds: r.TimeoutSeconds, TTLSeconds: r.TTLSeconds,
		RetryMax: r.RetryMax, RetryBaseSeconds: r.RetryBaseSeconds, Overlap: r.Overlap,
		CatchUp: r.CatchUp, CatchUpWindowSeconds: r.CatchUpWindowSeconds, CatchUpOrder: r.CatchUpOrder,
		CatchUpSpreadSeconds: r.CatchUpSpreadSeconds, Concurrency: r.Concurrency, SerialKey: r.SerialKey,
		ExclusiveOver: r.ExclusiveOver, ExclusiveMaxSeconds: r.ExclusiveMaxSeconds,
		ExclusiveDrainSeconds: r.ExclusiveDrainSeconds, FanOutRate: r.FanOutRate, After: r.After, Application: r.Application,
	}, &row)
	ctx := c.Request.Context()
	err := a.store.AddTask(ctx, a.editor(c, "task.create"), row,
		func(table settings.TaskTable) error { return a.checkTask(ctx, &row, table) })
	if errors.Is(err, settings.ErrTaskExists) {
		return nil, httpapi.NewProblem(http.StatusConflict,
			"There is a task %q already: edit it, or give the new task another name.", row.Name)
	}
	if err != nil {
		return nil, err
	}
	c.Header("Location", "/api/v1/tasks/"+row.Name)
	return a.answerTask(c, http.StatusCreated, row.Name)
}

func (a *taskRoutes) editTask(c *gin.Context, request *client.EditTaskRequest) (any, error) {
	return a.changeTask(c, "task.edit", func(row settings.TaskRow) (settings.TaskRow, error) {
		if row.Revision != strconv.FormatInt(request.Revision, 10) {
			return row, httpapi.NewProblem(http.StatusConflict,
				"The task %q now has the revision %s, not %d: another caller has changed it. Read it again, then repeat the edit "+
					"with its new revision.", row.Name, row.Revision, request.Revision)
		}
		putTask(request, &row)
		return row, nil
	})
}

// switchTask switches a task on or off. It needs no revision: it does not depend on other changes of the task.
func (a *taskRoutes) switchTask(action string, enabled bool) func(c *gin.Context) (any, error) {
	return func(c *gin.Context) (any, error) {
		return a.changeTask(c, action, func(row settings.TaskRow) (settings.TaskRow, error) {
			row.Enabled = enabledText(enabled)
			return row, nil
		})
	}
}

// changeTask saves a change of a task and applies it. A row that is switched off may have faults.
func (a *taskRoutes) changeTask(c *gin.Context, action string,
	change func(settings.TaskRow) (settings.TaskRow, error)) (any, error) {
	name, ctx := c.Param("name"), c.Request.Context()
	var row settings.TaskRow
	err := a.store.EditTask(ctx, a.editor(c, action), name,
		func(before settings.TaskRow) (settings.TaskRow, error) {
			var err error
			row, err = change(before)
			return row, err
		},
		func(table settings.TaskTable) error {
			if action == "task.disable" {
				return nil
			}
			return a.checkTask(ctx, &row, table)
		})
	if errors.Is(err, sqldb.ErrNotFound) {
		return nil, a.notInTable(c)
	}
	if p, refused := errors.AsType[*httpapi.Problem](err); refused && p.Status == http.StatusConflict {
		// The caller may have read an old version here: the next read is of the new one.
		return nil, errors.Join(p, a.producer.Reload(ctx))
	}
	if err != nil {
		return nil, err
	}
	return a.answerTask(c, http.StatusOK, name)
}

// notInTable returns the problem of a task without a row.
func (a *taskRoutes) notInTable(c *gin.Context) error {
	_, err := a.tasks.inPath(c) // The row may have been deleted after this process loaded it.
	if err == nil {
		err = httpapi.NewProblem(http.StatusNotFound, "The task %q was deleted a moment ago.", c.Param("name"))
	}
	return err
}

func (a *taskRoutes) editor(c *gin.Context, action string) settings.Editor {
	return settings.Editor{Actor: httpapi.CallerOf(c).Name, Action: action}
}

// checkTask refuses a row that the processes that load the table would refuse.
func (a *taskRoutes) checkTask(ctx context.Context, row *settings.TaskRow, table settings.TaskTable) error {
	var errs httpapi.Refusals
	if n := utf8.RuneCountInString(row.After); n > afterMax {
		errs.Refuse("after", "has %d characters: want up to %d", n, afterMax)
	}
	if n := utf8.RuneCountInString(row.Params); n > paramsMax {
		errs.Refuse("params", "has %d characters: want up to %d", n, paramsMax)
	}
	wrong, err := a.producer.CheckTask(ctx, row.ID, table.Rows, table.Lanes)
	if err != nil {
		return err
	}
	for _, e := range wrong {
		field := e.Key
		if field == "after_tasks" {
			field = "after"
		}
		errs.Refuse(field, "%s", strings.TrimPrefix(e.Error(), e.Key+": "))
	}
	return errs.Err()
}

// answerTask applies a change to this process at once, and answers with the task. The other producers reload within
// seconds.
func (a *taskRoutes) answerTask(c *gin.Context, status int, name string) (any, error) {
	ctx := c.Request.Context()
	if err := a.producer.Reload(ctx); err != nil {
		return nil, err
	}
	t, known := a.tasks.named(name)
	if !known {
		return nil, httpapi.NewProblem(http.StatusNotFound, "The task %q was deleted a moment ago.", name)
	}
	shown, err := a.show(ctx, []producer.Task{t})
	if err != nil {
		return nil, err
	}
	c.Status(status)
	return shown[0], nil
}
