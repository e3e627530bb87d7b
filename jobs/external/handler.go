package external

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/base/failpoint"
	"adsync/base/sqldb"
	"adsync/base/store/jobstore"
	"adsync/base/task"
	"adsync/base/telemetry"
	"adsync/media"
)

// Accounts finds accounts by our id.
type Accounts interface {
	Account(ctx context.Context, id int64) (media.Account, error)
}

// Deps are what the handlers work with.
type Deps struct {
	// Stores are the databases of jobs by the names of their pools; empty without any.
	Stores   map[string]*jobstore.Store
	Accounts Accounts
	// Clock is that of deadlines.
	Clock  clock.Clock
	Logger *slog.Logger
}

// Door publishes the jobs of subtasks, for all handlers of a process.
type Door struct {
	Deps

	causes *telemetry.CauseLog

	mu    sync.Mutex
	named map[namedQueue]time.Time // when a queue's name was noted
}

type namedQueue struct {
	pool  string
	queue jobstore.Queue
}

// New returns a door. It contacts nothing.
func New(d Deps) *Door {
	return &Door{Deps: d, causes: telemetry.NewCauseLog(d.Logger), named: map[namedQueue]time.Time{}}
}

// poolDefault is the pool of tasks that name none.
const poolDefault = "default"

const (
	// look is how long a subtask waits for its job at most. The leader makes it due when the job has ended; this is the
	// fallback, which also publishes a job again that was lost with its database.
	look = time.Minute
	// awayWait is how long a subtask waits whose database of jobs does not answer.
	awayWait = 15 * time.Second
	// bodyMax is the most bytes of a job's body, as for those that are published by HTTP.
	bodyMax = 1 << 20
	// namedFor is how often the use of a queue is noted.
	namedFor = 10 * time.Minute
)

// Handler returns the handler <name>.external of a platform, or of the media system, whose runs fan out over target:
// media.Accounts or media.Once.
func (d *Door) Handler(name string, target media.Target) media.Handler {
	return media.Handler{
		Name: name + ".external", Target: target,
		Check: func(raw json.RawMessage) error {
			_, err := open(raw, target)
			return err
		},
		Parts: func(plan media.Plan) ([]string, error) {
			p, err := open(plan.Params, target)
			if err != nil {
				return nil, err
			}
			return p.partsOf(plan)
		},
		Run: func(ctx context.Context, work media.Work) (media.Result, error) {
			p, err := open(work.Params, target)
			if err != nil {
				return media.Result{}, &media.Error{Class: media.Invalid, Message: err.Error()}
			}
			p.Pool = cmp.Or(p.Pool, poolDefault)
			store := d.Stores[p.Pool]
			if store == nil {
				return media.Result{}, &media.Error{Class: media.Invalid, Message: fmt.Sprintf("there is no database of jobs %q: "+
					"want one of jobs.pools, or for the pool %s jobs.store.writer", p.Pool, poolDefault)}
			}
			text, err := d.body(ctx, name, work, p)
			if err != nil {
				return media.Result{}, err
			}
			return d.run(ctx, store, name, work, p, text)
		},
	}
}

// Body is the body of a job: a subtask as its worker gets it.
type Body struct {
	RunID     string          `json:"run_id"`
	Task      string          `json:"task"`
	Media     string          `json:"media"`
	Account   string          `json:"account"`    // the platform's id; "" for a subtask of no account
	AccountID string          `json:"account_id"` // ours; "0" for a subtask of no account
	Part      string          `json:"part"`
	Params    json.RawMessage `json:"params"` // those of the task's params; null without any
	PlannedAt time.Time       `json:"planned_at"`
	Deadline  *time.Time      `json:"deadline"` // when the subtask's time to live ends; null for never
	Attempt   int             `json:"attempt"`  // failures before this job
	Trace     string          `json:"trace"`    // W3C traceparent; "" if it is not traced
}

func (d *Door) body(ctx context.Context, name string, work media.Work, p params) ([]byte, error) {
	b := Body{RunID: strconv.FormatInt(work.RunID, 10), Task: work.TaskName, Media: name,
		AccountID: strconv.FormatInt(work.AccountID, 10), Part: work.Part, Params: p.Params, PlannedAt: work.PlannedAt.UTC(),
		Attempt: work.Attempt, Trace: work.Trace}
	if work.AccountID != 0 {
		account, err := d.Accounts.Account(ctx, work.AccountID)
		if err != nil {
			return nil, err
		}
		b.Account = account.ExternalID
	}
	if !work.Deadline.IsZero() {
		deadline := work.Deadline.UTC()
		b.Deadline = &deadline
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil, &media.Error{Class: media.Bug, Message: "write a job's body", Err: err}
	}
	if len(text) > bodyMax {
		return nil, &media.Error{Class: media.Invalid, Message: fmt.Sprintf("the job's body has %d bytes, %d are allowed",
			len(text), bodyMax)}
	}
	return text, nil
}

// idOf returns the id of the job of an attempt of a subtask.
func idOf(k task.Key, attempt int) jobstore.ID {
	return jobstore.WatchedID(task.RunTime(k.RunID), fmt.Sprintf("%d\x00%d\x00%s\x00%d", k.RunID, k.AccountID, k.Part,
		attempt))
}

// run publishes the subtask's job, unless that was done, and returns how it ended.
func (d *Door) run(ctx context.Context, store *jobstore.Store, name string, work media.Work, p params,
	text []byte) (media.Result, error) {
	queue := jobstore.Queue{Namespace: p.Namespace, Name: p.Queue}
	w, err := d.publish(ctx, store, queue, name, work, p, text)
	if err != nil {
		if ctx.Err() != nil || sqldb.IsTooLarge(err) || sqldb.IsUnfit(err) {
			return media.Result{}, err
		}
		d.causes.Report(slog.LevelError, p.Pool, "jobs of subtasks cannot be published; they wait", err, "pool", p.Pool)
		return media.Result{}, &media.DeferError{After: awayWait, Reason: fmt.Sprintf("the database of jobs %s does not "+
			"answer: %v", p.Pool, err)}
	}
	d.causes.Recovered(p.Pool, "jobs of subtasks can be published again")
	job := fmt.Sprintf("job %s in %s/%s", w.ID, queue.Namespace, queue.Name)
	switch w.End {
	case jobstore.Succeeded:
		return media.Result{Rows: int(w.Rows)}, nil
	case jobstore.Failed:
		return media.Result{}, errors.New(job + " failed: " + cmp.Or(w.Error, "its worker named no reason"))
	case jobstore.Withdrawn:
		return media.Result{}, errors.New(job + " was deleted: " + w.Error)
	case jobstore.Expired:
		return media.Result{}, &media.DeferError{After: d.Clock.Until(work.Deadline) + time.Second,
			Reason: job + " was claimed by no worker in time"}
	case jobstore.NotEnded:
	}
	return media.Result{}, &media.DeferError{After: look, Reason: "no worker has ended " + job,
		WaitsFor: task.JobRef(w.ID.String())}
}

// publish makes the subtask's job, or makes one ready again that was held while the subtask was paused.
func (d *Door) publish(ctx context.Context, store *jobstore.Store, queue jobstore.Queue, name string, work media.Work,
	p params, text []byte) (jobstore.Watched, error) {
	now, err := store.Now(ctx)
	if err != nil {
		return jobstore.Watched{}, err
	}
	if err := d.note(ctx, store, namedQueue{p.Pool, queue}, now); err != nil {
		return jobstore.Watched{}, err
	}
	j := jobstore.Job{Queue: queue.ID(), ID: idOf(work.Key, work.Attempt), Priority: p.priority(), ReadyAt: now, Tries: 1,
		TTR: p.ttr(), Body: text}
	if !work.Deadline.IsZero() {
		j.ExpiresAt = now.Add(d.Clock.Until(work.Deadline)) // By the clock of the jobs.
	}
	if work.Trace != "" {
		if j.Attributes, err = json.Marshal(map[string]string{task.TraceHeader: work.Trace}); err != nil {
			return jobstore.Watched{}, err
		}
	}
	w, err := store.PublishWatched(ctx, j, jobstore.Subtask{RunID: work.RunID, AccountID: work.AccountID, Part: work.Part,
		Attempt: work.Attempt, TaskID: work.TaskID, Media: name}, now)
	if err != nil {
		return w, err
	}
	failpoint.Hit("external.published")
	if w.Held && w.End == jobstore.NotEnded {
		err = store.Hold(ctx, []jobstore.Key{w.Key}, false, now)
	}
	return w, err
}

// note notes the use of a queue from time to time, so that it is listed.
func (d *Door) note(ctx context.Context, store *jobstore.Store, q namedQueue, now time.Time) error {
	d.mu.Lock()
	known := now.Sub(d.named[q]) < namedFor
	d.mu.Unlock()
	if known {
		return nil
	}
	if err := store.Name(ctx, []jobstore.Queue{q.queue}, now); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.named[q] = now
	return nil
}
