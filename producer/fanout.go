package producer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/failpoint"
	"adsync/base/plural"
	"adsync/base/schedule"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/trace"
	"adsync/media"
)

const (
	openRunsMax = 2000 // ticks, and as many orders
	// fanOutRetry is the pause before a failed fan-out is tried again.
	fanOutRetry = 5 * time.Second
	// paceInPlace is how long a fan-out waits for its rate in its place. For a longer wait it frees the place for others.
	paceInPlace = 50 * time.Millisecond
	// A batch of a run with a rate is a burst, whose last subtask waits for the others. While places for fan-outs are
	// free, a batch is what the rate allows in paceStep. Otherwise it is larger, up to pacedMost accounts, so that the run
	// leaves its place to others between two batches.
	paceStep  = 20 * time.Millisecond
	pacedMost = 100
)

// fanOut writes a run's subtasks from its cursor on: rows, then messages, then the cursor. Repeats after a crash have
// the same keys.
func (l *fanOuts) fanOut(ctx context.Context, run *ledger.Run) error {
	handler, known := l.registry.Get(run.Handler)
	if !known {
		return fmt.Errorf("this program has no handler %q", run.Handler)
	}
	if err := l.prepare(ctx, run); err != nil {
		return err
	}
	f := &fanOut{loop: l, run: run, handler: handler, batch: l.batchSize}
	if err := f.markDead(ctx); err != nil {
		return err
	}
	if handler.Target == media.Accounts {
		left, err := l.store.HasSubtasks(ctx, run.ID, run.Cursor)
		if err != nil {
			return err
		}
		f.alone = !left
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if l.stops.ofRun(run) != nil || l.rests(run) || !f.awaitPace(ctx) {
			return nil // Its place is free for others; startFanOuts continues it.
		}
		last, err := f.step(ctx)
		if errors.Is(err, ledger.ErrRunChanged) {
			return f.ended()
		}
		if err != nil {
			return err
		}
		if last {
			return f.finish(ctx)
		}
	}
}

// prepare makes the run's log table and topic. The tables of today and tomorrow exist already, but a run may have
// waited longer.
func (l *fanOuts) prepare(ctx context.Context, run *ledger.Run) error {
	if err := l.tables.ensure(ctx, task.LogDay(run.ID)); err != nil {
		return err
	}
	return l.out.ensureTopic(ctx, run.Media, run.Settings.Lane)
}

// finish ends the fan-out. From then on the run ends with its subtasks.
func (f *fanOut) finish(ctx context.Context) error {
	work, cancel := finishing(ctx)
	defer cancel()
	run := f.run
	empty := task.RunSkipped
	switch {
	case f.refused > 0:
		empty = task.RunFailed
	case f.expired:
		empty = task.RunExpired
	}
	now := f.loop.waiting.Now()
	err := f.loop.store.FinishFanOut(work, f.loop.lease, run.ID, empty, f.note, now)
	if errors.Is(err, ledger.ErrRunChanged) {
		return f.ended()
	}
	if err == nil {
		f.loop.queue.unpace(run.ID)
		f.loop.metrics.fanOut.WithLabelValues(run.Media, run.Settings.Lane).Observe(max(now.Sub(run.CreatedAt).Seconds(), 0))
	}
	if order := run.Settings.Order; err == nil && order != nil && order.Redrive != nil {
		failpoint.Hit("producer.redrive.fanned_out")
	}
	return err
}

// fanOut is the fan-out of one run.
type fanOut struct {
	loop    *fanOuts
	run     *ledger.Run
	handler media.Handler
	batch   int       // accounts at a time
	began   time.Time // when the present batch began, or should have begun

	// alone is true if no earlier leader has left rows beyond the cursor. Then exactly the rows just written are sent.
	alone bool

	refused int    // accounts whose parts could not be planned
	note    string // the first reason why something was left out
	expired bool   // the time to live ended before the fan-out did
}

// ended leaves a run that another writer has changed. If it still needs its fan-out, the next pass continues it.
func (f *fanOut) ended() error {
	f.loop.queue.unpace(f.run.ID)
	f.loop.logger.Info("a run was changed during its fan-out", "run", f.run.ID, "task", f.run.TaskName)
	return nil
}

// batch is one step of a fan-out.
type batch struct {
	parts  []ledger.AccountPart // to be made
	queued []ledger.QueuedPart  // to be made, but to be sent only after an earlier subtask has ended
	in     ledger.AccountRange  // accounts to send
	// login selects the logins to send within a range; it is nil unless the run is over logins.
	login func(id int64) bool
	// cursor is the run's cursor after the batch.
	cursor int64
	last   bool
}

// step does the next batch and reports whether it was the last. After it has begun to write rows, it finishes even if
// ctx ends.
func (f *fanOut) step(ctx context.Context) (last bool, err error) {
	b, err := f.plan(ctx)
	if err != nil {
		return false, err
	}
	if err := f.judgeOverlap(ctx, &b); err != nil {
		return false, err
	}
	work, cancel := finishing(ctx)
	defer cancel()
	run := f.run
	allNew, err := f.loop.store.AddSubtasks(work, f.loop.lease, run.ID, b.parts, f.loop.waiting.Now())
	if err != nil {
		return false, err
	}
	if err := f.loop.store.AddQueuedSubtasks(work, f.loop.lease, run, b.queued, f.loop.waiting.Now()); err != nil {
		return false, err
	}
	failpoint.Hit("producer.fan_out.rows_written")
	parts := b.parts
	if !allNew || !f.alone {
		if parts, err = f.unsent(work, b); err != nil {
			return false, err
		}
	}
	if err := f.replaceOlder(work, b, parts); err != nil {
		return false, err
	}
	f.pace(len(parts))
	if err := f.send(work, parts); err != nil {
		return false, err
	}
	failpoint.Hit("producer.fan_out.sent")
	if b.cursor != run.Cursor || len(parts) > 0 {
		if err := f.loop.store.AdvanceCursor(work, f.loop.lease, run.ID, run.Cursor, b.cursor, run.Offsets,
			f.note); err != nil {
			return false, err
		}
		run.Cursor = b.cursor
	}
	failpoint.Hit("producer.fan_out.cursor_advanced")
	return b.last, nil
}

// tooLate reports whether the run's time to live is over.
func (f *fanOut) tooLate() bool {
	deadline := f.run.Deadline()
	return !deadline.IsZero() && !f.loop.waiting.Now().Before(deadline)
}

// plan reads the next accounts (or logins) and plans their parts.
func (f *fanOut) plan(ctx context.Context) (batch, error) {
	run := f.run
	if f.tooLate() {
		// No new subtasks are made. Those that a crash left unsent are sent, so that a consumer ends them as expired.
		f.expired, f.note = true, cmp.Or(f.note, "the time to live ended before the fan-out did")
		return f.rest(nil), nil
	}
	if order := run.Settings.Order; order != nil && order.Redrive != nil {
		return f.planRedrive(ctx)
	}
	switch f.handler.Target {
	case media.Logins:
		ids, err := f.loop.store.FanOutLogins(ctx, run.Media, run.Cursor, f.batch)
		if err != nil {
			return batch{}, err
		}
		var parts []ledger.AccountPart
		for _, id := range ids {
			parts = append(parts, ledger.AccountPart{Part: ledger.LoginPart(id)})
		}
		if len(ids) < f.batch {
			return f.rest(parts), nil
		}
		return f.until(parts, ids[len(ids)-1]), nil
	case media.Once:
		return f.planOnce(ctx)
	default:
		return f.planAccounts(ctx)
	}
}

// planOnce plans the parts of a run that belongs to no account.
func (f *fanOut) planOnce(ctx context.Context) (batch, error) {
	var listed []string
	if f.handler.List != nil {
		var err error
		if listed, err = f.handler.List(ctx); err != nil {
			return batch{}, err
		}
	}
	return f.rest(f.partsOf(0, f.run.Timezone, listed...)), nil
}

func (f *fanOut) planAccounts(ctx context.Context) (batch, error) {
	run := f.run
	var accounts []ledger.FanOutAccount
	var end int64
	var last bool
	var err error
	if order := run.Settings.Order; order != nil && len(order.Accounts) > 0 {
		ids := slices.DeleteFunc(slices.Clone(order.Accounts), func(id int64) bool { return id <= run.Cursor })
		slices.Sort(ids)
		ids = slices.Compact(ids)
		if last = len(ids) <= f.batch; !last {
			ids = ids[:f.batch]
			end = ids[len(ids)-1]
		}
		if accounts, err = f.loop.store.FanOutAccountsOf(ctx, run.Media, ids); err == nil {
			f.noteMissing(ids, accounts)
		}
	} else {
		accounts, err = f.loop.store.FanOutAccounts(ctx, run.Media, run.Settings.Tiers(), run.Cursor, f.batch)
		if last = len(accounts) < f.batch; !last {
			end = accounts[len(accounts)-1].ID
		}
	}
	if err != nil {
		return batch{}, err
	}
	var parts []ledger.AccountPart
	for _, a := range accounts {
		parts = append(parts, f.partsOf(a.ID, a.Timezone)...)
	}
	if last {
		return f.rest(parts), nil
	}
	return f.until(parts, end), nil
}

// noteMissing names the first account of an order that is left out.
func (f *fanOut) noteMissing(ordered []int64, found []ledger.FanOutAccount) {
	for i, id := range ordered { // Both are sorted.
		if i == len(found) || found[i].ID != id {
			f.note = cmp.Or(f.note, fmt.Sprintf("left out account %d: it is parked, not bound, or not of %s", id, f.run.Media))
			return
		}
	}
}

// until returns a batch that moves the cursor to end.
func (f *fanOut) until(parts []ledger.AccountPart, end int64) batch {
	b := batch{parts: parts, cursor: end}
	if f.handler.Target == media.Accounts {
		b.in = ledger.AccountRange{After: f.run.Cursor, Through: end}
		return b
	}
	// The rows of logins and of the run itself all have account 0.
	b.in = ledger.AccountRange{After: -1, Through: 0}
	if f.handler.Target == media.Logins {
		from := f.run.Cursor
		b.login = func(id int64) bool { return id > from && id <= end }
	}
	return b
}

// rest returns the last batch: it sends all rows beyond the cursor, also of accounts that are no longer in the scope.
func (f *fanOut) rest(parts []ledger.AccountPart) batch {
	b := f.until(parts, math.MaxInt64)
	b.cursor, b.last = f.run.Cursor, true
	return b
}

// partsOf plans the parts of an account, or those of the rows that a handler listed. An account whose parts cannot be
// planned is left out and named in the run.
func (f *fanOut) partsOf(accountID int64, zone string, listed ...string) []ledger.AccountPart {
	names, err := planParts(f.handler, f.run.PlannedAt, zone, f.run.Settings, listed)
	if err != nil {
		f.refused++
		f.loop.metrics.skipped.WithLabelValues("refused").Inc()
		if f.note == "" {
			f.note = fmt.Sprintf("account %d: %v", accountID, err)
			f.loop.logger.Warn("left an account out of a run", "run", f.run.ID, "task", f.run.TaskName,
				"account", accountID, "err", err)
		}
		return nil
	}
	parts := make([]ledger.AccountPart, len(names))
	for i, name := range names {
		parts[i] = ledger.AccountPart{AccountID: accountID, Part: name}
	}
	return parts
}

// planParts returns the handler's parts of an account in a zone, and checks that they fit the table.
func planParts(handler media.Handler, plannedAt time.Time, zone string, settings task.Settings, listed []string,
) ([]string, error) {
	loc, err := schedule.Zone(zone)
	if err != nil {
		return nil, err
	}
	plan := media.Plan{PlannedAt: plannedAt, Zone: loc, Params: settings.Params, Parts: listed}
	if order := settings.Order; order != nil {
		plan.From, plan.To = order.From, order.To
		if len(order.Parts) > 0 {
			plan.Parts = order.Parts
		}
	}
	names, err := handler.Parts(plan)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == "" || len(name) > ledger.PartMax {
			return nil, fmt.Errorf("handler %s made the part %q: want 1 to %d bytes", handler.Name, name, ledger.PartMax)
		}
	}
	return names, nil
}

// unsent returns the parts of the batch to send: its own rows, and those that an earlier leader left unsent.
func (f *fanOut) unsent(ctx context.Context, b batch) ([]ledger.AccountPart, error) {
	parts, err := f.loop.store.UnsentSubtasks(ctx, f.run.ID, b.in)
	if err != nil || b.login == nil {
		return parts, err
	}
	return slices.DeleteFunc(parts, func(p ledger.AccountPart) bool {
		id, ok := ledger.LoginOf(p.Part)
		return !ok || !b.login(id)
	}), nil
}

// awaitPace reports whether the run's rate allows its next batch now. It waits up to paceInPlace for it.
func (f *fanOut) awaitPace(ctx context.Context) bool {
	f.loop.queue.mu.Lock()
	at := f.loop.queue.paced[f.run.ID]
	f.loop.queue.mu.Unlock()
	wait := clock.Until(at)
	if wait > paceInPlace {
		return false
	}
	if wait > 0 {
		waitFor(ctx, wait, nil)
	}
	f.began = clock.Mark()
	rate := f.run.Settings.FanOutRate
	if rate <= 0 {
		return true
	}
	// A batch is sent at once, so it must not exceed the rate of a second.
	f.batch = min(f.loop.batchSize, rate, pacedMost)
	if f.loop.queue.isFull(f.loop.most) {
		return true
	}
	// A batch that begins late makes up for it.
	var late time.Duration
	if !at.IsZero() {
		late = min(max(-wait, 0), time.Duration(f.batch)*time.Second/time.Duration(rate))
	}
	f.began = f.began.Add(-late)
	f.batch = max(min(int((paceStep+late)*time.Duration(rate)/time.Second), f.batch), 1)
	return true
}

// pace delays the run's next batch by the time that its rate takes for n subtasks. The delay also holds if another
// fan-out has had its place in between.
func (f *fanOut) pace(n int) {
	if rate := f.run.Settings.FanOutRate; rate > 0 {
		f.loop.queue.mu.Lock()
		f.loop.queue.paced[f.run.ID] = f.began.Add(time.Duration(n) * time.Second / time.Duration(rate))
		f.loop.queue.mu.Unlock()
	}
}

// send writes the messages of first deliveries and keeps each partition's highest offset in the run.
func (f *fanOut) send(ctx context.Context, parts []ledger.AccountPart) error {
	if len(parts) == 0 {
		return nil
	}
	f.loop.brakes.Sent(ledger.LaneName{Media: f.run.Media, Lane: f.run.Settings.Lane}, len(parts))
	l := f.loop.out.letter(f.run)
	messages := make([]broker.Message, len(parts))
	var spans []trace.Span
	for i, p := range parts {
		key := task.Key{RunID: f.run.ID, AccountID: p.AccountID, Part: p.Part}
		span := f.loop.out.traced(ctx, f.run, key, 1, 0)
		if span.On() {
			spans = append(spans, span)
		}
		messages[i] = l.message(key, 1, 0, span)
	}
	positions, err := f.loop.out.write(ctx, messages)
	for _, span := range spans {
		span.End(err)
	}
	for _, p := range positions {
		f.run.Offsets.Raise(p.Partition, p.Offset)
	}
	if err != nil {
		return fmt.Errorf("send %s of run %d: %w", plural.Count(len(parts), "subtask", "subtasks"), f.run.ID, err)
	}
	f.loop.metrics.sent.WithLabelValues(f.run.Media, f.run.Settings.Lane).Add(float64(len(parts)))
	return nil
}
