package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/base/failpoint"
	"adsync/base/store/jobstore"
)

// queues is the job queue of one store, in this process.
type queues struct {
	store  *jobstore.Store
	clock  clock.Clock // the database's
	logger *slog.Logger
	desks  *desks
	counts *metrics
	wake   *wake // nil for a process alone

	publications *batch[jobstore.Job]
	acks         *batch[jobstore.Key]

	mu    sync.Mutex
	named map[jobstore.QueueID]time.Time // when a queue's name was noted
}

// jobOverhead is about what a job costs besides its body, in bytes.
const jobOverhead = 200

func newQueues(store *jobstore.Store, c clock.Clock, logger *slog.Logger, counts *metrics) *queues {
	q := &queues{store: store, clock: c, logger: logger, counts: counts, named: map[jobstore.QueueID]time.Time{}}
	q.desks = newDesks(store, c, logger, counts)
	q.publications = &batch[jobstore.Job]{write: q.write,
		size: func(j jobstore.Job) int { return len(j.Body) + len(j.Attributes) + jobOverhead }}
	q.acks = &batch[jobstore.Key]{size: func(jobstore.Key) int { return jobOverhead },
		write: func(ctx context.Context, keys []jobstore.Key) error {
			failpoint.Hit("jobs.acking")
			if err := store.Ack(ctx, keys, c.Now()); err != nil {
				return err
			}
			failpoint.Hit("jobs.acked")
			counts.acknowledged.Add(float64(len(keys)))
			q.desks.freed(keys)
			return nil
		}}
	return q
}

// write publishes jobs and announces those that are ready.
func (q *queues) write(ctx context.Context, jobs []jobstore.Job) error {
	failpoint.Hit("jobs.publishing")
	if err := q.store.Publish(ctx, jobs); err != nil {
		return err
	}
	failpoint.Hit("jobs.published")
	q.counts.published.Add(float64(len(jobs)))
	q.announce(jobs)
	return nil
}

// announce wakes polls for committed jobs that are ready now, in all processes.
func (q *queues) announce(jobs []jobstore.Job) {
	ready := q.desks.announce(jobs...)
	if q.wake != nil {
		q.wake.tell(ready)
	}
}

// published counts and announces a committed job that shared its transaction with no other publication.
func (q *queues) published(queue jobstore.Queue, j jobstore.Job, o order) {
	q.counts.published.Inc()
	q.counts.lmstfy.publishedInto(queue, 1, o.delay > 0)
	q.announce([]jobstore.Job{j})
}

// order is what a publisher asks for.
type order struct {
	delay, ttl time.Duration // a ttl of 0 means forever
	tries      int
	priority   int
	attributes []byte // JSON, or nil
	backoff    string // a jobstore.Backoff, or "" for the queue's

	key    string // with which it is published once in keyFor; "" for any number of times
	keyFor time.Duration
	wait   time.Duration // for a result

	written int64 // rows, by the worker of the job that is republished
}

// job makes a job that is published now.
func (o order) job(q jobstore.Queue, body []byte, now time.Time) jobstore.Job {
	j := jobstore.Job{Queue: q.ID(), ID: jobstore.NewID(now, jobstore.OutlivesDay(o.delay, o.ttl)), Priority: o.priority,
		ReadyAt: now.Add(o.delay), Tries: o.tries, Body: body, Attributes: o.attributes,
		Backoff: o.backoff}
	if o.ttl > 0 {
		j.ExpiresAt = now.Add(o.ttl)
	}
	return j
}

// publish writes a job for each body and returns their ids once they are committed.
func (q *queues) publish(ctx context.Context, queue jobstore.Queue, o order, bodies ...[]byte) ([]jobstore.ID, error) {
	if err := q.name(ctx, queue); err != nil {
		return nil, err
	}
	now := q.clock.Now()
	jobs, ids := make([]jobstore.Job, len(bodies)), make([]jobstore.ID, len(bodies))
	for i, body := range bodies {
		jobs[i] = o.job(queue, body, now)
		ids[i] = jobs[i].ID
	}
	if err := q.publications.do(ctx, jobs...); err != nil {
		return nil, err
	}
	q.counts.lmstfy.publishedInto(queue, len(jobs), o.delay > 0)
	return ids, nil
}

// publishOnce publishes a job, unless another one was published with the order's key: it returns that one's id, and
// false.
func (q *queues) publishOnce(ctx context.Context, queue jobstore.Queue, o order, body []byte) (id jobstore.ID,
	isNew bool, err error) {
	if err := q.name(ctx, queue); err != nil {
		return id, false, err
	}
	now := q.clock.Now()
	j := o.job(queue, body, now)
	if id, isNew, err = q.store.PublishOnce(ctx, j, o.key, now.Add(o.keyFor), now); err != nil || !isNew {
		return id, isNew, err
	}
	q.published(queue, j, o)
	return id, true, nil
}

// republish publishes a job in place of another, which may be in another queue.
func (q *queues) republish(ctx context.Context, queue jobstore.Queue, old jobstore.Key, o order,
	body []byte) (jobstore.ID, error) {
	if err := q.name(ctx, queue); err != nil {
		return jobstore.ID{}, err
	}
	now := q.clock.Now()
	j := o.job(queue, body, now)
	if err := q.store.Republish(ctx, old, o.written, j, now); err != nil {
		return jobstore.ID{}, err
	}
	q.published(queue, j, o)
	return j.ID, nil
}

const (
	// namedFor is how often the use of a queue is noted.
	namedFor = 10 * time.Minute
	// namedMax bounds the names that a process remembers.
	namedMax = 100_000
)

// name notes a queue's name before its first job, and again after a time.
func (q *queues) name(ctx context.Context, queue jobstore.Queue) error {
	id, now := queue.ID(), q.clock.Now()
	q.mu.Lock()
	known := now.Sub(q.named[id]) < namedFor
	q.mu.Unlock()
	if known {
		return nil
	}
	if err := q.store.Name(ctx, []jobstore.Queue{queue}, now); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.named) >= namedMax {
		clear(q.named)
	}
	q.named[id] = now
	return nil
}

// wait waits for the writes and claims under way.
func (q *queues) wait() {
	q.publications.wait()
	q.acks.wait()
	q.desks.work.Wait()
}
