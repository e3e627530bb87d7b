// Package jobends makes subtasks due that other programs work, when their jobs in the job queue have ended. It is the
// leader's part of jobs/external.
package jobends

import (
	"context"
	"time"

	"adsync/base/clock"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

// Interval is how often a leader looks at the jobs.
const Interval = time.Second

// Follower follows the jobs of subtasks.
type Follower interface {
	// Pass looks at the jobs once. It calls release for subtasks whose jobs have ended, which may be concurrently. Its
	// error is that of the ledger.
	Pass(ctx context.Context, stops *task.Stops, now time.Time,
		release func(ctx context.Context, refs map[task.Key]string) error) error
}

// Store makes subtasks due that wait for their jobs.
type Store interface {
	ReleaseEach(ctx context.Context, refs map[task.Key]string, due time.Time) ([]ledger.Due, error)
}

// Work is a leader's work on the jobs of subtasks.
type Work struct {
	Follower Follower
	Store    Store
	Stops    func() *task.Stops // as they were last read
	Waiting  clock.Clock        // of retries
	// Early receives the subtasks that became due, so that they need not be looked for.
	Early func(ctx context.Context, due []ledger.Due)
}

// Pass looks at the jobs once.
func (w *Work) Pass(ctx context.Context) error {
	return w.Follower.Pass(ctx, w.Stops(), w.Waiting.Now(), w.release)
}

func (w *Work) release(ctx context.Context, refs map[task.Key]string) error {
	list, err := w.Store.ReleaseEach(ctx, refs, w.Waiting.Now())
	w.Early(ctx, list)
	return err
}
