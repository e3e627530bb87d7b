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

// Target says what a handler's runs fan out over.
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
	// Check refuses params that the handler cannot use, with an error that names the field; nil accepts only empty
	// params. It is called when a task is loaded.
	Check func(params json.RawMessage) error
	// Parts plans the parts of one account (or of the run, for Once), in order, without duplicates. It is a pure
	// function: planned again after a crash it gives the same parts. Not called for Logins.
	Parts func(Plan) ([]string, error)
	// Run does one subtask. It may be called more than once for the same subtask, also at the same time in two
	// processes, and must have the effect of one call. The context carries the subtask's deadline. Errors decide what
	// follows: see Error, ErrSuperseded and *DeferError; any other error is transient.
	Run func(ctx context.Context, work Work) (Result, error)
}

// Plan is what parts are planned from.
type Plan struct {
	PlannedAt time.Time      // the tick's or the order's moment, UTC
	Zone      *time.Location // the account's zone; the task's for Once
	Params    json.RawMessage
	From, To  day.Day // the days that an order asked for; empty when the task's own rule holds
}

// Work is one subtask to do.
type Work struct {
	task.Key
	TaskName  string
	Delivery  int // rises with every send of the subtask
	Attempt   int // failures so far
	PlannedAt time.Time
	Params    json.RawMessage
	// Confirmed says that a person has looked at what the platform answers: it is believed, however much it takes away.
	Confirmed bool
}

// Result is what a subtask did, for its log row.
type Result struct {
	Rows  int // rows written
	Calls int // API calls spent; also set beside an error
}

// Registry finds handlers by name.
type Registry struct{ handlers map[string]Handler }

// NewRegistry returns a registry of the given handlers. Two of one name are a mistake of the program and panic.
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

// CheckParams decodes params into p (a pointer to a struct) and refuses what strictjson refuses; empty params leave p
// alone.
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
