package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"gorm.io/gorm"

	"adsync/base/lease"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
	"adsync/base/task"
)

// dueSent is the state of a row of subtask_due whose subtask was sent again. The row stays until the outcome and
// holds the message's place in the log.
const dueSent = "sent"

// noPlace is the topic of a row whose subtask was sent again while the message's place is not recorded. No topic can
// have this name, and each possible name sorts after it. A waiting row has the topic "". It is not "?", which
// libraries take for a value's placeholder.
const noPlace = "!"

// Due is a row of subtask_due: a subtask that waits for a retry or for quota, or that was sent again after it.
type Due struct {
	task.Key
	State    task.State // Retrying, Deferred, or "sent"
	DueAt    time.Time  // when it is to be sent, or was sent
	Delivery int
	Attempt  int
	// Outside means that its work continued elsewhere when it was deferred last, see task.IsOutside.
	Outside bool
}

// DueSubtasks returns subtasks that are to be sent now, by key: those that wait until now or earlier, and those that
// were sent before lost and whose place in the log is not recorded. A zero lost leaves the latter out.
func (s Subtasks) DueSubtasks(ctx context.Context, now, lost time.Time, limit int) ([]Due, error) {
	var all []Due
	for _, state := range []task.State{task.Retrying, task.Deferred} {
		due, err := readDue(ctx, s.Databases, "WHERE state = ? AND due_at <= ? ORDER BY due_at LIMIT ?", string(state),
			sqldb.At(now), limit)
		if err != nil {
			return nil, err
		}
		all = append(all, due...)
	}
	if !lost.IsZero() {
		// By the place: by the state it would read everything that is under way.
		due, err := readDue(ctx, s.Databases, dueByPlace(s.Data)+
			" WHERE topic = ? AND state = ? AND due_at <= ? ORDER BY due_at LIMIT ?", noPlace, dueSent, sqldb.At(lost), limit)
		if err != nil {
			return nil, err
		}
		all = append(all, due...)
	}
	SortDue(all)
	return all, nil
}

// SortDue sorts subtasks by key.
func SortDue(due []Due) {
	slices.SortFunc(due, func(a, b Due) int { return compareKeys(a.Key, b.Key) })
}

// dueByPlace follows subtask_due in a statement that must use the index of places.
func dueByPlace(d *sqldb.DB) string { return d.Dialect().ForceIndex("subtask_due", "place") }

// readDue reads rows of subtask_due; tail follows the table's name.
func readDue(ctx context.Context, s *sqldb.Databases, tail string, args ...any) ([]Due, error) {
	rows, err := s.Data.Writer(ctx).Raw(
		"SELECT run_id, account_id, part, state, due_at, delivery, attempt, outside FROM subtask_due "+tail, args...).Rows()
	if err != nil {
		return nil, fmt.Errorf("read due subtasks: %w", err)
	}
	all, err := scanDue(rows)
	if err != nil {
		return nil, fmt.Errorf("read due subtasks: %w", err)
	}
	return all, nil
}

// scanDue reads rows to their end and closes them.
func scanDue(rows *sql.Rows) ([]Due, error) {
	defer rows.Close()
	var all []Due
	for rows.Next() {
		var d Due
		var at sqldb.Time
		if err := rows.Scan(&d.RunID, &d.AccountID, &d.Part, &d.State, &at, &d.Delivery, &d.Attempt,
			&d.Outside); err != nil {
			return nil, err
		}
		d.DueAt = at.Time
		all = append(all, d)
	}
	return all, rows.Err()
}

// RowsOfKeys returns keys as the rows of a list.
func RowsOfKeys(keys []task.Key) [][]any {
	rows := make([][]any, len(keys))
	for i, k := range keys {
		rows[i] = []any{k.RunID, k.AccountID, k.Part}
	}
	return rows
}

// DueOf returns the rows of subtask_due for the given keys, if any, as the writer holds them.
func (s Subtasks) DueOf(ctx context.Context, keys []task.Key) (map[task.Key]Due, error) {
	found := make(map[task.Key]Due, len(keys))
	for some := range slices.Chunk(keys, s.Data.RowsPerStatement(len(SubtaskKey))) {
		from, args := sqldb.LookUpKeys(s.Data, dueTable.Name, SubtaskKey,
			keyValues(s.Data, len(some), func(i int) task.Key { return some[i] }))
		rows, err := s.Data.Writer(ctx).Raw(
			"SELECT t.run_id, t.account_id, t.part, t.state, t.due_at, t.delivery, t.attempt, t.outside FROM "+from,
			args...).Rows()
		if err != nil {
			return nil, fmt.Errorf("look up %d due subtasks: %w", len(keys), err)
		}
		list, err := scanDue(rows)
		if err != nil {
			return nil, fmt.Errorf("look up %d due subtasks: %w", len(keys), err)
		}
		for _, d := range list {
			found[d.Key] = d
		}
	}
	return found, nil
}

// WaitOf returns why a subtask waits to be sent again, and when it will be sent; zero values for one that does not
// wait.
func (s Subtasks) WaitOf(ctx context.Context, k task.Key) (reason string, due time.Time, err error) {
	var at sqldb.Time
	err = s.Data.Writer(ctx).Raw(
		"SELECT reason, due_at FROM subtask_due WHERE run_id = ? AND account_id = ? AND part = ? AND state <> ?",
		k.RunID, k.AccountID, k.Part, dueSent).Row().Scan(&reason, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return "", time.Time{}, nil
	}
	if err != nil {
		return "", time.Time{}, fmt.Errorf("read why subtask %v waits: %w", k, err)
	}
	return reason, at.Time, nil
}

// DropDue deletes rows of subtask_due that nothing can be done for, as long as each is still as it was read. It
// returns lease.ErrStaleLease when the lease does not hold.
func (s Subtasks) DropDue(ctx context.Context, l lease.Lease, due []Due) error {
	due = slices.Clone(due)
	SortDue(due)
	err := leader.Tx(ctx, s.Data, l, func(tx *gorm.DB) error {
		for _, d := range due { // They are few: a run is not deleted before its subtasks.
			err := tx.Exec(
				"DELETE FROM subtask_due WHERE run_id = ? AND account_id = ? AND part = ? AND state = ? AND delivery = ?",
				d.RunID, d.AccountID, d.Part, string(d.State), d.Delivery).Error
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop %d due subtasks: %w", len(due), err)
	}
	return nil
}

// NextDeliveries prepares due subtasks to be sent: each whose row is still as its row of subtask_due gets its next
// delivery number and waits for that delivery. It returns those with the new number, by key. Rows that have changed
// meanwhile are left alone, and a row whose subtask has ended or is gone is deleted. It returns lease.ErrStaleLease
// when the lease does not hold. After another error some may have their next number: their rows are "sent" without a
// place, by which DueSubtasks finds them.
func (s Subtasks) NextDeliveries(ctx context.Context, l lease.Lease, due []Due, now time.Time) ([]Due, error) {
	due = slices.Clone(due)
	SortDue(due)
	var advanced []Due
	// One mark for all tries: it finds the rows of a try that was committed although its answer was lost. They are to be
	// sent too.
	batch := strconv.FormatUint(rand.Uint64(), 36)
	err := leader.IdempotentTx(ctx, s.Data, l, func(tx *gorm.DB) error {
		advanced = nil
		for rest := due; len(rest) > 0; {
			table, n := LogTable(rest[0].RunID), 1
			for n < len(rest) && n < s.Data.RowsPerStatement(6) && sameLogTable(rest[n].RunID, rest[0].RunID) {
				n++
			}
			some := rest[:n]
			rest = rest[n:]
			changed, err := s.nextDeliveriesIn(tx, table, batch, some, now)
			if err != nil {
				return err
			}
			advanced = append(advanced, changed...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("number the next deliveries of %d due subtasks: %w", len(due), err)
	}
	return advanced, nil
}

func (s Subtasks) nextDeliveriesIn(tx *gorm.DB, table, batch string, due []Due, now time.Time) ([]Due, error) {
	rows := make([][]any, len(due))
	for i, d := range due {
		expected := d.State
		if expected == dueSent {
			expected = task.Waiting
		}
		rows[i] = []any{d.RunID, d.AccountID, d.Part, string(expected), d.Delivery, batch}
	}
	err := sqldb.UpdateByValues(s.Data, tx, sqldb.ValueUpdate{
		Table:   table,
		Key:     SubtaskKey,
		Columns: []string{"run_id", "account_id", "part", "state", "delivery", "batch"},
		Set:     [][2]string{{"state", "'waiting'"}, {"delivery", "o.delivery + 1"}, {"batch", "o.batch"}},
		Where:   "t.state = o.state AND t.delivery = o.delivery",
	}, rows)
	status := map[task.Key]SubtaskStatus{}
	marked := map[task.Key]bool{}
	switch {
	case MissingTable(err): // The day was dropped; nothing of it can be sent.
	case err != nil:
		return nil, err
	default:
		if err := s.readMarked(tx, table, batch, due, status, marked); err != nil {
			return nil, err
		}
	}
	var changed []Due
	var sent, gone [][]any
	for _, d := range due {
		have, found := status[d.Key]
		switch {
		case marked[d.Key]:
			d.Delivery, d.State = have.Delivery, dueSent
			changed = append(changed, d)
			sent = append(sent, []any{d.RunID, d.AccountID, d.Part, d.Delivery, sqldb.At(now)})
		case !found || !have.State.Open():
			gone = append(gone, []any{d.RunID, d.AccountID, d.Part})
		}
	}
	if len(sent) > 0 {
		err := sqldb.UpdateByValues(s.Data, tx, sqldb.ValueUpdate{
			Table:   "subtask_due",
			Key:     SubtaskKey,
			Columns: []string{"run_id", "account_id", "part", "delivery", "due_at"},
			Set: [][2]string{{"state", "'" + dueSent + "'"}, {"delivery", "o.delivery"}, {"due_at", "o.due_at"},
				{"waits_for", "''"}, {"topic", "'" + noPlace + "'"}, {"topic_partition", "-1"}, {"topic_offset", "-1"}},
		}, sent)
		if err != nil {
			return nil, err
		}
	}
	return changed, sqldb.DeleteByKeys(s.Data, tx, "subtask_due", SubtaskKey, gone)
}

// readMarked reads the present status of the rows into status, and which of them carry the mark into marked.
func (s Subtasks) readMarked(tx *gorm.DB, table, batch string, due []Due, status map[task.Key]SubtaskStatus,
	marked map[task.Key]bool) error {
	from, args := sqldb.LookUpKeys(s.Data, table, SubtaskKey,
		keyValues(s.Data, len(due), func(i int) task.Key { return due[i].Key }))
	query := tx.Raw("SELECT t.run_id, t.account_id, t.part, t.state, t.delivery, t.attempt, t.batch FROM "+from, args...)
	return sqldb.EachRow(query, func(rows *sql.Rows) error {
		var k task.Key
		var have SubtaskStatus
		var mark string
		if err := rows.Scan(&k.RunID, &k.AccountID, &k.Part, &have.State, &have.Delivery, &have.Attempt, &mark); err != nil {
			return err
		}
		status[k] = have
		marked[k] = mark == batch
		return nil
	})
}

// SentDue is the place in the log of the message of a subtask that was sent again.
type SentDue struct {
	task.Key
	Delivery  int
	Topic     string
	Partition int
	Offset    int64
}

// RecordSent records the places of messages. A row that is gone, or has its next delivery, is left alone.
func (s Subtasks) RecordSent(ctx context.Context, sent []SentDue) error {
	if len(sent) == 0 {
		return nil
	}
	sent = slices.Clone(sent)
	slices.SortFunc(sent, func(a, b SentDue) int { return compareKeys(a.Key, b.Key) })
	for some := range slices.Chunk(sent, s.Data.RowsPerStatement(7)) {
		rows := make([][]any, len(some))
		for i, d := range some {
			rows[i] = []any{d.RunID, d.AccountID, d.Part, d.Delivery, d.Topic, d.Partition, d.Offset}
		}
		err := s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error {
			return sqldb.UpdateByValues(s.Data, tx, sqldb.ValueUpdate{
				Table:   "subtask_due",
				Key:     SubtaskKey,
				Columns: []string{"run_id", "account_id", "part", "delivery", "topic", "topic_partition", "topic_offset"},
				Set: [][2]string{{"topic", "o.topic"}, {"topic_partition", "o.topic_partition"},
					{"topic_offset", "o.topic_offset"}},
				Where: "t.state = '" + dueSent + "' AND t.delivery = o.delivery",
			}, rows)
		})
		if err != nil {
			return fmt.Errorf("record where %s were sent: %w", plural.Count(len(some), "subtask", "subtasks"), err)
		}
	}
	return nil
}

// CountDue returns how many rows subtask_due has, by state: "retrying", "deferred" and "sent".
func (s Subtasks) CountDue(ctx context.Context) (map[string]int64, error) {
	rows, err := s.Data.Writer(ctx).Raw("SELECT state, COUNT(*) FROM subtask_due GROUP BY state").Rows()
	if err != nil {
		return nil, fmt.Errorf("count due subtasks: %w", err)
	}
	defer rows.Close()
	counts := map[string]int64{string(task.Retrying): 0, string(task.Deferred): 0, dueSent: 0}
	for rows.Next() {
		var state string
		var n int64
		if err := rows.Scan(&state, &n); err != nil {
			return nil, fmt.Errorf("count due subtasks: %w", err)
		}
		counts[state] = n
	}
	return counts, rows.Err()
}
