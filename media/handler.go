package media

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/strictjson"
	"adsync/base/task"
)

// Target is what a handler's runs fan out over.
type Target int

// The targets.
const (
	Accounts Target = iota // one or more subtasks per account of the task's scope
	Logins                 // one subtask per login (media_token row) of the media; part "login:<id>"
	Once                   // subtasks that belong to no account
)

// Handler is one kind of work, named in cron_task.handler.
type Handler struct {
	Name   string // "<media>.<what>", for example "acme.report_hourly"
	Target Target
	// Check returns an error that names the field for params that the handler cannot use. A nil Check accepts only empty
	// params. It is called when a task is loaded.
	Check func(params json.RawMessage) error
	// Parts returns the parts of one account (or of the run, for Once), in order, without duplicates. It is a pure
	// function: after a crash it returns the same parts again. It is not called for Logins.
	Parts func(Plan) ([]string, error)
	// List returns the parts of a run of Once that names none, for work on the rows of a table. Parts gets them in
	// Plan.Parts. Where a run is planned again after a crash, its parts are those of both readings. It may be nil.
	List func(ctx context.Context) ([]string, error)
	// Run executes one subtask. It may be called more than once for the same subtask, even at the same time in two
	// processes, and must have the effect of one call. The context carries the subtask's deadline. The error determines
	// the outcome: see Error, ErrSuperseded and *DeferError; any other error is transient.
	Run func(ctx context.Context, work Work) (Result, error)
}

// Plan is the input of Handler.Parts.
type Plan struct {
	PlannedAt time.Time      // the tick's or the order's moment, UTC
	Zone      *time.Location // the account's zone; the task's for Once
	Params    json.RawMessage
	From, To  day.Day // the days of an order; empty when the task's own rule applies
	// Parts are those that an order names, for kinds whose orders do, or those of Handler.List; others have no use for
	// them.
	Parts []string
}

// Work is one subtask to execute.
type Work struct {
	task.Key
	TaskID    int64
	TaskName  string
	Delivery  int // rises with every send of the subtask
	Attempt   int // failures so far
	PlannedAt time.Time
	Deadline  time.Time // end of its time to live, by the clock of retries; zero means none
	Trace     string    // W3C traceparent of this delivery, or ""
	Params    json.RawMessage
	// Confirmed means that a person has checked the platform's answer: it is believed, however much it removes.
	Confirmed bool
	// Compare means that stored rows are compared with the platform's answer even if it is the one that they are of.
	Compare bool
}

// Result is the result of a subtask, for its log row and its outcome.
type Result struct {
	Rows  int // rows written
	Calls int // API calls made; also set with an error
	// Files are those that the subtask has delivered, also by an earlier try; only with a nil error. They are for the
	// message to the application that follows the subtask, if one does: at most task.FilesMax.
	Files []task.File
}

// Registry finds handlers by name.
type Registry struct{ handlers map[string]Handler }

// NewRegistry returns a registry of the given handlers. It panics if two have the same name.
func NewRegistry(handlers ...Handler) *Registry {
	r := &Registry{handlers: map[string]Handler{}}
	for _, h := range handlers {
		if _, taken := r.handlers[h.Name]; taken {
			panic("two handlers named " + h.Name)
		}
		r.handlers[h.Name] = h
	}
	return r
}

// Get returns the handler of a name.
func (r *Registry) Get(name string) (Handler, bool) {
	h, ok := r.handlers[name]
	return h, ok
}

// Names returns all names, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.handlers)) }

// ChangeParams returns the params of a task of a handler, changed by a JSON merge patch as task.MergeParams does. The
// error begins with "params" and names the field that the handler cannot use. An empty patch is never refused.
func (r *Registry) ChangeParams(handler string, params, patch json.RawMessage) (json.RawMessage, error) {
	changed, err := task.MergeParams(params, patch)
	if err != nil || len(patch) == 0 {
		return changed, err
	}
	h, known := r.Get(handler)
	switch {
	case !known:
		return changed, fmt.Errorf("params: this program has no handler %q that could check them", handler)
	case h.Check == nil:
		return changed, errors.New("params: this task has none")
	}
	return changed, h.Check(changed)
}

// CheckParams decodes params into p, a pointer to a struct, as strictly as strictjson. Empty params leave p
// unchanged.
func CheckParams(params json.RawMessage, p any) error {
	if len(bytes.TrimSpace(params)) == 0 {
		return nil
	}
	err := strictjson.Unmarshal(params, p)
	if wrong, ok := errors.AsType[*strictjson.Error](err); ok && wrong.Field != "" {
		return fmt.Errorf("params.%w", wrong)
	}
	if err != nil {
		return fmt.Errorf("params: %w", err)
	}
	return nil
}
