package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/clock"
	"adsync/base/lease"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
	"adsync/base/task"
)

// A queued subtask waits for the end of the one of the same account and part in an older run of its task. It is
// deferred from its beginning, and its row of subtask_due names the older run in waits_for. The transaction that ends
// the older subtask makes that row due. The leader then sends it as delivery 2: delivery 1 is the fan-out's.

const queuedBehind = "run:"

// QueuedBehind returns the value of waits_for for a subtask that is queued behind the one of the same account and
// part in a run.
func QueuedBehind(runID int64) string { return queuedBehind + strconv.FormatInt(runID, 10) }

// Never is the due time of subtasks that only an event makes due, not time.
var Never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// QueuedSubtasks returns the accounts and parts of a range that are queued in any of the runs.
func (s Queue) QueuedSubtasks(ctx context.Context, runIDs []int64, in AccountRange) (map[AccountPart]bool, error) {
	queued := map[AccountPart]bool{}
	if len(runIDs) == 0 {
		return queued, nil
	}
	parts, err := AccountParts(ctx, s.Databases, "SELECT account_id, part FROM subtask_due"+
		" WHERE run_id IN ? AND account_id > ? AND account_id <= ? AND waits_for LIKE '"+queuedBehind+"%'",
		runIDs, in.After, in.Through)
	if err != nil {
		return nil, fmt.Errorf("read the queued subtasks of %s: %w", plural.Count(len(runIDs), "run", "runs"), err)
	}
	for _, p := range parts {
		queued[p] = true
	}
	return queued, nil
}

// QueuedPart is a subtask to be queued behind the one of the same account and part in the run Behind.
type QueuedPart struct {
	AccountPart
	Behind int64
}

// AddQueuedSubtasks writes the rows of new queued subtasks, each with its row of subtask_due. Existing rows are left
// alone, also those that no longer wait. Those whose older subtask has ended meanwhile become due at once, since no
// later outcome would make them due. It may be repeated after an error. It returns lease.ErrStaleLease when the lease
// does not hold, and ErrRunChanged when the run is no longer fanning out.
func (s Queue) AddQueuedSubtasks(ctx context.Context, l lease.Lease, run *Run, parts []QueuedPart,
	now time.Time) error {
	if len(parts) == 0 {
		return nil
	}
	due := run.Deadline()
	if due.IsZero() {
		due = Never
	}
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b QueuedPart) int {
		return cmp.Or(cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.Part, b.Part))
	})
	if err := s.markQueuedBehind(ctx, l, parts); err != nil {
		return fmt.Errorf("queue %s of run %d: %w", plural.Count(len(parts), "subtask", "subtasks"), run.ID, err)
	}
	for some := range slices.Chunk(parts, s.Data.RowsPerStatement(10)) {
		// One transaction for both rows: a subtask that is deferred and not in subtask_due would wait forever.
		err := leader.IdempotentTx(ctx, s.Data, l, func(tx *gorm.DB) error { return s.addQueued(tx, run, some, due, now) })
		if err == nil {
			err = s.releaseEnded(ctx, run.ID, some, now)
		}
		if err != nil {
			return fmt.Errorf("queue %s of run %d: %w", plural.Count(len(some), "subtask", "subtasks"), run.ID, err)
		}
	}
	return nil
}

// markQueuedBehind marks runs behind whose subtasks others may be queued, before any are. Only for marked runs does
// the end of a subtask look for queued ones: their runs are unknown to it and may be on any shard.
func (s Queue) markQueuedBehind(ctx context.Context, l lease.Lease, parts []QueuedPart) error {
	var behind []int64
	for _, p := range parts {
		if !slices.Contains(behind, p.Behind) {
			behind = append(behind, p.Behind)
		}
	}
	slices.Sort(behind)
	_, err := leader.UpdateGuarded(ctx, s.Data, l, "run", []leader.Assignment{leader.Assign("queued_behind", "1")},
		"run.id IN ? AND run.queued_behind = 0", behind)
	if err != nil {
		return fmt.Errorf("mark the runs that they wait for: %w", err)
	}
	return nil
}

func (s Queue) addQueued(tx *gorm.DB, run *Run, parts []QueuedPart, due, now time.Time) error {
	table := LogTable(run.ID)
	rows := make([]any, 0, len(parts)*7)
	for _, p := range parts {
		rows = append(rows, run.ID, p.AccountID, p.Part, string(task.Deferred), 1, 0, sqldb.At(now))
	}
	if err := checkFanningOut(tx, run.ID, s.Data.Dialect().Share()); err != nil {
		return err
	}
	err := tx.Exec(s.Data.Dialect().InsertIgnore()+table+
		" (run_id, account_id, part, state, delivery, attempt, created_at) VALUES "+
		sqldb.Tuples(len(parts), 7), rows...).Error
	if err != nil {
		return err
	}
	// An existing row has its row of subtask_due already, if it needs one. That one is left alone too.
	from, args := sqldb.LookUpKeys(s.Data, table, SubtaskKey, keyValues(s.Data, len(parts), func(i int) task.Key {
		return task.Key{RunID: run.ID, AccountID: parts[i].AccountID, Part: parts[i].Part}
	}))
	fresh, err := s.rowsOf(tx, "SELECT t.run_id, t.account_id, t.part FROM "+from+
		" WHERE t.state = 'deferred' AND t.delivery = 1", args...)
	if err != nil || len(fresh) == 0 {
		return err
	}
	var dueRows []any
	n := 0
	for _, p := range parts {
		if !fresh[task.Key{RunID: run.ID, AccountID: p.AccountID, Part: p.Part}] {
			continue
		}
		n++
		dueRows = append(dueRows, run.ID, p.AccountID, p.Part, string(task.Deferred), run.Media, run.Settings.Lane,
			sqldb.At(due), 1, 0,
			"the one before it is open", QueuedBehind(p.Behind))
	}
	return tx.Exec(s.Data.Dialect().InsertIgnore()+
		"subtask_due (run_id, account_id, part, state, media, lane, due_at, delivery, attempt, reason, waits_for) VALUES "+
		sqldb.Tuples(n, 11), dueRows...).Error
}

func (s Queue) rowsOf(tx *gorm.DB, query string, args ...any) (map[task.Key]bool, error) {
	rows, err := tx.Raw(query, args...).Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[task.Key]bool{}
	for rows.Next() {
		var k task.Key
		if err := rows.Scan(&k.RunID, &k.AccountID, &k.Part); err != nil {
			return nil, err
		}
		found[k] = true
	}
	return found, rows.Err()
}

// releaseEnded makes those due whose older subtask is no longer open. The read locks, so that it waits for an outcome
// that looked for queued subtasks before these existed and has not committed yet.
func (s Queue) releaseEnded(ctx context.Context, runID int64, parts []QueuedPart, now time.Time) error {
	byTable := map[string][]QueuedPart{}
	for _, p := range parts {
		byTable[LogTable(p.Behind)] = append(byTable[LogTable(p.Behind)], p)
	}
	var ended []queuedKey
	for table, some := range byTable {
		slices.SortFunc(some, func(a, b QueuedPart) int {
			return compareKeys(task.Key{RunID: a.Behind, AccountID: a.AccountID, Part: a.Part},
				task.Key{RunID: b.Behind, AccountID: b.AccountID, Part: b.Part})
		})
		from, args := sqldb.LookUpKeys(s.Data, table, SubtaskKey, keyValues(s.Data, len(some), func(i int) task.Key {
			return task.Key{RunID: some[i].Behind, AccountID: some[i].AccountID, Part: some[i].Part}
		}))
		var open map[task.Key]bool
		err := s.Data.Retry(ctx, func() error {
			var err error
			open, err = s.rowsOf(s.Data.Writer(ctx), "SELECT t.run_id, t.account_id, t.part FROM "+from+
				" WHERE t.state IN "+openStates+s.Data.Dialect().Share(), args...)
			return err
		})
		if err != nil && !MissingTable(err) {
			return err
		}
		for _, p := range some {
			if !open[task.Key{RunID: p.Behind, AccountID: p.AccountID, Part: p.Part}] {
				ended = append(ended, queuedKey{Key: task.Key{RunID: runID, AccountID: p.AccountID, Part: p.Part},
					behind: p.Behind})
			}
		}
	}
	if len(ended) == 0 {
		return nil
	}
	return s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error { return s.makeDue(tx, ended, now) })
}

// queuedKey is a queued subtask and the run whose subtask it waits for.
type queuedKey struct {
	task.Key
	behind int64
}

// releaseQueued makes due the subtasks that are queued behind those that have ended. It first reads their keys and
// then changes them by key, in the common order of locks.
func releaseQueued(s *sqldb.Databases, tx *gorm.DB, changed []Outcome, notes map[int64]runNote) error {
	var ended [][]any
	now := time.Time{}
	for _, o := range changed {
		if !o.State.Open() && notes[o.RunID].queuedBehind {
			ended = append(ended, []any{QueuedBehind(o.RunID), o.AccountID, o.Part})
			now = clock.Later(now, o.EndedAt)
		}
	}
	var queued []queuedKey
	for some := range slices.Chunk(ended, s.Data.RowsPerStatement(len(queuedIndex))) {
		found, err := Queue{Databases: s}.queuedKeys(tx, queuedSQL(s.Data, len(some)),
			sqldb.Flatten(some, len(queuedIndex))...)
		if err != nil {
			return fmt.Errorf("read what is queued behind %s: %w", plural.Count(len(some), "subtask", "subtasks"), err)
		}
		queued = append(queued, found...)
	}
	if now.IsZero() && len(queued) > 0 {
		var err error
		if now, err = s.Data.NowTx(tx); err != nil {
			return err
		}
	}
	return Queue{Databases: s}.makeDue(tx, queued, now)
}

var queuedIndex = []string{"waits_for", "account_id", "part"}

func queuedSQL(d *sqldb.DB, n int) string {
	return "SELECT t.run_id, t.account_id, t.part, t.waits_for FROM " + sqldb.LookUp(d, "subtask_due", queuedIndex, n)
}

func (s Queue) queuedKeys(tx *gorm.DB, query string, args ...any) ([]queuedKey, error) {
	return sqldb.Rows(tx.Raw(query, args...), func(rows *sql.Rows, k *queuedKey) error {
		var behind string
		err := rows.Scan(&k.RunID, &k.AccountID, &k.Part, &behind)
		if err != nil {
			return err
		}
		if k.behind, err = strconv.ParseInt(strings.TrimPrefix(behind, queuedBehind), 10, 64); err != nil {
			return fmt.Errorf("subtask_due.waits_for %q of %v: %w", behind, k.Key, err)
		}
		return nil
	})
}

// makeDue makes queued subtasks due that still wait for the run behind.
func (s Queue) makeDue(tx *gorm.DB, queued []queuedKey, now time.Time) error {
	slices.SortFunc(queued, func(a, b queuedKey) int { return compareKeys(a.Key, b.Key) })
	for some := range slices.Chunk(queued, s.Data.RowsPerStatement(5)) {
		rows := make([][]any, len(some))
		for i, k := range some {
			rows[i] = []any{k.RunID, k.AccountID, k.Part, sqldb.At(now), QueuedBehind(k.behind)}
		}
		err := sqldb.UpdateByValues(s.Data, tx, sqldb.ValueUpdate{
			Table:   "subtask_due",
			Key:     SubtaskKey,
			Columns: []string{"run_id", "account_id", "part", "due_at", "behind"},
			Set:     [][2]string{{"due_at", "o.due_at"}, {"reason", "''"}, {"waits_for", "''"}},
			Where:   "t.waits_for = o.behind",
		}, rows)
		if err != nil {
			return fmt.Errorf("make %d queued subtasks due: %w", len(some), err)
		}
	}
	return nil
}

// ReleaseQueued makes queued subtasks due whose older subtask is no longer open, and returns how many. It finds those
// of a fan-out that died just after it had queued them; otherwise there are none.
func (s Queue) ReleaseQueued(ctx context.Context, now time.Time) (int, error) {
	released := 0
	for behind := queuedBehind; ; {
		var next []string
		// One seek of the index for each older run: DISTINCT would read all waiting rows.
		err := s.Data.Writer(ctx).Raw(
			"SELECT waits_for FROM subtask_due WHERE waits_for > ? AND waits_for < ? ORDER BY waits_for LIMIT 1",
			behind, queuedBehind+"~").Scan(&next).Error
		if err != nil {
			return released, fmt.Errorf("read the runs that subtasks are queued behind: %w", err)
		}
		if len(next) == 0 {
			return released, nil
		}
		behind = next[0]
		n, err := s.releaseBehind(ctx, behind, now)
		if err != nil {
			return released, fmt.Errorf("release what is queued behind %s: %w", behind, err)
		}
		released += n
	}
}

func (s Queue) releaseBehind(ctx context.Context, behind string, now time.Time) (int, error) {
	runID, err := strconv.ParseInt(strings.TrimPrefix(behind, queuedBehind), 10, 64)
	if err != nil {
		return 0, err
	}
	all := "SELECT d.run_id, d.account_id, d.part, d.waits_for FROM subtask_due d"
	ended, err := s.queuedKeys(s.Data.Writer(ctx), all+" LEFT JOIN "+LogTable(runID)+
		" t ON t.run_id = ? AND t.account_id = d.account_id AND t.part = d.part"+
		" WHERE d.waits_for = ? AND (t.state IS NULL OR t.state NOT IN "+openStates+")", runID, behind)
	if MissingTable(err) {
		ended, err = s.queuedKeys(s.Data.Writer(ctx), all+" WHERE d.waits_for = ?", behind)
	}
	if err != nil || len(ended) == 0 {
		return 0, err
	}
	return len(ended), s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error { return s.makeDue(tx, ended, now) })
}
