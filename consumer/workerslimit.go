package consumer

import (
	"context"
	_ "embed"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	// limitPoll is how often a consumer reports while subtasks wait: it is how long a place that another consumer
	// has freed may stay free.
	limitPoll = 50 * time.Millisecond
	// limitRenew is how often it reports otherwise.
	limitRenew = time.Second
	// limitTTL is how long a report counts. A process that was paused for longer may exceed the limit by what it runs.
	limitTTL = 5 * time.Second
)

//go:embed workerslimit.lua
var workersLimitText string

var workersLimitScript = goredis.NewScript(workersLimitText)

// workersLimit bounds how many subtasks of one lane run at a time in all consumers together. Places go to the
// partitions in the order in which they began to wait, wherever they are read: with k partitions that always have work
// and a limit of 1, each is served once in k subtasks.
//
// Each consumer reports to Redis how many subtasks it runs, for how many more it has room, and which of its partitions
// wait. The script, workerslimit.lua, answers with those that may begin. A report replaces the consumer's earlier one,
// so a lost answer loses no place. A report counts for limitTTL: the places of a consumer that dies are free then. One
// that was paused or cut off for longer, and continues, exceeds the limit by at most what it ran before, until enough
// has ended; nothing new begins meanwhile. While Redis does not answer, each consumer keeps to its even part of the
// limit among those it last knew of, and to at least one.
type workersLimit struct {
	slots  *slots
	claims *claims
	lane   laneName
	wake   chan struct{} // full when demand has changed since the last report

	max  int                // in force; for set alone
	stop context.CancelFunc // of run; nil while there is no limit
	done chan struct{}      // closed when run has ended

	// For run alone.
	limits  chan int // a new limit
	reports int64    // numbers the reports
	known   int      // consumers of the lane by the last answer, this one included
}

func newWorkersLimit(s *slots, c *claims, lane laneName) *workersLimit {
	return &workersLimit{slots: s, claims: c, lane: lane, wake: make(chan struct{}, 1), limits: make(chan int), known: 1}
}

// set puts a limit in force, 0 for none, and reports whether it is another one. It is in force until the next call,
// also when ctx has ended. Running subtasks continue and count. Calls must not overlap.
func (l *workersLimit) set(ctx context.Context, limit int) bool {
	if limit == l.max {
		return false
	}
	switch {
	case limit == 0:
		l.stop()
		<-l.done
		l.slots.share(nil)
	case l.max == 0:
		ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
		l.done = make(chan struct{})
		l.slots.share(func() {
			select {
			case l.wake <- struct{}{}:
			default:
			}
		})
		go l.run(ctx, limit)
	default:
		l.limits <- limit
	}
	l.max = limit
	return true
}

// run reports and grants until ctx ends.
func (l *workersLimit) run(ctx context.Context, limit int) {
	defer close(l.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			l.leave(ctx)
			return
		case limit = <-l.limits:
		case <-l.wake:
		case <-timer.C:
		}
		pause := limitRenew
		if l.grant(ctx, limit) {
			pause = limitPoll
		}
		timer.Reset(pause)
	}
}

// grant lets those subtasks begin for which the limit has places. It reports whether others wait.
func (l *workersLimit) grant(ctx context.Context, limit int) (waiting bool) {
	running, room, partitions := l.slots.demand()
	granted, answered := l.report(ctx, limit, running, room, partitions)
	if !answered {
		part := max(1, limit/l.known)
		granted = partitions[:max(0, min(part-running, room, len(partitions)))]
	}
	for _, partition := range granted {
		l.slots.grant(partition)
	}
	return len(granted) < len(partitions)
}

// report writes this consumer's report and returns the partitions of which one subtask each may begin.
func (l *workersLimit) report(ctx context.Context, limit, running, room int, partitions []int) (granted []int,
	answered bool) {
	l.reports++
	args := make([]any, 0, 6+len(partitions))
	args = append(args, l.claims.node, l.reports, running, room, limit, limitTTL.Milliseconds())
	for _, p := range partitions {
		args = append(args, p)
	}
	answered = l.claims.ask(ctx, func(ctx context.Context) error {
		answer, err := workersLimitScript.Run(ctx, l.claims.client, l.keys(), args...).Int64Slice()
		if err != nil {
			return err
		}
		l.known = max(1, int(answer[0]))
		for _, p := range answer[1:] {
			granted = append(granted, int(p))
		}
		return nil
	})
	return granted, answered
}

// leave takes back this consumer's report, so that its places are free at once.
func (l *workersLimit) leave(ctx context.Context) {
	l.reports++
	l.claims.ask(context.WithoutCancel(ctx), func(ctx context.Context) error {
		return workersLimitScript.Run(ctx, l.claims.client, l.keys(), l.claims.node, l.reports, 0, 0, 0, 0).Err()
	})
}

// keys returns the keys of the lane: the reports, the partitions that wait by their numbers, and the last such number.
func (l *workersLimit) keys() []string {
	lane := l.lane.String()
	return []string{l.claims.keys.Of(lane, "workers"), l.claims.keys.Of(lane, "workers", "waiting"),
		l.claims.keys.Of(lane, "workers", "number")}
}
