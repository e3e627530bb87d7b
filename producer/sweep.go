package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/lease"
	"adsync/base/store/ledger"
	"adsync/producer/brake"
)

// A message can be lost: a log that was created again, a retention that was too short, an unreadable header. Its
// subtask would wait forever. The sweep finds it from the log alone. An outcome is written before the offset is
// committed, so a subtask that still waits for a message that its group has passed is lost, and so is one whose
// message is no longer in the log. Age proves nothing: behind a backlog of hours every message is old, and sending it
// again would only make the backlog longer.

const (
	sweepRuns   = 1000 // read at a time
	sweepAtOnce = 500  // subtasks changed in one transaction
	sweptNames  = 3    // named in the log of a pass
)

// sweeper is the loop that finds lost messages.
type sweeper struct {
	passes  passes
	store   sweepStore
	lease   lease.Lease
	waiting clock.Clock
	timer   Timer // may be nil
	broker  Broker
	brakes  *brake.Brakes
	metrics *metrics
	logger  *slog.Logger

	// done holds the runs whose first deliveries are all accounted for. A subtask never returns to its first delivery, so
	// that a run whose subtasks all wait for retries is not read repeatedly.
	done map[int64]bool
	// gone holds the runs and partitions whose messages were not in the log at the last pass. A second pass must confirm
	// it, because the new leader of a partition may report a shorter log for a moment.
	gone, goneBefore map[any]bool
	swept            swept // by the present pass
}

// sweepStore reads and defers subtasks that wait for messages.
type sweepStore interface {
	RunningRuns(ctx context.Context, after int64, limit int) ([]ledger.RunningRun, error)
	FirstDeliveries(ctx context.Context, run ledger.RunningRun, after ledger.AccountPart, limit int) ([]ledger.LostSubtask,
		error)
	SentRanges(ctx context.Context) ([]ledger.SentRange, error)
	SentWithin(ctx context.Context, r ledger.SentRange, before time.Time, limit int) ([]ledger.LostSubtask, error)
	DeferLost(ctx context.Context, l lease.Lease, lost []ledger.LostSubtask, now time.Time) ([]ledger.Due, error)
}

// Run searches for lost messages until ctx ends.
func (s *sweeper) Run(ctx context.Context) error {
	return s.passes.run(ctx, s.sweep, every(sweepInterval))
}

// swept is what a pass has sent again. It makes one log line, because a lost topic loses messages of every run.
type swept struct {
	subtasks, runs, partitions int
	first                      []string
}

// add counts the subtasks of a run or a partition, described by name.
func (s *swept) add(places *int, subtasks int, name string) {
	if subtasks == 0 {
		return
	}
	*places++
	s.subtasks += subtasks
	if len(s.first) < sweptNames {
		s.first = append(s.first, fmt.Sprintf("%s: %d", name, subtasks))
	}
}

// sweep is one pass. An error of one lane affects no other.
func (s *sweeper) sweep(ctx context.Context) error {
	s.goneBefore, s.gone = s.gone, map[any]bool{}
	s.swept = swept{}
	defer s.logSwept()
	return errors.Join(s.sweepFirst(ctx), s.sweepSent(ctx))
}

// logSwept logs what the pass has sent again, also after an error.
func (s *sweeper) logSwept() {
	if pass := s.swept; pass.subtasks > 0 {
		s.logger.Warn("messages were lost; sending their subtasks again",
			"subtasks", pass.subtasks, "runs", pass.runs, "partitions", pass.partitions, "first", pass.first)
	}
}

// verdict is the state of a place in a log.
type verdict int

const (
	mayCome verdict = iota // the message is still to be read, or under way
	passed                 // the group has finished it
	missing                // the log does not have it, and the group has not passed it
)

// judge returns the state of all messages up to an offset. The partitions' offsets must have been read after the place.
func judge(offset int64, partitions map[int]broker.PartitionOffsets, partition int) verdict {
	p, there := partitions[partition]
	switch {
	case !there, p.End <= offset:
		return missing // The topic, or the log, was created again.
	case offset < p.Committed && p.Committed <= p.End:
		return passed
	case offset < p.Start:
		return missing // The message was deleted before it was read.
	default:
		// A committed offset beyond the end belongs to an earlier log and proves nothing.
		return mayCome
	}
}

// judgeRun judges all first deliveries of a run: they are passed or missing only if they are on every partition.
func judgeRun(offsets ledger.Offsets, partitions map[int]broker.PartitionOffsets) verdict {
	all := passed
	for partition, highest := range offsets {
		switch judge(highest, partitions, partition) {
		case mayCome:
			return mayCome
		case missing:
			all = missing
		case passed:
		}
	}
	return all
}

// sure turns missing into passed after two passes in a row have found it missing.
func (s *sweeper) sure(what any, v verdict) bool {
	if v != missing {
		return v == passed
	}
	s.gone[what] = true
	return s.goneBefore[what]
}

// sweepFirst judges the first deliveries of runs whose fan-out has ended.
func (s *sweeper) sweepFirst(ctx context.Context) error {
	byLane := map[ledger.LaneName][]ledger.RunningRun{}
	open := map[int64]bool{}
	oldest := map[ledger.LaneName]time.Time{}
	for after := int64(0); ; {
		runs, err := s.store.RunningRuns(ctx, after, sweepRuns)
		if err != nil {
			return err
		}
		for _, run := range runs {
			name := ledger.LaneName{Media: run.Media, Lane: run.Lane}
			open[run.ID] = true
			if at, ok := oldest[name]; !ok || run.CreatedAt.Before(at) {
				oldest[name] = run.CreatedAt
			}
			// A run without offsets has not sent a first delivery.
			if !s.done[run.ID] && len(run.Offsets) > 0 {
				byLane[name] = append(byLane[name], run)
			}
		}
		if len(runs) < sweepRuns {
			break
		}
		after = runs[len(runs)-1].ID
	}
	maps.DeleteFunc(s.done, func(id int64, _ bool) bool { return !open[id] })
	s.exportOldest(oldest)
	var errs []error
	for _, name := range slices.SortedFunc(maps.Keys(byLane), brake.CompareLanes) {
		errs = append(errs, s.sweepLane(ctx, name, byLane[name]))
	}
	return errors.Join(errs...)
}

// exportOldest exports the age of the oldest run of each lane as a metric, the only use of age.
func (s *sweeper) exportOldest(oldest map[ledger.LaneName]time.Time) {
	s.metrics.oldestRun.Reset()
	now := s.waiting.Now()
	for name, at := range oldest {
		s.metrics.oldestRun.WithLabelValues(name.Media, name.Lane).Set(max(now.Sub(at), 0).Seconds())
		s.brakes.Begin(name) // So that the lane is looked at, whether it has tasks or not.
	}
}

func (s *sweeper) sweepLane(ctx context.Context, name ledger.LaneName, runs []ledger.RunningRun) error {
	partitions, err := s.partitions(ctx, name)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if !s.sure(run.ID, judgeRun(run.Offsets, partitions)) {
			continue
		}
		if err := s.sweepRun(ctx, run); err != nil {
			return err
		}
		s.done[run.ID] = true
	}
	return nil
}

// partitions returns the offsets of a lane's logs and group, by partition.
func (s *sweeper) partitions(ctx context.Context, name ledger.LaneName) (map[int]broker.PartitionOffsets, error) {
	offsets, err := s.broker.Offsets(ctx, s.broker.GroupName(name.Media, name.Lane),
		s.broker.TopicName(name.Media, name.Lane))
	if err != nil {
		return nil, err
	}
	partitions := make(map[int]broker.PartitionOffsets, len(offsets))
	for _, o := range offsets {
		partitions[o.Partition] = o
	}
	return partitions, nil
}

// sweepRun sends the subtasks of a run again that still wait for their first delivery.
func (s *sweeper) sweepRun(ctx context.Context, run ledger.RunningRun) error {
	n := 0
	defer func() {
		s.swept.add(&s.swept.runs, n, fmt.Sprintf("run %d of %s in %s:%s", run.ID, run.TaskName, run.Media, run.Lane))
	}()
	for after := (ledger.AccountPart{AccountID: -1}); ctx.Err() == nil; {
		lost, err := s.store.FirstDeliveries(ctx, run, after, sweepAtOnce)
		if err != nil {
			return err
		}
		some, err := s.deferLost(ctx, lost)
		n += some
		if err != nil || len(lost) < sweepAtOnce {
			return err
		}
		last := lost[len(lost)-1]
		after = ledger.AccountPart{AccountID: last.AccountID, Part: last.Part}
	}
	return ctx.Err()
}

// deferLost makes lost subtasks due now, and stores that in the timer.
func (s *sweeper) deferLost(ctx context.Context, lost []ledger.LostSubtask) (int, error) {
	if len(lost) == 0 {
		return 0, nil
	}
	due, err := s.store.DeferLost(ctx, s.lease, lost, s.waiting.Now())
	if err != nil {
		return 0, err
	}
	s.metrics.swept.WithLabelValues(lost[0].Media, lost[0].Lane).Add(float64(len(due)))
	addToTimer(ctx, s.timer, due)
	return len(due), nil
}

// sweepSent judges later deliveries, each by the place that its row of subtask_due holds.
func (s *sweeper) sweepSent(ctx context.Context) error {
	ranges, err := s.store.SentRanges(ctx)
	if err != nil {
		return err
	}
	byLane := map[ledger.LaneName][]ledger.SentRange{}
	for _, r := range ranges {
		byLane[r.Lane] = append(byLane[r.Lane], r)
	}
	var errs []error
	for _, name := range slices.SortedFunc(maps.Keys(byLane), brake.CompareLanes) {
		partitions, err := s.partitions(ctx, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, r := range byLane[name] {
			errs = append(errs, s.sweepRange(ctx, r, partitions))
		}
	}
	return errors.Join(errs...)
}

// sweepRange sends lost later deliveries of a partition again. It splits a range of places where the verdict changes.
func (s *sweeper) sweepRange(ctx context.Context, r ledger.SentRange,
	partitions map[int]broker.PartitionOffsets) error {
	cuts := []int64{r.Lowest}
	p := partitions[r.Partition]
	for _, at := range []int64{p.Start, p.Committed, p.End} {
		if at > r.Lowest && at <= r.Highest {
			cuts = append(cuts, at)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	n := 0
	var errs []error
	for i, from := range cuts {
		piece := r
		piece.Lowest = from
		if i+1 < len(cuts) {
			piece.Highest = cuts[i+1] - 1
		}
		v := judge(from, partitions, r.Partition)
		// A message that was written after the log was read lies beyond the end that was read.
		before := s.waiting.Now().Add(-sentAgainAfter)
		if v == passed {
			before = s.waiting.Now().Add(time.Hour)
		}
		if !s.sure(sentPlace{r.Topic, r.Partition}, v) {
			continue
		}
		some, err := s.sweepPlaces(ctx, piece, before)
		n += some
		errs = append(errs, err)
	}
	s.swept.add(&s.swept.partitions, n, fmt.Sprintf("topic %s, partition %d", r.Topic, r.Partition))
	return errors.Join(errs...)
}

// sentPlace identifies a partition in gone.
type sentPlace struct {
	topic     string
	partition int
}

func (s *sweeper) sweepPlaces(ctx context.Context, r ledger.SentRange, before time.Time) (n int, err error) {
	for ctx.Err() == nil {
		lost, err := s.store.SentWithin(ctx, r, before, sweepAtOnce)
		if err != nil {
			return n, err
		}
		some, err := s.deferLost(ctx, lost)
		n += some
		// Changed subtasks have left the range. The others have an outcome by now, or belong to another pass.
		if err != nil || len(lost) < sweepAtOnce || some == 0 {
			return n, err
		}
	}
	return n, ctx.Err()
}
