package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
	sqlitedriver "modernc.org/sqlite"

	"adsync/base/lease"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
	"adsync/base/task"
)

// Outcome is the result of one delivery of a subtask.
type Outcome struct {
	task.Key
	Media    string
	Lane     string
	TaskID   int64
	Delivery int // of the message that was worked on; the row must still hold it
	Attempt  int // failures so far, this one included
	// State is any but Waiting. Retrying and Deferred need DueAt; a Failed subtask is kept as dead.
	State      task.State
	DueAt      time.Time
	Reason     string // why it waits
	WaitsFor   string // what else a Deferred one waits for, such as task.PauseRef; the end of that makes it due
	Outside    bool   // the work of a Deferred one continues elsewhere meanwhile, see task.IsOutside
	ErrorClass string
	ErrorText  string // cut to ErrorTextMax characters
	Node       string // who worked on it
	StartedAt  time.Time
	EndedAt    time.Time
	Rows       int // rows written by this try
	Calls      int // API calls spent by this try; the row adds them up
	// For the notice to the task's application, if it has one.
	TraceID  string      // empty if the delivery is not traced
	TimedOut bool        // this try took longer than the task allows
	Files    []task.File // that the subtask has delivered; task.FilesMax are kept
}

// ErrorTextMax is how many characters of an error's text a subtask's row keeps.
const ErrorTextMax = 1024

// ApplyOutcomes writes outcomes to the subtasks' rows and adds them to the counts of their runs, in one transaction:
// the counts always equal the rows, whatever is delivered twice, late or in another order.
//
// An outcome changes its row only if the row is still open and holds the outcome's delivery. stale counts the
// outcomes that changed nothing, because their row is newer, has ended, or is gone with its day's table. The order of
// outcomes does not matter; of two for the same delivery one counts.
//
// A subtask that was queued behind one that ends here becomes due in the same transaction, which also writes the
// notices to the tasks' applications.
//
// After an error the result is not known: the transaction may have been committed. The same outcomes may be applied
// again in either case: those that changed their rows already are stale.
func (s Outcomes) ApplyOutcomes(ctx context.Context, outcomes []Outcome) (stale int, err error) {
	return s.applyOutcomes(ctx, outcomes, s.Data.IdempotentTx)
}

// ApplyLeaderOutcomes applies outcomes that the leader decides on, like ApplyOutcomes, as long as the lease holds. It
// returns lease.ErrStaleLease when the lease does not hold.
func (s Outcomes) ApplyLeaderOutcomes(ctx context.Context, l lease.Lease, outcomes []Outcome) (stale int, err error) {
	return s.applyOutcomes(ctx, outcomes, func(ctx context.Context, fn func(tx *gorm.DB) error) error {
		return leader.IdempotentTx(ctx, s.Data, l, fn)
	})
}

func (s Outcomes) applyOutcomes(ctx context.Context, outcomes []Outcome,
	inTx func(context.Context, func(tx *gorm.DB) error) error) (stale int, err error) {
	sorted, err := prepareOutcomes(outcomes)
	if err != nil || len(sorted) == 0 {
		return 0, err
	}
	var done changed
	err = inTx(ctx, func(tx *gorm.DB) error {
		var err error
		// All transactions take their locks in one order: the leader's row, subtasks by key, the rows that belong to them,
		// then runs by id. The run's row comes last because every consumer needs it: it is locked for two statements and
		// the commit, and a little longer by the outcome that ends the run.
		if done, err = changeSubtasks(s.Databases, tx, sorted); err != nil || len(done.outcomes) == 0 {
			return err
		}
		if err := changeDue(s.Databases, tx, done); err != nil {
			return err
		}
		notes, err := runNotes(tx, done.outcomes)
		if err != nil {
			return err
		}
		if err := releaseQueued(s.Databases, tx, done.outcomes, notes); err != nil {
			return err
		}
		if err := s.insertDead(tx, done.outcomes); err != nil {
			return err
		}
		if err := insertFailures(s.Databases, tx, done.outcomes); err != nil {
			return err
		}
		if err := s.insertNotices(tx, done.outcomes, notes); err != nil {
			return err
		}
		return s.countOutcomes(tx, done.outcomes)
	})
	if err != nil {
		return 0, fmt.Errorf("apply %d outcomes: %w", len(sorted), err)
	}
	return len(outcomes) - len(done.outcomes), nil
}

// prepareOutcomes returns the outcomes by key, one for each delivery, with texts that fit their columns: a text that
// the database refuses would block the whole batch.
func prepareOutcomes(outcomes []Outcome) ([]Outcome, error) {
	sorted := slices.Clone(outcomes)
	slices.SortStableFunc(sorted, func(a, b Outcome) int {
		return cmp.Or(compareKeys(a.Key, b.Key), cmp.Compare(a.Delivery, b.Delivery))
	})
	sorted = slices.CompactFunc(sorted, func(a, b Outcome) bool { return a.Key == b.Key && a.Delivery == b.Delivery })
	for i := range sorted {
		o := &sorted[i]
		switch o.State {
		case task.Retrying, task.Deferred:
			if o.DueAt.IsZero() {
				return nil, fmt.Errorf("outcome %s of %v: DueAt is not set", o.State, o.Key)
			}
		case task.Succeeded, task.Failed, task.Expired, task.Cancelled, task.Superseded:
		default:
			return nil, fmt.Errorf("outcome of %v: state %q is no outcome", o.Key, o.State)
		}
		o.Media, o.Lane, o.Node = sqldb.Cut(o.Media, 32), sqldb.Cut(o.Lane, 32), sqldb.Cut(o.Node, 64)
		o.Reason, o.WaitsFor = sqldb.Cut(o.Reason, 255), sqldb.Cut(o.WaitsFor, 64)
		o.ErrorClass, o.ErrorText = sqldb.Cut(o.ErrorClass, 16), sqldb.Cut(o.ErrorText, ErrorTextMax)
		o.Files = boundFiles(o.Files)
	}
	return sorted, nil
}

// boundFiles returns as many files as a notice has, with texts of a bounded length: a message that Kafka refuses would
// block those after it.
func boundFiles(files []task.File) []task.File {
	files = slices.Clone(files[:min(len(files), task.FilesMax)])
	for i := range files {
		f := &files[i]
		for _, text := range []*string{&f.ID, &f.Subscription, &f.Destination, &f.Name, &f.SHA256} {
			*text = sqldb.Cut(*text, task.FileTextMax)
		}
	}
	return files
}

func compareKeys(a, b task.Key) int {
	return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.Part, b.Part))
}

// openStates is the set of task.State.Open as SQL.
const openStates = "('waiting', 'retrying', 'deferred')"

// changed is the effect of a batch of outcomes.
type changed struct {
	outcomes []Outcome
	// fresh is set when all rows were as they had been made: none was ever put off, so none has a row in subtask_due.
	fresh bool
}

// changeSubtasks updates the rows that are open and hold their outcome's delivery, and returns their outcomes.
func changeSubtasks(s *sqldb.Databases, tx *gorm.DB, sorted []Outcome) (changed, error) {
	// A new mark for each try: the rows of a try that was rolled back, or committed with a lost answer, must not carry
	// this try's mark.
	batch := strconv.FormatUint(rand.Uint64(), 36)
	most := s.Data.RowsPerStatement(outcomeColumns)
	all := changed{fresh: true}
	for len(sorted) > 0 {
		table := LogTable(sorted[0].RunID)
		n, fit := 1, s.Data.FittingOf(min(most, len(sorted)),
			func(i int) int { return outcomeBytes + len(sorted[i].Part) + len(sorted[i].ErrorText) })
		for n < fit && sameLogTable(sorted[n].RunID, sorted[0].RunID) {
			n++
		}
		part := sorted[:n]
		sorted = sorted[n:]
		if err := (Outcomes{Databases: s}).changeSome(tx, table, batch, part, &all); err != nil && !MissingTable(err) {
			return changed{}, err // A missing table's day was dropped with all its rows: nothing is left to change.
		}
	}
	return all, nil
}

// changeSome updates rows of one table. Nearly always all of them wait for the outcome, and the first statement's
// count proves that it changed them all.
func (s Outcomes) changeSome(tx *gorm.DB, table, batch string, outcomes []Outcome, all *changed) error {
	n, err := s.updateSubtasks(tx, subtaskUpdate(table, "t.state = 'waiting'"), batch, outcomes)
	if err != nil {
		return err
	}
	if int(n) == len(outcomes) {
		again := func(o Outcome) bool { return o.Delivery > 1 }
		all.outcomes, all.fresh = append(all.outcomes, outcomes...), all.fresh && !slices.ContainsFunc(outcomes, again)
		return nil
	}
	all.fresh = false
	// A message may come again when its row was put off already. The rows with this try's mark are done.
	if _, err := s.updateSubtasks(tx, subtaskUpdate(table, "t.state IN "+openStates+" AND t.batch <> o.batch"), batch,
		outcomes); err != nil {
		return err
	}
	marked, err := s.markedSubtasks(tx, table, batch, outcomes)
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		if delivery, ok := marked[o.Key]; ok && delivery == o.Delivery {
			all.outcomes = append(all.outcomes, o)
		}
	}
	return nil
}

func (s Outcomes) updateSubtasks(tx *gorm.DB, u sqldb.ValueUpdate, batch string, outcomes []Outcome) (int64, error) {
	sql, args := sqldb.UpdateSQL(s.Data, u, outcomeValues(s.Data, batch, outcomes))
	n, err := s.Data.ExecMany(tx, sql, args, false)
	if err != nil {
		return 0, fmt.Errorf("update %s of %s: %w", plural.Count(len(outcomes), "subtask", "subtasks"), u.Table, err)
	}
	return n, nil
}

// outcomeValues returns the values of outcomes, for subtaskUpdate.
func outcomeValues(d *sqldb.DB, batch string, of []Outcome) *sqldb.Values {
	v := d.NewValues(len(of), SubtaskKey...)
	v.Ints("run_id", func(i int) int64 { return of[i].RunID })
	v.Ints("account_id", func(i int) int64 { return of[i].AccountID })
	v.Texts("part", func(i int) string { return of[i].Part })
	v.Ints("delivery", func(i int) int64 { return int64(of[i].Delivery) })
	v.Texts("state", func(i int) string { return string(of[i].State) })
	v.Ints("attempt", func(i int) int64 { return int64(of[i].Attempt) })
	v.Texts("node", func(i int) string { return of[i].Node })
	v.Times("started_at", func(i int) sqldb.Time { return sqldb.At(of[i].StartedAt) })
	v.Times("ended_at", func(i int) sqldb.Time {
		if of[i].State.Open() {
			return sqldb.Time{}
		}
		return sqldb.At(of[i].EndedAt)
	})
	v.Texts("error_class", func(i int) string { return of[i].ErrorClass })
	v.Texts("error_text", func(i int) string { return of[i].ErrorText })
	v.Ints("rows_written", func(i int) int64 { return int64(of[i].Rows) })
	v.Ints("calls", func(i int) int64 { return int64(of[i].Calls) })
	v.Set("batch", batch)
	return v
}

// outcomeColumns is how many columns outcomeValues has.
const outcomeColumns = 14

// outcomeBytes is about how many bytes an outcome takes in a statement without its part and its error's text.
const outcomeBytes = 300

// subtaskUpdate updates rows that hold their outcome's delivery and meet the condition where.
func subtaskUpdate(table, where string) sqldb.ValueUpdate {
	return sqldb.ValueUpdate{
		Table: table,
		Key:   SubtaskKey,
		Set: [][2]string{
			{"state", "o.state"}, {"attempt", "o.attempt"}, {"node", "o.node"},
			{"started_at", "o.started_at"}, {"ended_at", "o.ended_at"},
			{"error_class", "o.error_class"}, {"error_text", "o.error_text"},
			{"rows_written", "o.rows_written"}, {"api_calls", "t.api_calls + o.calls"}, {"batch", "o.batch"},
		},
		Where: "t.delivery = o.delivery AND " + where,
	}
}

// markedSubtasks returns the delivery of each of the outcomes' rows that carries the mark. The update's count of
// affected rows cannot show which rows they were.
func (s Outcomes) markedSubtasks(tx *gorm.DB, table, batch string, outcomes []Outcome) (map[task.Key]int, error) {
	from, args := sqldb.LookUpKeys(s.Data, table, SubtaskKey,
		keyValues(s.Data, len(outcomes), func(i int) task.Key { return outcomes[i].Key }))
	rows, err := tx.Raw("SELECT t.run_id, t.account_id, t.part, t.delivery FROM "+from+" WHERE t.batch = ?",
		append(args, batch)...).Rows()
	if err != nil {
		return nil, fmt.Errorf("read the subtasks changed in %s: %w", table, err)
	}
	defer rows.Close()
	marked := make(map[task.Key]int, len(outcomes))
	for rows.Next() {
		var k task.Key
		var delivery int
		if err := rows.Scan(&k.RunID, &k.AccountID, &k.Part, &delivery); err != nil {
			return nil, fmt.Errorf("read the subtasks changed in %s: %w", table, err)
		}
		marked[k] = delivery
	}
	return marked, rows.Err()
}

var (
	// SubtaskKey is the key of the tables that have a row per subtask.
	SubtaskKey = []string{"run_id", "account_id", "part"}
	dueTable   = sqldb.Table{Name: "subtask_due", Key: SubtaskKey, Columns: []string{
		"state", "media", "lane", "due_at", "delivery", "attempt", "reason", "topic", "topic_partition", "topic_offset",
		"waits_for", "outside",
	}}
	// DeadTable has the columns that an outcome writes for a dead subtask.
	DeadTable = sqldb.Table{Name: "subtask_dead", Key: SubtaskKey, Columns: []string{
		"task_id", "media", "attempt", "error_class", "error_print", "error_text", "dead_at",
	}}
)

// changeDue brings subtask_due in line with the rows: one row for each subtask that waits, none for one that ended.
func changeDue(s *sqldb.Databases, tx *gorm.DB, done changed) error {
	var due, ended [][]any
	for _, o := range done.outcomes {
		if !o.State.Open() {
			if !done.fresh {
				ended = append(ended, []any{o.RunID, o.AccountID, o.Part})
			}
			continue
		}
		due = append(due, []any{
			o.RunID, o.AccountID, o.Part,
			string(o.State), o.Media, o.Lane, sqldb.At(o.DueAt), o.Delivery, o.Attempt, o.Reason, "", -1, -1, o.WaitsFor,
			o.Outside,
		})
	}
	if err := s.Data.Upsert(tx, dueTable, due); err != nil {
		return err
	}
	return sqldb.DeleteByKeys(s.Data, tx, dueTable.Name, SubtaskKey, ended)
}

// keyValues returns n subtasks' keys as the values of a statement.
func keyValues(d *sqldb.DB, n int, key func(i int) task.Key) *sqldb.Values {
	v := d.NewValues(n, SubtaskKey...)
	v.Ints("run_id", func(i int) int64 { return key(i).RunID })
	v.Ints("account_id", func(i int) int64 { return key(i).AccountID })
	v.Texts("part", func(i int) string { return key(i).Part })
	return v
}

// noErrorPrint stands for an error without a text, so that every group of dead subtasks has a name.
const noErrorPrint = "(no text)"

func (s Outcomes) insertDead(tx *gorm.DB, changed []Outcome) error {
	var dead [][]any
	for _, o := range changed {
		if o.State == task.Failed {
			dead = append(dead, []any{
				o.RunID, o.AccountID, o.Part,
				o.TaskID, o.Media, o.Attempt, o.ErrorClass, cmp.Or(sqldb.ErrorPrint(o.ErrorText), noErrorPrint), o.ErrorText,
				sqldb.At(o.EndedAt),
			})
		}
	}
	return s.Data.Upsert(tx, DeadTable, dead)
}

// SubtaskStatus is the progress of a subtask as its row records it.
type SubtaskStatus struct {
	State    task.State
	Delivery int // the newest send
	Attempt  int // failures so far
}

// SubtaskStates returns the status of subtasks as the writer holds them. A subtask without a row, or whose day's
// table is gone, is not in the result.
func (s Outcomes) SubtaskStates(ctx context.Context, keys []task.Key) (map[task.Key]SubtaskStatus, error) {
	byTable := map[string][]task.Key{}
	table := ""
	for i, k := range keys {
		if i == 0 || !sameLogTable(k.RunID, keys[i-1].RunID) {
			table = LogTable(k.RunID)
		}
		byTable[table] = append(byTable[table], k)
	}
	found := make(map[task.Key]SubtaskStatus, len(keys))
	for table, keys := range byTable {
		for part := range slices.Chunk(keys, s.Data.RowsPerStatement(len(SubtaskKey))) {
			err := readStates(s.Data.Writer(ctx), s.Data, table, "", len(part), func(i int) task.Key { return part[i] }, found)
			if err != nil && !MissingTable(err) {
				return nil, fmt.Errorf("read the state of %s: %w", plural.Count(len(keys), "subtask", "subtasks"), err)
			}
		}
	}
	return found, nil
}

// readStates reads the states of n subtasks of a day. lock, if not empty, is the statement's locking clause.
func readStates(db *gorm.DB, d *sqldb.DB, table, lock string, n int, key func(i int) task.Key,
	into map[task.Key]SubtaskStatus) error {
	from, args := sqldb.LookUpKeys(d, table, SubtaskKey, keyValues(d, n, key))
	query := db.Raw("SELECT t.run_id, t.account_id, t.part, t.state, t.delivery, t.attempt FROM "+from+lock, args...)
	return sqldb.EachRow(query, func(rows *sql.Rows) error {
		var k task.Key
		var status SubtaskStatus
		err := rows.Scan(&k.RunID, &k.AccountID, &k.Part, &status.State, &status.Delivery, &status.Attempt)
		into[k] = status
		return err
	})
}

// MissingTable reports whether a statement failed because its table does not exist. The transaction remains usable.
func MissingTable(err error) bool {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number == 1146
	}
	if e, ok := errors.AsType[*sqlitedriver.Error](err); ok {
		return strings.Contains(e.Error(), "no such table")
	}
	return false
}
