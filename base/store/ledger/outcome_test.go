package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

type runCounts struct {
	State                                             task.RunState
	Total                                             *int64
	Succeeded, Failed, Expired, Cancelled, Superseded int64
	EndedAt                                           sqldb.Time
}

func countsOf(t require.TestingT, r storetest.Run) runCounts {
	var c runCounts
	require.NoError(t, r.Store.Data.Writer(context.Background()).
		Raw("SELECT state, total, succeeded, failed, expired, cancelled, superseded, ended_at FROM run WHERE id = ?",
			r.ID).Scan(&c).Error)
	return c
}

func statusOf(t require.TestingT, r storetest.Run, account int64) ledger.SubtaskStatus {
	k := task.Key{RunID: r.ID, AccountID: account, Part: "d"}
	found, err := r.Store.SubtaskStates(context.Background(), []task.Key{k})
	require.NoError(t, err)
	return found[k]
}

// resend does what the producer does when a subtask is due: it raises the delivery in both tables.
func resend(t require.TestingT, r storetest.Run, account int64) {
	db := r.Store.Data.Writer(context.Background())
	require.NoError(t, db.Exec("UPDATE "+ledger.LogTable(r.ID)+
		" SET state = 'waiting', delivery = delivery + 1 WHERE run_id = ? AND account_id = ?"+
		" AND state IN ('retrying', 'deferred')", r.ID, account).Error)
	require.NoError(t,
		db.Exec("UPDATE subtask_due SET state = 'sent', delivery = delivery + 1 WHERE run_id = ? AND account_id = ?",
			r.ID, account).Error)
}

func TestApplyOutcomes_EndsARunWithItsLastSubtask(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	for _, tt := range []struct {
		name   string
		states []task.State
		want   task.RunState
	}{
		{"all succeeded", []task.State{task.Succeeded, task.Succeeded}, task.RunSucceeded},
		{"one was superseded by a newer pull", []task.State{task.Succeeded, task.Superseded}, task.RunSucceeded},
		{"one failed", []task.State{task.Succeeded, task.Failed}, task.RunPartial},
		{"one expired", []task.State{task.Expired, task.Succeeded}, task.RunPartial},
		{"none succeeded", []task.State{task.Expired, task.Failed}, task.RunFailed},
		{"one waits for its retry", []task.State{task.Succeeded, task.Retrying}, task.RunRunning},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(2)...)
			require.Zero(t, storetest.Apply(t, s, r.Outcome(1, 1, tt.states[0])))
			require.Equal(t, task.RunRunning, countsOf(t, r).State, "one subtask is still open")
			require.True(t, countsOf(t, r).EndedAt.IsZero())
			require.Zero(t, storetest.Apply(t, s, r.Outcome(2, 1, tt.states[1])))
			c := countsOf(t, r)
			require.Equal(t, tt.want, c.State)
			if !tt.want.Open() {
				require.Equal(t, storetest.Moment.Add(time.Second), c.EndedAt.Time)
			}
		})
	}
}

func TestApplyOutcomes_LeavesARunOpenWhileItFansOut(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(2)...)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE run SET state = 'fanning_out', total = NULL WHERE id = ?",
		r.ID).Error)
	require.Zero(t, storetest.Apply(t, s, r.Outcome(1, 1, task.Succeeded), r.Outcome(2, 1, task.Succeeded)))
	require.Equal(t, task.RunFanningOut, countsOf(t, r).State)
	require.EqualValues(t, 2, countsOf(t, r).Succeeded)
}

func TestApplyOutcomes_LeavesTheStateOfAnEndedRun(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(1)...)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE run SET state = 'cancelled' WHERE id = ?", r.ID).Error)
	require.Zero(t, storetest.Apply(t, s, r.Outcome(1, 1, task.Succeeded)))
	require.Equal(t, task.RunCancelled, countsOf(t, r).State)
	require.EqualValues(t, 1, countsOf(t, r).Succeeded, "its counts stay exact")
}

func TestApplyOutcomes_CountsEachSubtaskOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(3)...)

	require.Equal(t, 1, storetest.Apply(t, s, r.Outcome(1, 1, task.Succeeded), r.Outcome(1, 1, task.Failed)),
		"two for one delivery count once")
	require.Equal(t, 1, storetest.Apply(t, s, r.Outcome(1, 1, task.Succeeded)), "the row has ended")
	require.Equal(t, 1, storetest.Apply(t, s, r.Outcome(2, 9, task.Succeeded)), "the row holds another delivery")
	require.Equal(t, 1, storetest.Apply(t, s, r.Outcome(99, 1, task.Succeeded)), "there is no such row")
	c := countsOf(t, r)
	require.Equal(t, []int64{1, 0}, []int64{c.Succeeded, c.Failed})

	require.Zero(t, storetest.Apply(t, s, r.Outcome(2, 1, task.Retrying)))
	resend(t, r, 2)
	require.Equal(t, 1, storetest.Apply(t, s, r.Outcome(2, 2, task.Succeeded), r.Outcome(2, 1, task.Failed)),
		"the late outcome of the first delivery changes nothing")
	require.EqualValues(t, 2, countsOf(t, r).Succeeded)
	require.Zero(t, storetest.Int(t, s, "SELECT COUNT(*) FROM subtask_dead"))
	require.Zero(t, storetest.Int(t, s, "SELECT COUNT(*) FROM subtask_due"))
}

func TestApplyOutcomes_KeepsWaitingSubtasksInSubtaskDue(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(2)...)
	retry, wait := r.Outcome(1, 1, task.Retrying), r.Outcome(2, 1, task.Deferred)
	wait.Reason = "quota of app per minute"
	require.Zero(t, storetest.Apply(t, s, wait, retry))

	var due []struct {
		AccountID                         int64
		State, Media, Lane, Reason, Topic string
		DueAt                             sqldb.Time
		Delivery, Attempt                 int
		TopicPartition, TopicOffset       int64
	}
	read := func() {
		due = nil
		require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT * FROM subtask_due ORDER BY account_id").Scan(&due).Error)
	}
	read()
	require.Len(t, due, 2)
	require.Equal(t, "retrying", due[0].State)
	require.Equal(t, []int{1, 1}, []int{due[0].Delivery, due[0].Attempt})
	require.Equal(t, storetest.Moment.Add(time.Minute), due[0].DueAt.Time)
	require.Equal(t, []string{"deferred", "acme", "normal", "quota of app per minute"},
		[]string{due[1].State, due[1].Media, due[1].Lane, due[1].Reason})
	require.Equal(t, ledger.SubtaskStatus{State: task.Retrying, Delivery: 1, Attempt: 1}, statusOf(t, r, 1))

	resend(t, r, 1)
	require.NoError(t,
		s.Data.Writer(t.Context()).Exec(
			"UPDATE subtask_due SET topic = 'x', topic_partition = 3, topic_offset = 77 WHERE account_id = 1").Error)
	again := r.Outcome(1, 2, task.Retrying)
	again.Attempt, again.DueAt = 2, storetest.Moment.Add(time.Hour)
	require.Zero(t, storetest.Apply(t, s, again))
	read()
	require.Equal(t, "retrying", due[0].State)
	require.Equal(t, []int{2, 2}, []int{due[0].Delivery, due[0].Attempt})
	require.Equal(t, storetest.Moment.Add(time.Hour), due[0].DueAt.Time)
	require.Equal(t, []int64{-1, -1}, []int64{due[0].TopicPartition, due[0].TopicOffset},
		"the place of the last message is cleared")
	require.Empty(t, due[0].Topic)
}

func TestApplyOutcomes_WritesTheRow(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(1)...)
	type row struct {
		State, Node, ErrorClass, ErrorText string
		StartedAt, EndedAt                 sqldb.Time
		RowsWritten, APICalls              int `gorm:"column:rows_written"`
		Calls                              int `gorm:"column:api_calls"`
	}
	read := func() (got row) {
		require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT * FROM "+ledger.LogTable(r.ID)).Scan(&got).Error)
		return got
	}
	first := r.Outcome(1, 1, task.Retrying)
	first.ErrorText = strings.Repeat("额", ledger.ErrorTextMax+5) + "\xff"
	require.Zero(t, storetest.Apply(t, s, first))
	got := read()
	require.Equal(t, "n1", got.Node)
	require.Equal(t, strings.Repeat("额", ledger.ErrorTextMax), got.ErrorText, "cut between characters")
	require.True(t, got.EndedAt.IsZero(), "a subtask that waits has not ended")

	resend(t, r, 1)
	require.Zero(t, storetest.Apply(t, s, r.Outcome(1, 2, task.Succeeded)))
	got = read()
	require.Equal(t, []string{"succeeded", "", ""}, []string{got.State, got.ErrorClass, got.ErrorText})
	require.Equal(t, []time.Time{storetest.Moment, storetest.Moment.Add(time.Second)},
		[]time.Time{got.StartedAt.Time, got.EndedAt.Time})
	require.Equal(t, 4, got.Calls, "calls add up over the tries")
	require.Equal(t, 3, got.RowsWritten)
}

func TestApplyOutcomes_KeepsDeadSubtasks(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(2)...)
	o := r.Outcome(2, 1, task.Failed)
	o.ErrorText = "account 1784563 is 'closed'\xff"
	require.Zero(t, storetest.Apply(t, s, o))
	var dead struct {
		AccountID, TaskID                        int64
		Media, ErrorClass, ErrorPrint, ErrorText string
		Attempt                                  int
		DeadAt                                   sqldb.Time
	}
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT * FROM subtask_dead WHERE run_id = ?",
		r.ID).Scan(&dead).Error)
	require.Equal(t, "account ? is ?\uFFFD", dead.ErrorPrint)
	require.Equal(t, []int64{2, 7}, []int64{dead.AccountID, dead.TaskID})
	require.Equal(t, storetest.Moment.Add(time.Second), dead.DeadAt.Time)
}

func TestApplyOutcomes_RefusesInvalidOutcomes(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(1)...)
	_, err := s.ApplyOutcomes(t.Context(), []ledger.Outcome{r.Outcome(1, 1, task.Waiting)})
	require.ErrorContains(t, err, "is no outcome")
	noDue := r.Outcome(1, 1, task.Deferred)
	noDue.DueAt = time.Time{}
	_, err = s.ApplyOutcomes(t.Context(), []ledger.Outcome{noDue})
	require.ErrorContains(t, err, "DueAt is not set")
	require.Zero(t, storetest.Apply(t, s))
}

func TestApplyOutcomes_OfSeveralDaysGoToTheirTables(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	yesterday := storetest.NewRun(t, s, storetest.Moment.AddDate(0, 0, -1), storetest.Keys(700)...)
	today := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(3)...)
	dropped := storetest.NewRun(t, s, storetest.Moment.AddDate(0, 0, -9), storetest.Keys(1)...)
	require.NoError(t, s.DropLogTable(t.Context(), task.LogDay(dropped.ID)))

	var all []ledger.Outcome
	for _, k := range storetest.Keys(700) {
		all = append(all, yesterday.Outcome(k.AccountID, 1, task.Succeeded))
	}
	all = append(all, today.Outcome(1, 1, task.Failed), dropped.Outcome(1, 1, task.Succeeded),
		today.Outcome(2, 1, task.Succeeded))
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	require.Equal(t, 1, storetest.Apply(t, s, all...), "the row of a dropped day is gone")
	require.EqualValues(t, 700, countsOf(t, yesterday).Succeeded)
	require.Equal(t, task.RunSucceeded, countsOf(t, yesterday).State)
	require.EqualValues(t, 1, countsOf(t, today).Failed)
	require.Equal(t, task.RunRunning, countsOf(t, today).State)

	found, err := s.SubtaskStates(t.Context(), []task.Key{
		{RunID: today.ID, AccountID: 1, Part: "d"}, {RunID: dropped.ID, AccountID: 1, Part: "d"},
		{RunID: yesterday.ID, AccountID: 700, Part: "d"},
	})
	require.NoError(t, err)
	require.Len(t, found, 2, "a subtask without a table is not in the result")
	require.Equal(t, task.Succeeded, found[task.Key{RunID: yesterday.ID, AccountID: 700, Part: "d"}].State)
}

// Batches that overlap, run concurrently and are repeated: the counts still equal the rows.
func TestApplyOutcomes_ConcurrentBatchesCountExactly(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	const subtasksPerRun = 120
	runs := []storetest.Run{storetest.NewRun(t, s, storetest.Moment, storetest.Keys(subtasksPerRun)...),
		storetest.NewRun(t, s, storetest.Moment, storetest.Keys(subtasksPerRun)...)}
	states := []task.State{task.Succeeded, task.Failed, task.Expired, task.Superseded, task.Cancelled}
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for range 8 {
		wg.Go(func() {
			var all []ledger.Outcome
			for _, r := range runs {
				for _, k := range storetest.Keys(subtasksPerRun) {
					all = append(all, r.Outcome(k.AccountID, 1, states[rand.IntN(len(states))]))
				}
			}
			rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			for len(all) > 0 {
				n := min(40, len(all))
				if _, err := s.ApplyOutcomes(context.Background(), all[:n]); err != nil {
					errs <- err
					return
				}
				all = all[n:]
			}
		})
	}
	wg.Wait()
	close(errs)
	require.NoError(t, <-errs)
	for _, r := range runs {
		requireCountsEqualRows(t, r)
		require.Equal(t, task.RunPartial, countsOf(t, r).State)
	}
}

// requireCountsEqualRows checks the run, subtask_due and subtask_dead against the subtasks' rows, and returns those.
func requireCountsEqualRows(t require.TestingT, r storetest.Run) map[int64]task.State {
	var rows []struct {
		AccountID int64
		State     task.State
		Due       string
		Dead      int
	}
	require.NoError(t,
		r.Store.Data.Writer(context.Background()).Raw(
			`SELECT t.account_id, t.state, COALESCE(d.state, '') AS due, x.run_id IS NOT NULL AS dead
FROM `+ledger.LogTable(r.ID)+` t
LEFT JOIN subtask_due d ON d.run_id = t.run_id AND d.account_id = t.account_id AND d.part = t.part
LEFT JOIN subtask_dead x ON x.run_id = t.run_id AND x.account_id = t.account_id AND x.part = t.part
WHERE t.run_id = ?`, r.ID).Scan(&rows).Error)
	states := map[int64]task.State{}
	var ended runCounts
	for _, row := range rows {
		states[row.AccountID] = row.State
		switch row.State {
		case task.Retrying, task.Deferred:
			require.Equal(t, string(row.State), row.Due, "a waiting subtask has a row of subtask_due")
		case task.Waiting:
			require.Contains(t, []string{"", "sent"}, row.Due)
		default:
			require.Empty(t, row.Due, "an ended subtask has none")
		}
		require.Equal(t, row.State == task.Failed, row.Dead == 1, "exactly the failed subtasks are dead")
		switch row.State {
		case task.Succeeded:
			ended.Succeeded++
		case task.Failed:
			ended.Failed++
		case task.Expired:
			ended.Expired++
		case task.Cancelled:
			ended.Cancelled++
		case task.Superseded:
			ended.Superseded++
		}
	}
	c := countsOf(t, r)
	open := ended.Succeeded+ended.Failed+ended.Expired+ended.Cancelled+ended.Superseded < *c.Total
	require.Equal(t, open, c.State.Open(), "a run is open as long as one of its subtasks is: %+v", c)
	ended.State, ended.Total, ended.EndedAt = c.State, c.Total, c.EndedAt
	require.Equal(t, ended, c, "the run's counts equal the rows")
	return states
}

// Deliveries, outcomes and sends in any order: the counts equal the rows after every step.
func TestApplyOutcomes_AnyInterleaving(t *testing.T) {
	t.Parallel()
	withAllLists(t, anyInterleaving)
}

func anyInterleaving(t *testing.T, s *store.Store) {
	t.Helper()
	states := []task.State{task.Succeeded, task.Failed, task.Expired, task.Cancelled, task.Superseded, task.Retrying,
		task.Deferred}
	rapid.Check(t, func(t *rapid.T) {
		const n = 3
		runs := []storetest.Run{storetest.NewRun(t, s, storetest.Moment, storetest.Keys(n)...),
			storetest.NewRun(t, s, storetest.Moment.Add(24*time.Hour), storetest.Keys(n)...)}
		final := map[task.Key]task.State{}
		for step := range rapid.IntRange(1, 6).Draw(t, "steps") {
			var batch []ledger.Outcome
			for range rapid.IntRange(1, 6).Draw(t, fmt.Sprintf("size %d", step)) {
				r := runs[rapid.IntRange(0, 1).Draw(t, "run")]
				batch = append(batch, r.Outcome(rapid.Int64Range(1, n).Draw(t, "account"), rapid.IntRange(1, 3).Draw(t, "delivery"),
					rapid.SampledFrom(states).Draw(t, "state")))
			}
			times := 1
			if rapid.Bool().Draw(t, "answer lost") {
				times = 2
			}
			for range times {
				storetest.Apply(t, s, batch...)
			}
			for _, r := range runs {
				if rapid.Bool().Draw(t, "pump") {
					resend(t, r, rapid.Int64Range(1, n).Draw(t, "due account"))
				}
				for account, now := range requireCountsEqualRows(t, r) {
					k := task.Key{RunID: r.ID, AccountID: account}
					if was, ok := final[k]; ok {
						require.Equal(t, was, now, "an end state is never left")
					} else if !now.Open() {
						final[k] = now
					}
				}
			}
		}
	})
}

// A full scan would make every outcome cost more as the day's table grows, and would wait for rows that others have
// locked, most of all while the table is small.
func TestApplyOutcomes_LooksRowsUpByKey(t *testing.T) {
	t.Parallel()
	withAllLists(t, func(t *testing.T, s *store.Store) {
		t.Helper()
		r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(30)...)
		for name, query := range ledger.OutcomeSQL(s.Data, r.ID, storetest.Keys(20)) {
			plan := explain(t, s, query.Query, query.Args...)
			if s.Data.Dialect() == sqldb.SQLiteDialect {
				require.Contains(t, plan, "PRIMARY KEY (run_id=? AND account_id=? AND part=?)", name)
				continue
			}
			require.Regexp(t, `(?m)^\S+ \S+ t eq_ref PRIMARY PRIMARY`, plan, name)
			if name != "read the changed ones" {
				require.Regexp(t, `^\S+ \S+ one_row const PRIMARY .*\n\S+ \S+ (o|<derived\d+>) ALL .*\n\S+ \S+ t eq_ref `,
					plan, name)
			}
		}
	})
}

// withAllLists runs a test for each way in which a database reads lists of values.
func withAllLists(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	for _, without := range []bool{false, true} {
		t.Run(map[bool]string{false: "as the server likes it", true: "without JSON"}[without], func(t *testing.T) {
			t.Parallel()
			s := storetest.New(t)
			if without {
				s.Data.WithoutJSON()
			}
			test(t, s)
		})
	}
}

// explain returns the plan of a statement, a line for each step; without args its placeholders stand for 1.
func explain(t *testing.T, s *store.Store, query string, args ...any) string {
	t.Helper()
	prefix := "EXPLAIN "
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		prefix = "EXPLAIN QUERY PLAN "
	}
	if len(args) == 0 {
		query = strings.ReplaceAll(query, "?", "'1'")
	}
	rows, err := s.Data.Writer(t.Context()).Raw(prefix+query, args...).Rows()
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var plan strings.Builder
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(t, rows.Scan(into...))
		for _, v := range values {
			plan.WriteString(v.String + " ")
		}
		plan.WriteString("\n")
	}
	require.NoError(t, rows.Err())
	return plan.String()
}
