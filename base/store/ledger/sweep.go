package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
	"adsync/base/task"
)

// RunningRun is the part of a running run that the sweep needs.
type RunningRun struct {
	ID        int64
	TaskName  string
	Media     string
	Lane      string
	Offsets   Offsets // of its first deliveries
	CreatedAt time.Time
}

// RunningRuns returns the running runs with an id above after, by id. Their fan-outs have ended.
func (s Subtasks) RunningRuns(ctx context.Context, after int64, limit int) ([]RunningRun, error) {
	query := s.Data.Writer(ctx).Raw("SELECT id, task_name, media, lane, offsets, created_at FROM run"+
		" WHERE state = ? AND id > ? ORDER BY id LIMIT ?", string(task.RunRunning), after, limit)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, r *RunningRun) error {
		r.Offsets = Offsets{}
		var offsets sql.NullString
		var created sqldb.Time
		if err := rows.Scan(&r.ID, &r.TaskName, &r.Media, &r.Lane, &offsets, &created); err != nil {
			return err
		}
		r.CreatedAt = created.Time
		if offsets.String == "" {
			return nil
		}
		if err := json.Unmarshal([]byte(offsets.String), &r.Offsets); err != nil {
			return fmt.Errorf("offsets of run %d: %w", r.ID, err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read running runs: %w", err)
	}
	return all, nil
}

// LostSubtask is a subtask that waits for a message that no consumer will read again.
type LostSubtask struct {
	task.Key
	Media    string
	Lane     string
	Delivery int // the one that was lost
}

// FirstDeliveries returns the subtasks of a run beyond after that wait for their first delivery, by key. It reads the
// run's rows: call it only when the log shows that there should be none.
func (s Subtasks) FirstDeliveries(
	ctx context.Context, run RunningRun, after AccountPart, limit int,
) ([]LostSubtask, error) {
	// Not (account_id, part) > (?, ?), which MySQL answers by reading the run from its beginning.
	parts, err := AccountParts(ctx, s.Databases, "SELECT account_id, part FROM "+LogTable(run.ID)+
		" WHERE run_id = ? AND account_id >= ? AND (account_id > ? OR part > ?) AND state = ? AND delivery = 1"+
		" ORDER BY account_id, part LIMIT ?",
		run.ID, after.AccountID, after.AccountID, after.Part, string(task.Waiting), limit)
	if MissingTable(err) {
		return nil, nil // The day was dropped, and what was open in it expired.
	}
	if err != nil {
		return nil, fmt.Errorf("read the first deliveries of run %d: %w", run.ID, err)
	}
	lost := make([]LostSubtask, len(parts))
	for i, p := range parts {
		lost[i] = LostSubtask{Key: task.Key{RunID: run.ID, AccountID: p.AccountID, Part: p.Part}, Media: run.Media,
			Lane: run.Lane, Delivery: 1}
	}
	return lost, nil
}

// SentRange is the range of a partition that holds messages that were sent again and have no outcome yet.
type SentRange struct {
	Lane      LaneName // the topic's
	Topic     string
	Partition int
	Lowest    int64
	Highest   int64
}

// SentRanges returns the range of each partition with such messages.
func (s Subtasks) SentRanges(ctx context.Context) ([]SentRange, error) {
	rows, err := s.Data.Writer(ctx).Raw(
		"SELECT topic, topic_partition, MIN(topic_offset), MAX(topic_offset) FROM subtask_due" +
			" WHERE topic > '" + noPlace + "' GROUP BY topic, topic_partition ORDER BY topic, topic_partition").Rows()
	if err != nil {
		return nil, fmt.Errorf("read where messages were sent again: %w", err)
	}
	defer rows.Close()
	var all []SentRange
	for rows.Next() {
		var r SentRange
		if err := rows.Scan(&r.Topic, &r.Partition, &r.Lowest, &r.Highest); err != nil {
			return nil, fmt.Errorf("read where messages were sent again: %w", err)
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read where messages were sent again: %w", err)
	}
	return s.withLanes(ctx, all)
}

// withLanes sets each range's lane, read from any run that has messages there. Ranges whose topic has no run are left
// out.
func (s Subtasks) withLanes(ctx context.Context, ranges []SentRange) ([]SentRange, error) {
	join := " STRAIGHT_JOIN " // With JOIN, MySQL reads the runs first and looks for messages of each.
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		join = " CROSS JOIN "
	}
	lanes := map[string]LaneName{}
	for _, r := range ranges {
		if _, known := lanes[r.Topic]; known {
			continue
		}
		var name LaneName
		err := s.Data.Writer(ctx).Raw("SELECT r.media, r.lane FROM subtask_due d"+join+
			"run r ON r.id = d.run_id WHERE d.topic = ? LIMIT 1", r.Topic).Row().
			Scan(&name.Media, &name.Lane)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, fmt.Errorf("read the lane of topic %s: %w", r.Topic, err)
		}
		lanes[r.Topic] = name
	}
	for i := range ranges {
		ranges[i].Lane = lanes[ranges[i].Topic]
	}
	return slices.DeleteFunc(ranges, func(r SentRange) bool { return r.Lane == LaneName{} }), nil
}

// SentWithin returns subtasks whose messages lie in the range and were sent again before a moment.
func (s Subtasks) SentWithin(ctx context.Context, r SentRange, before time.Time, limit int) ([]LostSubtask, error) {
	// By the place: otherwise MySQL reads every message that was sent again and has no outcome yet.
	query := s.Data.Writer(ctx).Raw("SELECT run_id, account_id, part, media, lane, delivery FROM subtask_due"+
		dueByPlace(s.Data)+
		" WHERE topic = ? AND topic_partition = ? AND topic_offset BETWEEN ? AND ? AND state = ? AND due_at < ?"+
		" ORDER BY topic_offset LIMIT ?",
		r.Topic, r.Partition, r.Lowest, r.Highest, dueSent, sqldb.At(before), limit)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, l *LostSubtask) error {
		return rows.Scan(&l.RunID, &l.AccountID, &l.Part, &l.Media, &l.Lane, &l.Delivery)
	})
	if err != nil {
		return nil, fmt.Errorf("read what was sent again to %s: %w", r.Topic, err)
	}
	return all, nil
}

const lostReason = "its message was lost"

// DeferLost makes lost subtasks due now, without charging an attempt, so that their next delivery is sent. Subtasks
// that no longer wait for the lost delivery are left alone. It returns those that it changed, or lease.ErrStaleLease
// when the lease does not hold.
func (s Subtasks) DeferLost(ctx context.Context, l lease.Lease, lost []LostSubtask, now time.Time) ([]Due, error) {
	lost = slices.Clone(lost)
	slices.SortFunc(lost, func(a, b LostSubtask) int { return compareKeys(a.Key, b.Key) })
	var done changed
	err := leader.Tx(ctx, s.Data, l, func(tx *gorm.DB) error {
		done = changed{}
		waiting, err := s.lockWaiting(tx, lost, now)
		if err != nil || len(waiting) == 0 {
			return err
		}
		if done, err = changeSubtasks(s.Databases, tx, waiting); err != nil {
			return err
		}
		return changeDue(s.Databases, tx, done)
	})
	if err != nil {
		return nil, fmt.Errorf("defer %d lost subtasks: %w", len(lost), err)
	}
	due := make([]Due, len(done.outcomes))
	for i, o := range done.outcomes {
		due[i] = Due{Key: o.Key, State: o.State, DueAt: o.DueAt, Delivery: o.Delivery, Attempt: o.Attempt}
	}
	return due, nil
}

// lockWaiting returns, as outcomes, those of the subtasks that still wait for the lost delivery. It locks their rows:
// an outcome only checks that a row is open, and a row that waits for its retry keeps the delivery in which it
// failed.
func (s Subtasks) lockWaiting(tx *gorm.DB, lost []LostSubtask, now time.Time) ([]Outcome, error) {
	var waiting []Outcome
	most := s.Data.RowsPerStatement(len(SubtaskKey))
	for len(lost) > 0 {
		table, n := LogTable(lost[0].RunID), 1
		for n < len(lost) && n < most && sameLogTable(lost[n].RunID, lost[0].RunID) {
			n++
		}
		some := lost[:n]
		lost = lost[n:]
		status := map[task.Key]SubtaskStatus{}
		err := readStates(tx, s.Data, table, s.Data.Dialect().ForUpdate(), len(some),
			func(i int) task.Key { return some[i].Key }, status)
		if MissingTable(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("lock the lost subtasks in %s: %w", table, err)
		}
		for _, l := range some {
			if have := status[l.Key]; have.State == task.Waiting && have.Delivery == l.Delivery {
				waiting = append(waiting, Outcome{
					Key: l.Key, Media: l.Media, Lane: l.Lane, Delivery: l.Delivery, Attempt: have.Attempt,
					State: task.Deferred, DueAt: now, Reason: lostReason, ErrorText: lostReason,
				})
			}
		}
	}
	return waiting, nil
}
