package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// Which side of its boundary a row is on that lies just on it, and which rows come first where not all come.

func TestAccountsWithHoles_ADayIsWholeFromTheFirstRunAfterItHadSettled(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	calendar := results.Calendar{Report: "report_daily", Level: "account", Days: []results.CalendarDay{{Day: "2026-11-19", Since: 100}, {Day: "2026-11-20", Since: 200}}}
	pulled := func(account int64, runs [2]int64, states ...string) {
		for i, d := range calendar.Days {
			state := "complete"
			if len(states) > 0 {
				state = states[i]
			}
			require.NoError(t, s.Data.Writer(t.Context()).Exec("INSERT INTO coverage (account_id, report, level, day, media, run_id, state) VALUES (?, 'report_daily', 'account', ?, 'tulip', ?, ?)",
				account, d.Day, runs[i], state).Error)
		}
	}
	pulled(1, [2]int64{100, 200})
	pulled(2, [2]int64{200, 200})
	pulled(3, [2]int64{99, 200})
	pulled(4, [2]int64{100, 199})
	pulled(5, [2]int64{300, 300}, "complete", "suspect")
	pulled(6, [2]int64{300, 300}, "partial", "complete")
	ids := []int64{1, 2, 3, 4, 5, 6, 7}
	without, err := s.AccountsWithHoles(t.Context(), ids, calendar)
	require.NoError(t, err)
	require.Equal(t, []int64{3, 4, 5, 6, 7}, without)
	holes, err := s.Holes(t.Context(), ids, calendar)
	require.NoError(t, err)
	var found []string
	for _, h := range holes {
		found = append(found, fmt.Sprint(h.AccountID, " ", h.Day))
	}
	require.Equal(t, []string{"3 2026-11-19", "4 2026-11-20", "5 2026-11-20", "6 2026-11-19", "7 2026-11-19", "7 2026-11-20"}, found)
}

func TestFillAccounts_AreThoseOfWhichSomethingIsPulled(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	now, err := s.Config.Now(t.Context())
	require.NoError(t, err)
	for id, c := range map[int64]struct {
		tier, parked string
		bound        int
		initialised  any
		age          time.Duration
	}{
		1: {"active", "", 1, sqldb.At(now), 0},
		2: {"inactive", "", 1, nil, 49 * time.Hour},
		3: {"active", "", 1, nil, 47 * time.Hour}, // Its past comes with its initialisation.
		4: {"active", "", 0, sqldb.At(now), 100 * time.Hour},
		5: {"active", "frozen", 1, sqldb.At(now), 100 * time.Hour},
		6: {"invalid", "", 1, sqldb.At(now), 100 * time.Hour},
		7: {"active", "", 1, sqldb.At(now), 100 * time.Hour},
	} {
		require.NoError(t, s.Config.Writer(t.Context()).Exec("INSERT INTO media_account (id, media, external_id, token_id, tier, timezone, parked, bound, initialised_at, created_at) VALUES (?, 'tulip', ?, 1, ?, 'UTC', ?, ?, ?, ?)",
			id, fmt.Sprint(id), c.tier, c.parked, c.bound, c.initialised, sqldb.At(now.Add(-c.age))).Error)
	}
	for _, limit := range []int{1, 2, 10} {
		var ids []int64
		for after := int64(0); ; {
			page, err := s.FillAccounts(t.Context(), "tulip", after, limit)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			for _, a := range page {
				ids = append(ids, a.ID)
			}
			after = page[len(page)-1].ID
		}
		require.Equal(t, []int64{1, 2, 7}, ids, "by %d", limit)
	}
}

func TestDueSubtasks_ThoseThatAreDueFirstComeFirst(t *testing.T) {
	t.Parallel()
	s, l, _, now := waiting(t, 3)
	db := s.Data.Writer(t.Context())
	for account, ago := range map[int64]time.Duration{1: time.Second, 2: 3 * time.Second, 3: 2 * time.Second} {
		require.NoError(t, db.Exec("UPDATE subtask_due SET due_at = ? WHERE account_id = ?", sqldb.At(now.Add(-ago)), account).Error)
	}
	order := func(lost time.Time) (accounts []int64) {
		for limit := 1; limit <= 3; limit++ {
			due, err := s.DueSubtasks(t.Context(), now, lost, limit)
			require.NoError(t, err)
			require.Len(t, due, limit)
			for _, d := range due {
				if !slices.Contains(accounts, d.AccountID) {
					accounts = append(accounts, d.AccountID)
				}
			}
		}
		return accounts
	}
	require.Equal(t, []int64{2, 3, 1}, order(time.Time{}))

	due, err := s.DueSubtasks(t.Context(), now, time.Time{}, 3)
	require.NoError(t, err)
	_, err = s.RaiseDue(t.Context(), l, due, now)
	require.NoError(t, err)
	for account, ago := range map[int64]time.Duration{1: 2 * time.Second, 2: time.Second, 3: 3 * time.Second} {
		require.NoError(t, db.Exec("UPDATE subtask_due SET due_at = ? WHERE account_id = ?", sqldb.At(now.Add(-ago)), account).Error)
	}
	require.Equal(t, []int64{3, 1, 2}, order(now), "of those whose place nobody has said too")
}

func TestWaitOf_TellsOfWhatWaitsAlone(t *testing.T) {
	t.Parallel()
	s, l, run, now := waiting(t, 3)
	_, err := s.ApplyOutcomes(t.Context(), []ledger.Outcome{{Key: key(run, 2), Delivery: 1, State: task.Deferred, DueAt: now.Add(time.Hour), EndedAt: now, Reason: "its quota"}})
	require.NoError(t, err)
	due, err := s.DueOf(t.Context(), []task.Key{key(run, 3)})
	require.NoError(t, err)
	_, err = s.RaiseDue(t.Context(), l, []ledger.Due{due[key(run, 3)]}, now)
	require.NoError(t, err)
	for account, want := range map[int64]time.Time{1: now, 2: now.Add(time.Hour), 3: {}, 4: {}} {
		_, at, err := s.WaitOf(t.Context(), key(run, account))
		require.NoError(t, err)
		require.Equal(t, want, at, "account %d", account)
	}
	reason, _, err := s.WaitOf(t.Context(), key(run, 2))
	require.NoError(t, err)
	require.Equal(t, "its quota", reason)
}

func TestDropDue_OfAnOlderDeliveryLeavesTheRow(t *testing.T) {
	t.Parallel()
	s, l, run, now := waiting(t, 1)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE subtask_due SET delivery = 2").Error)
	require.NoError(t, s.DropDue(t.Context(), l, []ledger.Due{{Key: key(run, 1), State: task.Retrying, Delivery: 1}}))
	require.Len(t, dueNow(t, s, now, time.Time{}), 1)
}

func TestRaiseDue_WhatIsSentWaitsForNothing(t *testing.T) {
	t.Parallel()
	s, l, _, now := waiting(t, 2)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE subtask_due SET waits_for = 'pause:7'").Error)
	raised, err := s.RaiseDue(t.Context(), l, dueNow(t, s, now, time.Time{}), now)
	require.NoError(t, err)
	require.Len(t, raised, 2)
	require.Zero(t, rowsIn(t, s, "subtask_due WHERE waits_for <> ''"))
}

func TestFirstDeliveries_AreNoLaterOnes(t *testing.T) {
	t.Parallel()
	s, l, run, now := waiting(t, 2)
	due := dueNow(t, s, now, time.Time{})
	_, err := s.RaiseDue(t.Context(), l, due[:1], now)
	require.NoError(t, err)
	lost, err := s.FirstDeliveries(t.Context(), running(run), ledger.AccountPart{AccountID: -1}, 10)
	require.NoError(t, err)
	require.Empty(t, lost, "one is at its second delivery, and one waits for it")
}

func TestRunningRuns_ComeByTheirIds(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	var want, got []int64
	for i := range 3 {
		want = append(want, newRun(t, s, outcomeTime.Add(time.Duration(i)*time.Minute), accounts(1)...).run)
	}
	for after := int64(0); ; {
		page, err := s.RunningRuns(t.Context(), after, 1)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		after = page[0].ID
		got = append(got, after)
	}
	require.Equal(t, want, got)
}

// The day of one of them was dropped, and the others are of other days.
func TestDeferLost_OfSeveralDays(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	l := lead(t, s, "a")
	gone := newRun(t, s, outcomeTime, accounts(1)...)
	there := newRun(t, s, outcomeTime.AddDate(0, 0, 1), accounts(1)...)
	require.NoError(t, s.DropLogTable(t.Context(), task.LogDay(gone.run)))
	due, err := s.DeferLost(t.Context(), l, []ledger.LostSubtask{
		{Key: task.Key{RunID: gone.run, AccountID: 1, Part: "d"}, Media: "acme", Lane: "normal", Delivery: 1},
		{Key: task.Key{RunID: there.run, AccountID: 1, Part: "d"}, Media: "acme", Lane: "normal", Delivery: 1},
	}, outcomeTime)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.Equal(t, there.run, due[0].RunID)
}

func TestSentRanges_OfNoRunAreLeftOut(t *testing.T) {
	t.Parallel()
	s, _, _, _ := waiting(t, 2)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE subtask_due SET state = 'sent', topic = 't', topic_partition = 0, topic_offset = 5 WHERE account_id = 1").Error)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE subtask_due SET state = 'sent', topic = 'u', topic_partition = 0, topic_offset = 5, run_id = 1 WHERE account_id = 2").Error)
	ranges, err := s.SentRanges(t.Context())
	require.NoError(t, err)
	require.Len(t, ranges, 1)
	require.Equal(t, "t", ranges[0].Topic)
}

func TestPrune_ARowOnTheBoundaryStays(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.New(t)
	before := outcomeTime.Truncate(time.Second)
	first := task.FirstRunIDAt(before)
	for _, id := range []int64{first - 1, first} {
		require.NoError(t, s.Data.Writer(ctx).Exec(`INSERT INTO run (id, task_id, task_name, media, handler, lane, task_revision, settings, kind, planned_at, state, epoch, created_at)
VALUES (?, 7, 't', 'acme', 'h', 'normal', 1, '{}', 'tick', ?, 'succeeded', 1, ?)`, id, sqldb.At(before), sqldb.At(before)).Error)
	}
	for i, c := range []struct {
		run   int64
		taken int
	}{{first - 1, 1}, {first - 2, 0}, {first, 1}} {
		require.NoError(t, s.Data.Writer(ctx).Exec("INSERT INTO manual_order (run_id, task_id, request, ordered_by, ordered_at, taken) VALUES (?, 7, '{}', 'otto', ?, ?)", c.run, sqldb.At(before), c.taken).Error, i)
	}
	_, err := s.Pruner(time.Minute).Runs(ctx, before)
	require.NoError(t, err)
	require.Equal(t, 1, rowsIn(t, s, "run"))
	require.Equal(t, 1, rowsIn(t, s, fmt.Sprintf("run WHERE id = %d", first)))
	require.Equal(t, 1, rowsIn(t, s, fmt.Sprintf("manual_order WHERE run_id = %d", first-2)), "an order that nobody has taken is still to be done")
	require.Equal(t, 2, rowsIn(t, s, "manual_order"))

	for i, at := range []time.Time{before.Add(-time.Millisecond), before} {
		require.NoError(t, s.Data.Writer(ctx).Exec("INSERT INTO config_change (account_id, version, level, object_id, field, before_value, after_value, seen_at) VALUES (1, ?, 'adgroup', 'x', 'f', '', '', ?)", at.UnixMicro(), sqldb.At(at)).Error)
		require.NoError(t, s.Config.Writer(ctx).Exec("INSERT INTO audit_log (at, actor, action, object) VALUES (?, 'otto', 'a', 'o')", sqldb.At(at)).Error)
		for k, state := range []string{"ended", "active"} {
			require.NoError(t, s.Data.Writer(ctx).Exec("INSERT INTO stop_order (id, verb, kind, target, target_name, reason, ordered_by, ordered_at, state, ended_at) VALUES (?, 'pause', 'media', 'acme', 'acme', '', 'otto', ?, ?, ?)",
				first-10+int64(2*i+k), sqldb.At(before.Add(-time.Hour)), state, sqldb.At(at)).Error)
		}
	}
	gone, err := s.Pruner(time.Minute).Changes(ctx, before)
	require.NoError(t, err)
	require.EqualValues(t, 1, gone)
	require.Equal(t, 1, rowsIn(t, s, fmt.Sprintf("config_change WHERE version = %d", before.UnixMicro())))
	gone, err = s.Pruner(time.Minute).Audit(ctx, before)
	require.NoError(t, err)
	require.EqualValues(t, 1, gone)
	gone, err = s.Pruner(time.Minute).StopOrders(ctx, before)
	require.NoError(t, err)
	require.EqualValues(t, 1, gone, "what is in force stays, and what ended at the moment")
	require.Equal(t, 2, rowsIn(t, s, "stop_order WHERE state = 'active'"))
}

// The first day that is kept is a day as any other: what is pulled of it reaches its summary.
func TestPrune_TheFirstDayThatIsKeptStillHasItsSummary(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := prunable(t)
	p := s.Pruner(time.Minute)
	_, done, err := p.Public(ctx, false, lately)
	require.NoError(t, err)
	require.True(t, done)
	require.Equal(t, 1, rowsIn(t, s, "report_daily"))
	require.Equal(t, 1, rowsIn(t, s, "coverage WHERE report = 'report_daily' AND day = '"+string(lately)+"'"))
	_, err = p.Summaries(ctx, lately)
	require.NoError(t, err)
	require.Equal(t, 1, rowsIn(t, s, "summary_daily"))
	write := func(pull string, d day.Day, cost int64) {
		_, err := s.WriteReport(ctx, reportOf(begin(t, s, pull, d), costRow(d, "", cost, `{"pull":"`+pull+`"}`)))
		require.NoError(t, err)
		require.Equal(t, 1, rebuildAll(t, s))
	}
	write("b", lately, 6_000_000)
	require.Equal(t, 1, rowsIn(t, s, "summary_daily WHERE cost = 6000000"))

	// Retention is made longer again: what is gone is gone, and no part of it stands for the whole.
	require.NoError(t, s.NotePruned(ctx, "report_daily", lately.Add(-100)))
	write("c", lately.Add(-1), 7_000_000)
	require.Equal(t, 1, rowsIn(t, s, "summary_daily"))
}

func TestPrune_OfHourlyDaysWaitsForTheirOwnSummaries(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := prunable(t)
	for _, table := range []string{"report_hourly", "report_daily"} {
		hour := map[string]string{"report_hourly": ", hour", "report_daily": ""}[table]
		if table == "report_hourly" {
			require.NoError(t, s.Data.Writer(ctx).Exec("INSERT INTO report_hourly (day, account_id, level, object_id"+hour+", media, currency, day_zone, version, updated_at) VALUES (?, 7, 'account', '', 3, 'test', 'CNY', 'Asia/Shanghai', 1, ?)",
				longAgo, sqldb.At(outcomeTime)).Error)
		}
		require.NoError(t, s.Data.Writer(ctx).Exec("DELETE FROM coverage WHERE report = ?", table).Error)
		require.NoError(t, s.Data.Writer(ctx).Exec("INSERT INTO coverage (account_id, report, level, day, media, dirty) VALUES (7, ?, 'account', ?, 'test', ?)",
			table, longAgo, map[string]any{"report_hourly": 5, "report_daily": nil}[table]).Error)
	}
	_, done, err := s.Pruner(time.Minute).Public(ctx, true, lately.Add(-30))
	require.NoError(t, err)
	require.False(t, done, "its hours are not in their summary")
	require.Equal(t, 1, rowsIn(t, s, "report_hourly"))
	_, done, err = s.Pruner(time.Minute).Public(ctx, false, lately.Add(-30))
	require.NoError(t, err)
	require.True(t, done)
}

func TestPrune_GoesOnAfterItsFirstPiece(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := prunable(t)
	const many = 1003
	addRows(t, s.Config, "audit_log (at, actor, action, object)", many, func(int) []any { return []any{sqldb.At(outcomeTime), "otto", "a", "o"} })
	gone, err := s.Pruner(time.Minute).Audit(ctx, outcomeTime.Add(time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, many, gone)

	addRows(t, s.Data, rawReport.Name+" (day, account_id, level, object_id, row_json, version)", many, func(i int) []any { return []any{longAgo.Add(1), i, "account", "", "{}", 1} })
	gone, err = s.Pruner(time.Minute).Days(ctx, rawReport.Name, rawReport.Key(), lately)
	require.NoError(t, err)
	require.EqualValues(t, many+1, gone)

	// Accounts are walked through some at a time.
	const accounts = 103
	addRows(t, s.Data, "config_change (account_id, version, level, object_id, field, before_value, after_value, seen_at)", accounts, func(i int) []any {
		return []any{i + 1, 5, "adgroup", "x", "f", "", "", sqldb.At(outcomeTime)}
	})
	gone, err = s.Pruner(time.Minute).Changes(ctx, outcomeTime)
	require.NoError(t, err)
	require.EqualValues(t, accounts, gone)
	addRows(t, s.Data, "coverage (account_id, report, level, day, media)", accounts, func(i int) []any { return []any{100 + i, "report_daily", "creative", longAgo, "test"} })
	addRows(t, s.Data, "wide_day (account_id, day, media, mark)", accounts, func(i int) []any { return []any{100 + i, longAgo, "test", 1} })
	_, done, err := s.Pruner(time.Minute).Public(ctx, false, lately)
	require.NoError(t, err)
	require.True(t, done)
	require.Zero(t, rowsIn(t, s, "coverage WHERE day = '"+string(longAgo)+"'"))
	require.Zero(t, rowsIn(t, s, "wide_day WHERE day = '"+string(longAgo)+"'"))

	// Runs that stay are not met again, and those behind them go.
	addRows(t, s.Data, "run (id, task_id, task_name, media, handler, lane, task_revision, settings, kind, planned_at, state, epoch, created_at)", many, func(i int) []any {
		state := "succeeded"
		if i == 3 || i == 1001 {
			state = "running"
		}
		return []any{i + 1, 7, "t", "acme", "h", "normal", 1, "{}", "tick", sqldb.At(outcomeTime), state, 1, sqldb.At(outcomeTime)}
	})
	gone, err = s.Pruner(time.Minute).Runs(ctx, outcomeTime)
	require.NoError(t, err)
	require.EqualValues(t, many-2, gone)
}

// writeObjects writes a pull of configuration: objects by id, with the second of their last change; full says that it was asked for everything.
func writeObjects(t *testing.T, s *store.Store, full bool, rows ...results.ObjectRow) (written int) {
	t.Helper()
	scope := results.Scope{AccountID: 7, Media: "test", Report: rawObject.Name, Level: "adgroup", Days: []day.Day{day.Epoch}}
	claim, _, err := s.BeginPull(t.Context(), scope, "p", 1)
	require.NoError(t, err)
	written, err = s.WriteObjects(t.Context(), results.ObjectWrite{Claim: claim, Raw: rawObject, Rows: rows, Full: full})
	require.NoError(t, err)
	return written
}

func objectAt(id string, modified int64, deleted bool) results.ObjectRow {
	return results.ObjectRow{Object: id, Modified: time.Unix(modified, 0), Deleted: deleted, Raw: []any{id, nil}, JSON: fmt.Sprintf(`{"at":%d}`, modified)}
}

func TestWriteObjects_TheMarkOfChangesNeverFalls(t *testing.T) {
	t.Parallel()
	s := resultStore(t)
	mark := func() int64 {
		rows, err := s.ReadCoverage(t.Context(), 7, day.Epoch, day.Epoch)
		require.NoError(t, err)
		return rows[0].HighWater
	}
	writeObjects(t, s, true, objectAt("1", 10_000, false))
	require.EqualValues(t, 10_000, mark())
	writeObjects(t, s, false, objectAt("2", 9_000, false))
	require.EqualValues(t, 10_000, mark(), "a change that is shown late")
	writeObjects(t, s, false)
	require.EqualValues(t, 10_000, mark())
	writeObjects(t, s, false, objectAt("2", 11_000, false))
	require.EqualValues(t, 11_000, mark())
}

func TestWriteObjects_NoMarkLiesInTheFuture(t *testing.T) {
	t.Parallel()
	s := resultStore(t)
	mark := func() (at int64) {
		require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT high_water FROM coverage WHERE account_id = 7 AND report = ?", rawObject.Name).Row().Scan(&at))
		return at
	}
	const year2100 = 4_102_444_800
	writeObjects(t, s, true, objectAt("1", 10_000, false), objectAt("2", year2100, false))
	require.EqualValues(t, 10_000, mark())
	writeObjects(t, s, false, objectAt("2", year2100, false))
	require.EqualValues(t, 10_000, mark(), "nor does one of a pull of changes move it")
	for _, full := range []bool{false, true} {
		require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE coverage SET high_water = ?", year2100).Error)
		writeObjects(t, s, full, objectAt("1", 11_000, false))
		require.EqualValues(t, 11_000, mark(), "one that lies there is lowered")
	}
}

func TestWriteObjects_WhatIsDeletedIsDeletedOnce(t *testing.T) {
	t.Parallel()
	s := resultStore(t)
	deleted := func() (at sqldb.Time, version int64) {
		require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT deleted_at, version FROM "+rawObject.Name+" WHERE object_id = '1'").Row().Scan(&at, &version))
		return at, version
	}
	writeObjects(t, s, true, objectAt("1", 1, false), objectAt("2", 1, false))
	require.Equal(t, 2, writeObjects(t, s, true, objectAt("2", 1, false)))
	at, version := deleted()
	require.False(t, at.IsZero())
	require.Equal(t, 1, writeObjects(t, s, true, objectAt("2", 1, false)), "it is gone already")
	again, same := deleted()
	require.Equal(t, at, again)
	require.Equal(t, version, same)

	// The platform lists it as deleted: since the moment at which that was first seen.
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE "+rawObject.Name+" SET deleted_at = ? WHERE object_id = '1'", sqldb.At(outcomeTime)).Error)
	writeObjects(t, s, true, objectAt("1", 2, true), objectAt("2", 1, false))
	again, _ = deleted()
	require.Equal(t, outcomeTime, again.Time)
	writeObjects(t, s, false, objectAt("2", 3, true))
	writeObjects(t, s, true) // No live object is missed: an empty list is believed.
}

func TestWriteObjects_DeletesMoreThanOneStatementDoes(t *testing.T) {
	t.Parallel()
	s := resultStore(t)
	const many = 1003
	rows := make([]results.ObjectRow, many)
	for i := range rows {
		rows[i] = objectAt(fmt.Sprint(i), 1, false)
	}
	require.Equal(t, many, writeObjects(t, s, true, rows...))
	require.Equal(t, many, writeObjects(t, s, true, rows[0]))
	require.Equal(t, 1, rowsIn(t, s, rawObject.Name+" WHERE deleted_at IS NULL"))
}

// All days of a pull are held by newer ones: it gave way only if each of them is whole.
func TestWriteReport_GivesWayOnlyToPullsThatAreAllWhole(t *testing.T) {
	t.Parallel()
	d1, d2 := today.Add(-1), today
	for name, whole := range map[string][2]bool{"all are": {true, true}, "the first is not": {false, true}, "the last is not": {true, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := resultStore(t)
			old := begin(t, s, "old", d1, d2)
			for i, d := range []day.Day{d1, d2} {
				claim := begin(t, s, "new", d)
				claim.Version = old.Version + 10
				write := reportOf(claim, costRow(d, "", 1_000_000, `{}`))
				write.Whole = whole[i]
				_, err := s.WriteReport(t.Context(), write)
				require.NoError(t, err)
			}
			_, err := s.WriteReport(t.Context(), reportOf(old, costRow(d1, "", 5_000_000, `{}`), costRow(d2, "", 5_000_000, `{}`)))
			refusal, fenced := results.IsFenced(err)
			require.True(t, fenced, "%v", err)
			require.Equal(t, whole[0] && whole[1], refusal.Complete)
		})
	}
}

func TestDead_TheExampleAndTheNameAreOfTheOneThatDiedLast(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	for i, name := range []string{"the old name", "the new name"} {
		run := died(t, s, 7, outcomeTime.Add(time.Duration(i)*time.Hour), fmt.Sprintf("account %d has failed", 100+i), accounts(2)...)
		require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE run SET task_name = ? WHERE id = ?", name, run).Error)
	}
	groups, _, err := s.DeadGroups(t.Context(), task.DeadFilter{}, 10)
	require.NoError(t, err)
	require.Len(t, groups, 1)
	require.Equal(t, "account 101 has failed", groups[0].Example)
	name, err := s.DeadTaskName(t.Context(), 7)
	require.NoError(t, err)
	require.Equal(t, "the new name", name)
}
