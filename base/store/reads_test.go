package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// These tests read the rows of several subjects, and share their counter with the plans of all subjects in
// plan_test.go.

// The cost of the leader's repeated reads must not grow with rows that they do not select. A server reports how many
// rows a session has read; SQLite does not.
func TestReads_DoNotGrowWithUnselectedRows(t *testing.T) {
	t.Parallel()
	s, reads, _ := counting(t)
	ctx := t.Context()
	l := storetest.Lead(t, s, "me")
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	run := storetest.SomeRun(task.NewRunID(now), now)
	require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{run}))
	require.NoError(t, s.EnsureLogTable(ctx, task.LogDay(run.ID)))
	const many = 600
	var parts []ledger.AccountPart
	var outcomes []ledger.Outcome
	var ticks []ledger.Tick
	for i := range int64(many) {
		parts = append(parts, ledger.AccountPart{AccountID: i + 1, Part: "p"})
		outcomes = append(outcomes, ledger.Outcome{Key: task.Key{RunID: run.ID, AccountID: i + 1, Part: "p"}, Delivery: 1,
			Attempt: 1, State: task.Retrying, DueAt: now, EndedAt: now})
		ticks = append(ticks, ledger.Tick{TaskID: 5, PlannedAt: now.Add(time.Duration(i) * time.Minute), RunID: i + 1,
			MadeAt: now})
	}
	require.NoError(t, storetest.AddSubtasks(ctx, s, l, run.ID, parts, now))
	require.NoError(t, s.AddTicks(ctx, l, ticks))

	require.Less(t, reads(func() {
		open, err := s.TasksWithOpenTicks(ctx, []int64{4, 5, 6})
		require.NoError(t, err)
		require.True(t, open[5])
	}), many/10, "the newest tick, of many")
	require.Less(t, reads(func() {
		open, err := s.OpenSubtasksOf(ctx, run.ID, task.Key{RunID: run.ID, AccountID: many - 5, Part: "p"}, 100)
		require.NoError(t, err)
		require.Len(t, open, 5)
	}), many/10, "the last subtasks, of many")

	storetest.Died(t, s, 5, now, "a", storetest.Keys(many)...)
	require.Less(t, reads(func() {
		id, err := s.DeadTask(ctx, "report")
		require.NoError(t, err)
		require.EqualValues(t, 5, id)
	}), many/10, "one dead subtask, of many")

	_, err := s.ApplyOutcomes(ctx, outcomes)
	require.NoError(t, err)
	raised, err := s.NextDeliveries(ctx, l, dueOf(t, s, now), now)
	require.NoError(t, err)
	require.Len(t, raised, many)
	sent := make([]ledger.SentDue, len(raised))
	for i, d := range raised {
		sent[i] = ledger.SentDue{Key: d.Key, Delivery: d.Delivery, Topic: "t", Offset: int64(i)}
	}
	require.NoError(t, s.RecordSent(ctx, sent[:many-2]))
	require.Less(t, reads(func() {
		lost, err := s.DueSubtasks(ctx, now, now, 100)
		require.NoError(t, err)
		require.Len(t, lost, 2)
	}), many/10, "those without a place, of many that were sent")
}

func dueOf(t *testing.T, s *store.Store, now time.Time) []ledger.Due {
	t.Helper()
	due, err := s.DueSubtasks(t.Context(), now, time.Time{}, 10_000)
	require.NoError(t, err)
	return due
}

// A fan-out reads the accounts of a tier page by page. Where nearly all accounts are of one media and one tier, a
// server that may choose its index reads all of them for each page.
func TestReads_OfAFanOutReadEachAccountOnce(t *testing.T) {
	t.Parallel()
	s, reads, _ := counting(t)
	const many = 20_000
	db := s.Config.Writer(t.Context())
	for _, statement := range []string{
		fmt.Sprintf(
			"INSERT INTO media_account (id, media, external_id, token_id, bound) SELECT seq, 'tulip', seq, 0, 1"+
				" FROM seq_1_to_%d", many),
		"ANALYZE TABLE media_account",
	} {
		require.NoError(t, db.Exec(statement).Error)
	}
	for _, tiers := range [][]string{{settings.TierActive}, {settings.TierActive, settings.TierInactive}, nil} {
		got := 0
		require.Less(t, reads(func() {
			for after := int64(0); ; {
				page, err := s.FanOutAccounts(t.Context(), "tulip", tiers, after, 500)
				require.NoError(t, err)
				if len(page) == 0 {
					break
				}
				got, after = got+len(page), page[len(page)-1].ID
			}
		}), 2*many, "%v", tiers)
		require.Equal(t, many, got)
	}
}

// counting returns a store with a single connection to each of its databases, and a function that counts the rows
// that another function reads there.
func counting(t *testing.T) (*store.Store, func(do func()) int, sqldb.Config) {
	t.Helper()
	cfg := storetest.Config(t)
	if cfg.Data.Driver == sqldb.SQLite {
		t.Skip("SQLite does not report how many rows it reads")
	}
	require.NoError(t, storetest.Open(t, cfg).MigrateUp(t.Context()))
	cfg.Data.MaxOpenConns, cfg.Config.MaxOpenConns = 1, 1
	s := storetest.Open(t, cfg)
	total := func() int { return rowsRead(t, s.Data) + rowsRead(t, s.Config) }
	base := 0
	reads := func(do func()) int {
		before := total()
		do()
		return total() - before - base
	}
	base = reads(func() {}) // the rows of the count itself
	return s, reads, cfg
}

// rowsRead is how many rows the only connection to a database has read.
func rowsRead(t *testing.T, db *sqldb.DB) int {
	t.Helper()
	// Index entries that a condition on the index excludes are read too, but are counted separately.
	rows, err := db.Writer(t.Context()).Raw(
		"SHOW SESSION STATUS WHERE variable_name LIKE 'Handler_read_%' OR variable_name LIKE 'Handler_icp_%'").Rows()
	require.NoError(t, err)
	defer rows.Close()
	sum := 0
	for rows.Next() {
		var name string
		var n int
		require.NoError(t, rows.Scan(&name, &n))
		if name == "Handler_icp_match" {
			n = -n
		}
		sum += n
	}
	require.NoError(t, rows.Err())
	return sum
}
