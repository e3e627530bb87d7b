package external

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/store/jobstore"
	"adsync/media"
)

// params are the params of a task.
type params struct {
	// Pool is the database of the queue, one of jobs.pools; "" for that of tokens without a pool.
	Pool      string `json:"pool"`
	Namespace string `json:"namespace"`
	Queue     string `json:"queue"`
	// TTR is how many seconds a worker has, whatever it asks for; 0 is what it asks for.
	TTR      int64 `json:"ttr"`
	Priority *int  `json:"priority"`
	// Params are for the worker: any JSON.
	Params json.RawMessage `json:"params"`
	Parts  []string        `json:"parts"`
	Days   int             `json:"days"`
}

const (
	ttrMax  = 7 * 24 * 60 * 60
	daysMax = 1000
	// singlePart is the part of a run whose task names none.
	singlePart = "external"
)

// names are what the job queue accepts as the name of a namespace.
var names = regexp.MustCompile(`^[0-9A-Za-z_-]{1,255}$`)

// open decodes and checks the params of a task whose runs fan out over target.
func open(raw json.RawMessage, target media.Target) (p params, err error) {
	if err := media.CheckParams(raw, &p); err != nil {
		return p, err
	}
	switch {
	case !names.MatchString(p.Namespace):
		return p, fmt.Errorf("params.namespace: %q is refused: want up to 255 letters, digits, - and _", p.Namespace)
	case !names.MatchString(p.Queue) || p.Queue[0] == '_':
		return p, fmt.Errorf("params.queue: %q is refused: want up to 255 letters, digits, - and _, not beginning with _",
			p.Queue)
	case p.Pool != "" && !names.MatchString(p.Pool):
		return p, fmt.Errorf("params.pool: %q is refused: want the name of one of jobs.pools", p.Pool)
	case p.TTR < 0 || p.TTR > ttrMax:
		return p, fmt.Errorf("params.ttr: %d is refused: want 1 to %d seconds", p.TTR, ttrMax)
	case p.Priority != nil && (*p.Priority < 0 || *p.Priority > jobstore.PriorityMax):
		return p, fmt.Errorf("params.priority: %d is refused: want 0 to %d", *p.Priority, jobstore.PriorityMax)
	case p.Days < 0 || p.Days > daysMax:
		return p, fmt.Errorf("params.days: %d is refused: want 1 to %d", p.Days, daysMax)
	case p.Days > 0 && target != media.Accounts:
		return p, errors.New("params.days: is refused: days are for tasks on accounts; name parts")
	case p.Parts != nil && target == media.Accounts:
		return p, errors.New("params.parts: is refused: parts are for tasks on no accounts; their handler is system.external")
	case p.Parts != nil && len(p.Parts) == 0:
		return p, errors.New("params.parts: is empty: want the subtasks of a run, or leave it out for one")
	}
	for i, part := range p.Parts {
		if part == "" || slices.Index(p.Parts, part) < i {
			return p, fmt.Errorf("params.parts[%d]: %q is refused: want a text of its own", i, part)
		}
	}
	return p, nil
}

// priority returns that of the jobs.
func (p params) priority() int {
	if p.Priority == nil {
		return jobstore.PriorityDefault
	}
	return *p.Priority
}

// partsOf returns the parts of an account, or of a run without accounts.
func (p params) partsOf(plan media.Plan) ([]string, error) {
	if plan.From != "" && p.Days == 0 {
		return nil, errors.New("from: this task has no days: set params.days, or remove from and to")
	}
	switch {
	case p.Days > 0:
		return p.days(plan)
	case len(plan.Parts) > 0:
		return plan.Parts, nil
	case len(p.Parts) > 0:
		return p.Parts, nil
	}
	return []string{singlePart}, nil
}

// days returns the days of an order, or the last ones of the account up to the planned moment.
func (p params) days(plan media.Plan) ([]string, error) {
	today := day.Of(plan.PlannedAt, plan.Zone)
	from, to := today.Add(1-p.Days), today
	if plan.From != "" {
		from, to = plan.From, plan.To
		if to > today {
			return nil, fmt.Errorf("to: %s is refused: want a day up to %s, today in the account's zone", to, today)
		}
		if oldest := to.Add(1 - daysMax); from < oldest || from > to {
			return nil, fmt.Errorf("from: %s is refused: want a day from %s to %s", from, oldest, to)
		}
	}
	var parts []string
	for _, d := range day.Between(from, to) {
		parts = append(parts, d.String())
	}
	return parts, nil
}

// ttr returns how long each claim of the jobs lasts; 0 for as long as the worker wants.
func (p params) ttr() time.Duration { return time.Duration(p.TTR) * time.Second }
