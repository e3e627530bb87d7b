package jobs

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/base/failpoint"
	"adsync/base/store/jobstore"
)

// desks hand out the jobs of queues in this process, a desk per queue.
type desks struct {
	store  *jobstore.Store
	clock  clock.Clock
	logger *slog.Logger
	counts *metrics

	closing   chan struct{} // closed by close
	closeOnce sync.Once
	work      sync.WaitGroup

	mu     sync.Mutex
	all    map[jobstore.QueueID]*desk
	paused map[jobstore.QueueID]bool
}

// close ends all polls, and those that come later at once.
func (d *desks) close() { d.closeOnce.Do(func() { close(d.closing) }) }

// desk is what this process knows of a queue: on which shelves jobs are ready, and who waits for them.
type desk struct {
	queue jobstore.QueueID

	known   bool // whether the tables were looked at
	shelves map[jobstore.Shelf]*shelf
	asking  []*request // for a claim, in their order
	serving bool       // whether a goroutine answers asking
	polls   []*poll    // that wait, in their order
	used    time.Time

	// heldUntil is until when no claim is tried, because a limit of the queue is used up; zero without such.
	heldUntil time.Time
}

// shelf is a shelf with ready jobs.
type shelf struct {
	since time.Time // no job on it became ready earlier
	news  int       // counts announcements
}

// request asks for jobs once.
type request struct {
	count  int
	ttr    time.Duration
	answer chan claimed
}

type claimed struct {
	jobs []jobstore.Job
	err  error
}

// poll waits for an announcement of any of its queues.
type poll struct{ wake chan struct{} }

func newDesks(store *jobstore.Store, c clock.Clock, logger *slog.Logger, counts *metrics) *desks {
	return &desks{store: store, clock: c, logger: logger, counts: counts, closing: make(chan struct{}),
		all: map[jobstore.QueueID]*desk{}}
}

// of returns the desk of a queue. The caller holds mu.
func (d *desks) of(queue jobstore.QueueID) *desk {
	desk := d.all[queue]
	if desk == nil {
		desk = newDesk(queue)
		d.all[queue] = desk
	}
	desk.used = d.clock.Now()
	return desk
}

func newDesk(queue jobstore.QueueID) *desk {
	return &desk{queue: queue, shelves: map[jobstore.Shelf]*shelf{}}
}

// announce notes committed jobs, wakes a poll for each that is ready now, and returns those.
func (d *desks) announce(jobs ...jobstore.Job) (ready []jobstore.Job) {
	now := d.clock.Now()
	for _, j := range jobs {
		if !j.ReadyAt.After(now) {
			d.found(jobstore.Ready{Shelf: jobstore.ShelfOf(j), Since: j.ReadyAt})
			ready = append(ready, j)
		}
	}
	return ready
}

// found notes that a shelf has a ready job, and wakes a poll. A queue that nobody asks for in this process is not
// noted.
func (d *desks) found(r jobstore.Ready) {
	d.mu.Lock()
	defer d.mu.Unlock()
	desk := d.all[r.Queue]
	if desk == nil {
		return
	}
	s := desk.shelves[r.Shelf]
	if s == nil {
		s = &shelf{since: r.Since}
		desk.shelves[r.Shelf] = s
	}
	if r.Since.Before(s.since) {
		s.since = r.Since
	}
	s.news++
	desk.wakeOne()
}

// wakeOne wakes the first poll that is not awake already. A woken poll leaves the others.
func (d *desk) wakeOne() {
	for len(d.polls) > 0 {
		first := d.polls[0]
		d.polls = d.polls[1:]
		select {
		case first.wake <- struct{}{}:
			return
		default: // It is awake, for a job of another queue or for one before.
		}
	}
}

// consume claims up to count jobs of the first queue that has any. With none it waits for up to wait. The claims end
// after ttr.
func (d *desks) consume(ctx context.Context, queues []jobstore.QueueID, count int, ttr,
	wait time.Duration) ([]jobstore.Job, error) {
	p := &poll{wake: make(chan struct{}, 1)}
	var timer <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timer = t.C
		d.counts.waiting.Add(1)
		defer d.counts.waiting.Add(-1)
	}
	defer d.leave(p, queues)
	for {
		// It waits before it looks: a job that is announced in between wakes it.
		if wait > 0 {
			d.enter(p, queues)
		}
		for _, queue := range queues {
			jobs, err := d.claim(ctx, queue, count, ttr)
			if err != nil || len(jobs) > 0 {
				return jobs, err
			}
		}
		if wait == 0 {
			return nil, nil
		}
		select {
		case <-p.wake:
		case <-timer:
			return nil, nil
		case <-d.closing:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// setPaused notes which queues are paused. Polls of those that were and no longer are look again.
func (d *desks) setPaused(now map[jobstore.QueueID]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.paused
	d.paused = now
	for id := range before {
		if desk := d.all[id]; desk != nil && !now[id] {
			for len(desk.polls) > 0 {
				desk.wakeOne()
			}
		}
	}
}

// enter adds a poll to those that wait for the queues, where it is not among them.
func (d *desks) enter(p *poll, queues []jobstore.QueueID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, queue := range queues {
		if desk := d.of(queue); !slices.Contains(desk.polls, p) {
			desk.polls = append(desk.polls, p)
		}
	}
}

// leave removes a poll. It may have been woken for a job that it did not claim, so another is woken for those that are
// left.
func (d *desks) leave(p *poll, queues []jobstore.QueueID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, queue := range queues {
		desk := d.all[queue]
		if desk == nil {
			continue
		}
		desk.polls = slices.DeleteFunc(desk.polls, func(other *poll) bool { return other == p })
		if len(desk.shelves) > 0 {
			desk.wakeOne()
		}
	}
}

// claim claims up to count ready jobs of a queue, together with the other requests of this moment.
func (d *desks) claim(ctx context.Context, queue jobstore.QueueID, count int, ttr time.Duration) ([]jobstore.Job,
	error) {
	r := &request{count: count, ttr: ttr, answer: make(chan claimed, 1)}
	d.mu.Lock()
	desk := d.of(queue)
	if d.paused[queue] || desk.heldUntil.After(d.clock.Now()) || desk.known && len(desk.shelves) == 0 {
		d.mu.Unlock()
		return nil, nil
	}
	desk.asking = append(desk.asking, r)
	if !desk.serving {
		desk.serving = true
		d.work.Go(func() { d.serve(context.WithoutCancel(ctx), desk) })
	}
	d.mu.Unlock()
	select {
	case a := <-r.answer:
		return a.jobs, a.err
	case <-ctx.Done():
		d.work.Go(func() { d.giveBack(ctx, (<-r.answer).jobs) })
		return nil, context.Cause(ctx)
	}
}

// giveBack makes claimed jobs ready again that nobody received.
func (d *desks) giveBack(ctx context.Context, jobs []jobstore.Job) {
	if len(jobs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	now := d.clock.Now()
	if err := d.store.Return(ctx, jobs, now); err != nil {
		d.logger.WarnContext(ctx, "claimed jobs could not be returned: they are ready again when their time to run ends",
			"jobs", len(jobs), "err", err)
		return
	}
	d.counts.returned.Add(float64(len(jobs)))
	for _, j := range jobs {
		j.ReadyAt, j.Tries = now, j.Tries+1
		d.announce(j)
	}
}

// serve answers the requests of a desk until there are none.
func (d *desks) serve(ctx context.Context, desk *desk) {
	for {
		together := d.together(desk)
		if len(together) == 0 {
			return
		}
		bounded, cancel := context.WithTimeout(ctx, writeTimeout)
		jobs, err := d.take(bounded, desk, together)
		cancel()
		for _, r := range together {
			n := min(r.count, len(jobs))
			if n > 0 {
				r.answer <- claimed{jobs: jobs[:n:n]}
				jobs = jobs[n:]
				continue
			}
			r.answer <- claimed{err: err}
		}
	}
}

// claimedAtOnce is how many jobs are claimed in one transaction.
const claimedAtOnce = 500

// together returns the next requests that one claim serves: they have the same time to run.
func (d *desks) together(desk *desk) []*request {
	d.mu.Lock()
	defer d.mu.Unlock()
	var taken, left []*request
	count := 0
	for _, r := range desk.asking {
		if len(taken) > 0 && (r.ttr != taken[0].ttr || count+r.count > claimedAtOnce) {
			left = append(left, r)
			continue
		}
		taken, count = append(taken, r), count+r.count
	}
	desk.asking = left
	desk.serving = len(taken) > 0
	return taken
}

// take claims jobs for requests, from the desk's shelves in their order. With an error it returns what was claimed
// before.
func (d *desks) take(ctx context.Context, desk *desk, requests []*request) (jobs []jobstore.Job, err error) {
	if err := d.lookAt(ctx, desk); err != nil {
		return nil, err
	}
	wanted := 0
	for _, r := range requests {
		wanted += r.count
	}
	ttr := requests[0].ttr
	for len(jobs) < wanted {
		f, since, news, any := d.next(desk)
		if !any {
			break
		}
		now := d.clock.Now()
		failpoint.Hit("jobs.claiming")
		got, err := d.store.Claim(ctx, f, wanted-len(jobs), since, now, now.Add(ttr))
		if err != nil {
			return jobs, err
		}
		if len(got.Jobs) > 0 {
			failpoint.Hit("jobs.claimed")
		}
		d.counts.delivered.Add(float64(len(got.Jobs)))
		jobs = append(jobs, got.Jobs...)
		if got.Full {
			d.hold(desk, got.Next, now)
			break
		}
		d.claimedFrom(desk, f, news, got)
	}
	return jobs, nil
}

// heldFor is how long claims are not tried at most whose queue has used up a limit: other processes end some, and the
// limit may change.
const heldFor = time.Second

// hold stops the claims of a queue for a while, at most until a time unless that is zero.
func (d *desks) hold(desk *desk, until, now time.Time) {
	if longest := now.Add(heldFor); until.IsZero() || until.After(longest) {
		until = longest
	}
	d.mu.Lock()
	desk.heldUntil = until
	d.mu.Unlock()
	time.AfterFunc(until.Sub(now), func() { d.release(d.clock.Now()) })
}

// release lets claims be tried again whose pause has passed.
func (d *desks) release(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, desk := range d.all {
		if !desk.heldUntil.IsZero() && !desk.heldUntil.After(now) {
			desk.heldUntil = time.Time{}
			desk.wakeOne()
		}
	}
}

// freed lets claims of queues be tried again of which some ended in this process.
func (d *desks) freed(keys []jobstore.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range keys {
		if desk := d.all[k.Queue]; desk != nil && !desk.heldUntil.IsZero() {
			desk.heldUntil = time.Time{}
			desk.wakeOne()
		}
	}
}

// next returns the first shelf with ready jobs.
func (d *desks) next(desk *desk) (f jobstore.Shelf, since time.Time, news int, any bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for candidate, s := range desk.shelves {
		if !any || candidate.Compare(f) < 0 {
			f, since, news, any = candidate, s.since, s.news, true
		}
	}
	return f, since, news, any
}

// claimedFrom notes what a claim has shown of a shelf, unless jobs were announced in the meantime.
func (d *desks) claimedFrom(desk *desk, f jobstore.Shelf, news int, got jobstore.Claimed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := desk.shelves[f]
	if s == nil || s.news != news {
		return
	}
	if s.since = got.Last; !got.More {
		delete(desk.shelves, f)
	}
}

// lookAt looks at the tables of a queue once, before its first claim in this process.
func (d *desks) lookAt(ctx context.Context, desk *desk) error {
	d.mu.Lock()
	known := desk.known
	d.mu.Unlock()
	if known {
		return nil
	}
	ready, err := d.store.ReadyShelves(ctx, desk.queue, time.Time{}, d.clock.Now())
	if err != nil {
		return err
	}
	for _, r := range ready {
		if !r.LastTries() {
			d.found(r)
		}
	}
	d.mu.Lock()
	desk.known = true
	d.mu.Unlock()
	return nil
}

// idleMax is how long a desk without polls and ready jobs is kept.
const idleMax = time.Minute

// forget removes the desks that were not used for a time.
func (d *desks) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	for id, desk := range d.all {
		if len(desk.polls)+len(desk.asking) == 0 && !desk.serving && now.Sub(desk.used) > idleMax {
			delete(d.all, id)
		}
	}
}
