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
	"adsync/producer"
)

// taskRequest is what a task is to be. What is left out is as the column has it by itself, or of an edit as it was.
type taskRequest struct {
	Enabled        *bool           `json:"enabled"`
	Media          *string         `json:"media"`
	Handler        *string         `json:"handler"`
	Params         json.RawMessage `json:"params"` // null = none
	Cron           *string         `json:"cron"`
	Timezone       *string         `json:"timezone"`
	Lane           *string         `json:"lane"`
	Scope          *string         `json:"scope"`
	TimeoutSeconds *int64          `json:"timeout_seconds"`
	TTLSeconds     *int64          `json:"ttl_seconds"`
	RetryMax       *int64          `json:"retry_max"`
	RetryBase      *int64          `json:"retry_base_seconds"`
	Overlap        *string         `json:"overlap"`
	CatchUp        *string         `json:"catch_up"`
	CatchUpWindow  *int64          `json:"catch_up_window_seconds"`
	CatchUpOrder   *string         `json:"catch_up_order"`
	CatchUpSpread  *int64          `json:"catch_up_spread_seconds"`
	Concurrency    *string         `json:"concurrency"`
	ExclusiveMax   *int64          `json:"exclusive_max_seconds"`
	FanOutRate     *int64          `json:"fan_out_rate"`
	After          *[]string       `json:"after"`
}

// put writes what the request says into a row.
func (r *taskRequest) put(row *settings.TaskRow) {
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
		{r.RetryBase, &row.RetryBase},
		{r.CatchUpWindow, &row.CatchUpWindow},
		{r.CatchUpSpread, &row.CatchUpSpread},
		{r.ExclusiveMax, &row.ExclusiveMax},
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
		if !sameJSON(row.Params, text.String()) { // Another order or spacing changes nothing.
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
		d.UseNumber() // Ids have more digits than a float.
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

// taskLengths are what the columns take whose values may be longer and still be good.
var taskLengths = []struct {
	field string
	text  func(*settings.TaskRow) string
	most  int
}{
	{"cron", func(r *settings.TaskRow) string { return r.Cron }, 128},
	{"timezone", func(r *settings.TaskRow) string { return r.Timezone }, 64},
	{"scope", func(r *settings.TaskRow) string { return r.Scope }, 64},
	{"after", func(r *settings.TaskRow) string { return r.After }, 512},
	{"params", func(r *settings.TaskRow) string { return r.Params }, 16_000}, // in characters; TEXT counts bytes
}

// newTaskRequest is the body of a new task.
type newTaskRequest struct {
	Name string `json:"name"`
	taskRequest
}

// editTaskRequest is the body of an edit: what it leaves out stays.
type editTaskRequest struct {
	Revision *int64 `json:"revision"` // the one that was read
	taskRequest
}

// Validate implements httpapi.Validator.
func (r *editTaskRequest) Validate() []httpapi.FieldError {
	if r.Revision == nil {
		return []httpapi.FieldError{{Field: "revision", Detail: "is missing: want the revision with which the task was read, so that nobody else's change is undone unseen"}}
	}
	return nil
}

func (a *taskRoutes) addTask(c *gin.Context, request *newTaskRequest) (any, error) {
	row := settings.NewTaskRow()
	row.Name = request.Name
	request.put(&row)
	ctx := c.Request.Context()
	err := a.store.AddTask(ctx, a.editor(c, "task.create"), row, func(table settings.TaskTable) error { return a.checkTask(ctx, &row, table) })
	if errors.Is(err, settings.ErrTaskExists) {
		return nil, httpapi.NewProblem(http.StatusConflict, "There is a task %q already: edit that one, or give this one another name.", row.Name)
	}
	if err != nil {
		return nil, err
	}
	c.Header("Location", "/api/v1/tasks/"+row.Name)
	return a.answerTask(c, http.StatusCreated, row.Name)
}

func (a *taskRoutes) editTask(c *gin.Context, request *editTaskRequest) (any, error) {
	return a.changeTask(c, "task.edit", func(row settings.TaskRow) (settings.TaskRow, error) {
		if row.Revision != strconv.FormatInt(*request.Revision, 10) {
			return row, httpapi.NewProblem(http.StatusConflict,
				"The task %q has the revision %s by now, not %d: somebody else has changed it. Read it again, and decide anew.", row.Name, row.Revision, *request.Revision)
		}
		request.put(&row)
		return row, nil
	})
}

// switchTask switches a task on or off. It needs no revision: whatever else was changed, the task is to be on, or off.
func (a *taskRoutes) switchTask(action string, enabled bool) answerFunc {
	return func(c *gin.Context, _ *httpapi.Query) (any, error) {
		return a.changeTask(c, action, func(row settings.TaskRow) (settings.TaskRow, error) {
			row.Enabled = enabledText(enabled)
			return row, nil
		})
	}
}

// changeTask saves a change of a task and has it take effect. A row that is switched off need not be good.
func (a *taskRoutes) changeTask(c *gin.Context, action string, change func(settings.TaskRow) (settings.TaskRow, error)) (any, error) {
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
		_, err := a.tasks.inPath(c) // One that is gone from the table may still be here.
		if err == nil {
			err = httpapi.NewProblem(http.StatusNotFound, "The task %q was deleted a moment ago.", name)
		}
		return nil, err
	}
	if p, refused := errors.AsType[*httpapi.Problem](err); refused && p.Status == http.StatusConflict {
		// What was read here may have been older than the row.
		return nil, errors.Join(p, a.producer.Reload(ctx))
	}
	if err != nil {
		return nil, err
	}
	return a.answerTask(c, http.StatusOK, name)
}

func (a *taskRoutes) editor(c *gin.Context, action string) settings.Editor {
	return settings.Editor{Actor: httpapi.CallerOf(c).Name, Action: action}
}

// checkTask refuses a row that could not be used, as those who load the table would.
func (a *taskRoutes) checkTask(ctx context.Context, row *settings.TaskRow, table settings.TaskTable) error {
	var errs httpapi.Refusals
	for _, l := range taskLengths {
		if n := utf8.RuneCountInString(l.text(row)); n > l.most {
			errs.Refuse(l.field, "has %d characters: want up to %d", n, l.most)
		}
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

// answerTask has a change take effect here at once, and answers with the task; the other producers follow within seconds.
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
