package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	"gorm.io/gorm"

	"adsync/base/clock"
	"adsync/base/lease"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
	"adsync/base/task"
)

// NoticeSlots is how many parts the notices are divided into by their subject. Each is sent in its own order.
const NoticeSlots = 8

// Subject is what the notices about subtasks are numbered by: an account of a task, or a part of a task whose subtasks
// belong to no account.
type Subject struct {
	TaskID    int64
	AccountID int64  // 0 for none
	Part      string // "" for an account
}

func subjectOf(taskID int64, k task.Key) Subject {
	s := Subject{TaskID: taskID, AccountID: k.AccountID}
	if k.AccountID == 0 {
		s.Part = k.Part
	}
	return s
}

// String returns the subject as the key of its messages.
func (s Subject) String() string {
	of := s.Part
	if s.AccountID != 0 {
		of = strconv.FormatInt(s.AccountID, 10)
	}
	return strconv.FormatInt(s.TaskID, 10) + "/" + of
}

func (s Subject) slot() int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.String()))
	return int(h.Sum32() % NoticeSlots)
}

func compareSubjects(a, b Subject) int {
	return cmp.Or(cmp.Compare(a.TaskID, b.TaskID), cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.Part, b.Part))
}

// Notice tells an application that a subtask has ended.
type Notice struct {
	Subject Subject `json:"-"`
	Seq     int64   `json:"-"` // of the subject: 1, 2, 3, …

	Application string     `json:"application"`
	TaskName    string     `json:"task"`
	Media       string     `json:"media"`
	Handler     string     `json:"handler"`
	RunID       int64      `json:"run_id"`
	Part        string     `json:"part"`
	PlannedAt   time.Time  `json:"planned_at"`
	State       task.State `json:"state"`
	TimedOut    bool       `json:"timed_out,omitempty"` // its last try took longer than the task allows
	Attempt     int        `json:"attempt"`
	ErrorClass  string     `json:"error_class,omitempty"`
	Text        string     `json:"text,omitempty"`
	Rows        int        `json:"rows"`  // written by the last try
	Calls       int        `json:"calls"` // made by the last try
	// Files are those that the subtask has delivered.
	Files     []task.File `json:"files,omitempty"`
	TraceID   string      `json:"trace_id,omitempty"`
	StartedAt time.Time   `json:"started_at,omitzero"` // of the last try; zero if there was none
	EndedAt   time.Time   `json:"ended_at"`
}

// runNote is what outcomes need to know of a run whose subtasks end.
type runNote struct {
	queuedBehind bool // other subtasks may wait for those of the run
	notice       Notice
	taskID       int64
}

// runNotes returns the notes of the runs of subtasks that have ended; nearly all runs have none.
func runNotes(tx *gorm.DB, changed []Outcome) (map[int64]runNote, error) {
	var runs []int64
	for _, o := range changed { // by run
		if !o.State.Open() && (len(runs) == 0 || o.RunID != runs[len(runs)-1]) {
			runs = append(runs, o.RunID)
		}
	}
	if len(runs) == 0 {
		return nil, nil
	}
	notes := map[int64]runNote{}
	err := sqldb.EachRow(tx.Raw("SELECT id, task_id, task_name, media, handler, planned_at, application, queued_behind"+
		" FROM run WHERE id IN ? AND (queued_behind = 1 OR application <> '')", runs), func(rows *sql.Rows) error {
		var id int64
		var n runNote
		var planned sqldb.Time
		err := rows.Scan(&id, &n.taskID, &n.notice.TaskName, &n.notice.Media, &n.notice.Handler, &planned,
			&n.notice.Application, &n.queuedBehind)
		n.notice.PlannedAt = planned.Time
		notes[id] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what %s cause: %w", plural.Count(len(runs), "run", "runs"), err)
	}
	return notes, nil
}

var (
	subjectKey  = []string{"task_id", "account_id", "part"}
	noticeTable = sqldb.Table{Name: "outcome_notice", Key: []string{"slot", "task_id", "account_id", "part", "seq"},
		Columns: []string{"notice", "written_at"}}
)

func (n *Notice) key() []any {
	return []any{n.Subject.slot(), n.Subject.TaskID, n.Subject.AccountID, n.Subject.Part, n.Seq}
}

// insertNotices writes the notices about subtasks that have ended, by key, of runs that have an application.
func (s Outcomes) insertNotices(tx *gorm.DB, changed []Outcome, notes map[int64]runNote) error {
	var notices []Notice
	for i := range changed {
		o := &changed[i]
		run := notes[o.RunID]
		if o.State.Open() || run.notice.Application == "" {
			continue
		}
		n := run.notice
		n.Subject, n.RunID, n.Part, n.State = subjectOf(run.taskID, o.Key), o.RunID, o.Part, o.State
		n.TimedOut, n.Attempt, n.ErrorClass, n.Text = o.TimedOut, o.Attempt, o.ErrorClass, cmp.Or(o.ErrorText, o.Reason)
		n.Rows, n.Calls, n.TraceID, n.StartedAt, n.EndedAt = o.Rows, o.Calls, o.TraceID, o.StartedAt, o.EndedAt
		n.Files = o.Files
		notices = append(notices, n)
	}
	if len(notices) == 0 {
		return nil
	}
	if err := s.number(tx, notices); err != nil {
		return fmt.Errorf("number %s: %w", plural.Count(len(notices), "notice", "notices"), err)
	}
	rows, now := make([][]any, len(notices)), sqldb.At(clock.Mark())
	for i := range notices {
		text, err := json.Marshal(&notices[i])
		if err != nil {
			return err
		}
		rows[i] = append(notices[i].key(), string(text), now)
	}
	return s.Data.Upsert(tx, noticeTable, rows)
}

// number gives notices the next numbers of their subjects. The rows of these stay locked: of two transactions with the
// same subject the one with the lower numbers commits first.
func (s Outcomes) number(tx *gorm.DB, notices []Notice) error {
	counts := map[Subject]int64{}
	for i := range notices {
		counts[notices[i].Subject]++
	}
	last := make(map[Subject]int64, len(counts))
	subjects := slices.SortedFunc(maps.Keys(counts), compareSubjects)
	for some := range slices.Chunk(subjects, s.Data.RowsPerStatement(len(subjectKey)+1)) {
		if err := s.raiseSeqs(tx, some, counts, last); err != nil {
			return err
		}
	}
	for i := range notices {
		of := notices[i].Subject
		notices[i].Seq = last[of] - counts[of] + 1
		counts[of]--
	}
	return nil
}

// raiseSeqs adds counts to the numbers of subjects, and sets last to the new ones.
func (s Outcomes) raiseSeqs(tx *gorm.DB, subjects []Subject, counts, last map[Subject]int64) error {
	var rows, keys []any
	for _, of := range subjects {
		keys = append(keys, of.TaskID, of.AccountID, of.Part)
		rows = append(rows, of.TaskID, of.AccountID, of.Part, counts[of])
	}
	update := " ON DUPLICATE KEY UPDATE seq = seq + VALUES(seq)"
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		update = " ON CONFLICT (task_id, account_id, part) DO UPDATE SET seq = seq + excluded.seq"
	}
	if err := tx.Exec("INSERT INTO outcome_seq (task_id, account_id, part, seq) VALUES "+
		sqldb.Tuples(len(subjects), len(subjectKey)+1)+update, rows...).Error; err != nil {
		return err
	}
	query := tx.Raw("SELECT t.task_id, t.account_id, t.part, t.seq FROM "+
		sqldb.LookUp(s.Data, "outcome_seq", subjectKey, len(subjects)), keys...)
	return sqldb.EachRow(query, func(rows *sql.Rows) error {
		var of Subject
		var seq int64
		err := rows.Scan(&of.TaskID, &of.AccountID, &of.Part, &seq)
		last[of] = seq
		return err
	})
}

// Notices returns up to limit notices of a slot that were not deleted, by subject and number: those of a subject in
// their order, without a gap. It returns lease.ErrStaleLease when the lease does not hold.
func (s Outcomes) Notices(ctx context.Context, l lease.Lease, slot, limit int) ([]Notice, error) {
	query := s.Data.Writer(ctx).Raw("SELECT task_id, account_id, part, seq, notice FROM outcome_notice WHERE slot = ?"+
		" ORDER BY task_id, account_id, part, seq LIMIT ?", slot, limit)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, n *Notice) error {
		var of Subject
		var seq int64
		var text string
		if err := rows.Scan(&of.TaskID, &of.AccountID, &of.Part, &seq, &text); err != nil {
			return err
		}
		err := json.Unmarshal([]byte(text), n)
		n.Subject, n.Seq = of, seq
		return err
	})
	if err == nil && len(all) > 0 {
		err = leader.CheckLease(ctx, s.Data, l)
	}
	if err != nil {
		return nil, fmt.Errorf("read the notices of slot %d: %w", slot, err)
	}
	return all, nil
}

// OldestNotice returns when the oldest notice was written that was not deleted; zero if there is none. Those of earlier
// releases do not count.
func (s Outcomes) OldestNotice(ctx context.Context) (time.Time, error) {
	var oldest sqldb.Time
	if err := s.Data.Writer(ctx).Raw("SELECT MIN(written_at) FROM outcome_notice").Row().Scan(&oldest); err != nil {
		return time.Time{}, fmt.Errorf("read the oldest notice: %w", err)
	}
	return oldest.Time, nil
}

// DeleteNotices deletes notices that are in Kafka. It needs no lease: another leader may have sent them again, but a
// number is never given twice.
func (s Outcomes) DeleteNotices(ctx context.Context, notices []Notice) error {
	keys := make([][]any, len(notices))
	for i := range notices {
		keys[i] = notices[i].key()
	}
	err := s.Data.Tx(ctx, func(tx *gorm.DB) error {
		return sqldb.DeleteByKeys(s.Data, tx, noticeTable.Name, noticeTable.Key, keys)
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w", plural.Count(len(notices), "notice", "notices"), err)
	}
	return nil
}
