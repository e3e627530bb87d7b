package media

import (
	"context"
	"encoding/json"
)

// Kind is a kind of work that belongs to no account, written as one type. B is its body: the params of its tasks, a
// struct of the kind's own. The engine carries the body as bytes and never opens it; what the kind gets is decoded as
// strictly as CheckParams does. Timeout, stop, retries and repeated deliveries are the engine's: see Handler.Run for
// what Run must bear.
type Kind[B any] interface {
	// Name returns "<media>.<what>", where media is "system" for work of no platform.
	Name() string
	// Check returns an error that names the field for a body that the kind cannot use. It may fill in defaults.
	Check(body *B) error
	// Parts returns the subtasks of a run, as Handler.Parts does.
	Parts(plan Plan, body B) ([]string, error)
	// Run executes one subtask, as Handler.Run does.
	Run(ctx context.Context, work Work, body B) (Result, error)
}

// Lister is a Kind whose parts are rows of a table: see Handler.List.
type Lister interface {
	List(ctx context.Context) ([]string, error)
}

// HandlerOf returns the handler of a kind.
func HandlerOf[B any](k Kind[B]) Handler {
	open := func(params json.RawMessage) (body B, err error) {
		if err = CheckParams(params, &body); err == nil {
			err = k.Check(&body)
		}
		return body, err
	}
	var list func(ctx context.Context) ([]string, error)
	if l, lists := any(k).(Lister); lists {
		list = l.List
	}
	return Handler{
		Name: k.Name(), Target: Once, List: list,
		Check: func(params json.RawMessage) error {
			_, err := open(params)
			return err
		},
		Parts: func(plan Plan) ([]string, error) {
			body, err := open(plan.Params)
			if err != nil {
				return nil, err
			}
			return k.Parts(plan, body)
		},
		Run: func(ctx context.Context, work Work) (Result, error) {
			body, err := open(work.Params)
			if err != nil {
				return Result{}, &Error{Class: Invalid, Message: err.Error()}
			}
			return k.Run(ctx, work, body)
		},
	}
}
