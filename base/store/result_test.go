package store_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/base/store/summaries"
)

const today = day.Day("2026-11-21")

var rawReport = rawtable.Table{Name: "test_report_daily", Shape: rawtable.DailyRows, Columns: []rawtable.Column{{Name: "cost_fen", Kind: rawtable.Int}}}

var rawObject = rawtable.Table{Name: "test_adgroup", Shape: rawtable.Objects, Columns: []rawtable.Column{{Name: "adgroup_name", Kind: rawtable.Text}, {Name: "created_time", Kind: rawtable.Instant}}}

func resultStore(t *testing.T) *store.Store {
	t.Helper()
	s := storetest.New(t)
	tables := []rawtable.Table{rawReport, rawObject}
	require.NoError(t, s.EnsureRawTables(context.Background(), tables))
	require.NoError(t, s.EnsureRawTables(context.Background(), tables), "a second time changes nothing")
	return s
}

func begin(t *testing.T, s *store.Store, pullID string, days ...day.Day) results.Claim {
	t.Helper()
	scope := results.Scope{AccountID: 7, Media: "test", Report: "report_daily", Level: "account", Days: days}
	claim, _, err := s.BeginPull(context.Background(), scope, pullID, 1)
	require.NoError(t, err)
	return claim
}

// notEmpty is the rule of these tests: an answer without rows is suspect where the tables hold some.
func notEmpty(came, held int) (suspect string) {
	if came > 0 || held == 0 {
		return ""
	}
	return "it has no rows"
}

// notEmptied is notEmpty for days that had spend.
var notEmptied = results.Judging{Judge: func(a *results.Answer, _ []results.Figure) results.Verdict {
	return results.Verdict{Suspect: notEmpty(int(a.Rows), int(a.Stored))}
}}

func reportOf(claim results.Claim, rows ...results.ReportRow) results.ReportWrite {
	return results.ReportWrite{
		Claim: claim, Raw: rawReport, Currency: "CNY", Zone: "Asia/Shanghai", Rows: rows, Whole: true, DirtySummary: true, Judging: notEmptied,
	}
}

func costRow(d day.Day, object string, cost int64, json string) results.ReportRow {
	r := results.ReportRow{Day: d, Object: object, Raw: []any{cost / 10_000}, JSON: json}
	r.Metrics.Set(metric.Index("cost"), cost)
	return r
}

type publicRow struct {
	Day      day.Day `gorm:"column:day"`
	ObjectID string  `gorm:"column:object_id"`
	Cost     *int64  `gorm:"column:cost"`
	Clicks   *int64  `gorm:"column:clicks"`
	Version  int64   `gorm:"column:version"`
}

func publicRows(t *testing.T, s *store.Store) []publicRow {
	t.Helper()
	var rows []publicRow
	require.NoError(t, s.Data.Writer(context.Background()).Raw("SELECT day, object_id, cost, clicks, version FROM report_daily ORDER BY day, object_id").Scan(&rows).Error)
	return rows
}

func coverageOf(t *testing.T, s *store.Store) map[day.Day]results.Coverage {
	t.Helper()
	rows, err := s.ReadCoverage(context.Background(), 7, "2026-01-01", "2026-12-31")
	require.NoError(t, err)
	byDay := map[day.Day]results.Coverage{}
	for _, r := range rows {
		byDay[r.Day] = r
	}
	return byDay
}

func TestWriteReport_LeavesUnchangedRowsAndDeletesStaleOnes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := resultStore(t)
	first := begin(t, s, "a", today)
	_, err := s.WriteReport(ctx, reportOf(first, costRow(today, "1", 100_000_000, `{"v":1}`), costRow(today, "2", 200_000_000, `{"v":1}`), costRow(today, "3", 1_000_000, `{"v":1}`)))
	require.NoError(t, err)

	second := begin(t, s, "b", today)
	require.Greater(t, second.Version, first.Version)
	result, err := s.WriteReport(ctx, reportOf(second, costRow(today, "1", 100_000_000, `{"v":1}`), costRow(today, "2", 210_000_000, `{"v":2}`)))
	require.NoError(t, err)
	require.Equal(t, results.ReportResult{Written: 1, Deleted: 1, FencedComplete: true}, result)

	rows := publicRows(t, s)
	require.Len(t, rows, 2)
	require.Equal(t, first.Version, rows[0].Version, "an unchanged row is not rewritten")
	require.Equal(t, second.Version, rows[1].Version)
	require.EqualValues(t, 210_000_000, *rows[1].Cost)
	require.Nil(t, rows[1].Clicks, "what the platform lacks is NULL, not 0")
	c := coverageOf(t, s)[today]
	require.Equal(t, results.Complete, c.State)
	require.Equal(t, second.Version, c.CompleteVersion)
	require.EqualValues(t, 2, c.RowCount)
	require.Equal(t, second.Version, *c.Dirty)
}

func TestWriteReport_RefusesToEmptyADayThatHadSpend(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := resultStore(t)
	yesterday := today.Add(-1)
	_, err := s.WriteReport(ctx, reportOf(begin(t, s, "a", yesterday, today), costRow(yesterday, "", 5_000_000, `{}`), costRow(today, "", 1_000_000, `{}`)))
	require.NoError(t, err)
	before := coverageOf(t, s)[yesterday].CompleteVersion

	result, err := s.WriteReport(ctx, reportOf(begin(t, s, "b", yesterday, today), costRow(today, "", 2_000_000, `{"n":2}`)))
	require.NoError(t, err)
	require.Equal(t, []day.Day{yesterday}, result.Suspect)
	require.Len(t, publicRows(t, s), 2, "the suspect day keeps its row")
	c := coverageOf(t, s)
	require.Equal(t, results.Suspect, c[yesterday].State)
	require.Equal(t, before, c[yesterday].CompleteVersion)
	require.Equal(t, results.Complete, c[today].State)
}

func TestWriteReport_KeepsRowsOfAPullThatWasNotWhole(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := resultStore(t)
	_, err := s.WriteReport(ctx, reportOf(begin(t, s, "a", today), costRow(today, "1", 1_000_000, `{}`)))
	require.NoError(t, err)
	partial := reportOf(begin(t, s, "b", today), costRow(today, "2", 1_000_000, `{}`))
	partial.Whole, partial.Note = false, "2 rows came of a total of 3"
	_, err = s.WriteReport(ctx, partial)
	require.NoError(t, err)
	require.Len(t, publicRows(t, s), 2)
	require.Equal(t, results.Partial, coverageOf(t, s)[today].State)
}

func TestWriteReport_FenceStopsThePullThatBeganEarlier(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := resultStore(t)
	late := begin(t, s, "late", today)
	newer := begin(t, s, "newer", today)
	if newer.Version == late.Version {
		newer.Version++
	}
	_, err := s.WriteReport(ctx, reportOf(newer, costRow(today, "1", 2_000_000, `{"n":2}`)))
	require.NoError(t, err)
	_, err = s.WriteReport(ctx, reportOf(late, costRow(today, "1", 1_000_000, `{"n":1}`)))
	fenced, ok := results.IsFenced(err)
	require.True(t, ok, "got %v", err)
	require.True(t, fenced.Complete)
	require.EqualValues(t, 2_000_000, *publicRows(t, s)[0].Cost, "the older figures did not win")

	twin := newer
	twin.PullID = "twin"
	_, err = s.WriteReport(ctx, reportOf(twin))
	_, ok = results.IsFenced(err)
	require.True(t, ok, "an equal version of another pull is fenced too")
	_, err = s.WriteReport(ctx, reportOf(newer, costRow(today, "1", 2_000_000, `{"n":2}`)))
	require.NoError(t, err, "a pull may write again under its own claim")
}

func TestWriteReport_WritesTheDaysThatNobodyElseHasClaimed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := resultStore(t)
	yesterday := today.Add(-1)
	both := begin(t, s, "both", yesterday, today)
	newer := begin(t, s, "newer", today)
	newer.Version = both.Version + 1
	_, err := s.WriteReport(ctx, reportOf(newer, costRow(today, "", 2_000_000, `{"n":2}`)))
	require.NoError(t, err)

	result, err := s.WriteReport(ctx, reportOf(both, costRow(yesterday, "", 7_000_000, `{}`), costRow(today, "", 1_000_000, `{"n":1}`)))
	require.NoError(t, err)
	require.Equal(t, results.ReportResult{Written: 1, Fenced: []day.Day{today}, FencedComplete: true}, result)
	rows := publicRows(t, s)
	require.Len(t, rows, 2)
	require.EqualValues(t, 7_000_000, *rows[0].Cost, "the day that only this pull has is written")
	require.EqualValues(t, 2_000_000, *rows[1].Cost, "the newer figures stay")
}

func TestWriteReport_RefusesRowsOutsideItsDays(t *testing.T) {
	t.Parallel()
	s := resultStore(t)
	_, err := s.WriteReport(context.Background(), reportOf(begin(t, s, "a", today), costRow(today.Add(1), "", 1, `{}`)))
	require.ErrorContains(t, err, "outside its days")
	require.Empty(t, coverageOf(t, s), "nothing of the transaction stays")
}

// A platform that gives a row on two pages, with figures that rose in between, has it once: as it came last.
func TestWriteReport_ARowThatComesTwiceIsTheLast(t *testing.T) {
	t.Parallel()
	s := resultStore(t)
	rows := []results.ReportRow{costRow(today, "1", 1_000_000, `{"v":1}`), costRow(today, "2", 5_000_000, `{"v":1}`), costRow(today, "1", 2_000_000, `{"v":2}`)}
	result, err := s.WriteReport(t.Context(), reportOf(begin(t, s, "a", today), rows...))
	require.NoError(t, err)
	require.Equal(t, 2, result.Written)
	first := publicRows(t, s)
	require.Len(t, first, 2)
	require.EqualValues(t, 2_000_000, *first[0].Cost)
	require.EqualValues(t, 2, coverageOf(t, s)[today].RowCount, "as many as the table has")

	result, err = s.WriteReport(t.Context(), reportOf(begin(t, s, "b", today), rows...))
	require.NoError(t, err)
	require.Zero(t, result.Written, "the same again changes nothing")
	require.Equal(t, first, publicRows(t, s))
}

// What the tables lack of an unchanged row comes back, and what only one of them has of a row that is gone goes.
func TestWriteReport_MendsRowsThatOneTableLacks(t *testing.T) {
	t.Parallel()
	s := resultStore(t)
	db := s.Data.Writer(t.Context())
	pulled := []results.ReportRow{costRow(today, "1", 100_000_000, `{"v":1}`), costRow(today, "2", 200_000_000, `{"v":1}`), costRow(today, "3", 300_000_000, `{"v":1}`)}
	gone := []results.ReportRow{costRow(today, "8", 1_000_000, `{"v":1}`), costRow(today, "9", 1_000_000, `{"v":1}`)}
	_, err := s.WriteReport(t.Context(), reportOf(begin(t, s, "a", today), append(gone, pulled...)...))
	require.NoError(t, err)
	for table, objects := range map[string][]string{rawReport.Name: {"1", "8"}, "report_daily": {"2", "9"}} {
		require.NoError(t, db.Exec("DELETE FROM "+table+" WHERE object_id IN ?", objects).Error)
	}
	result, err := s.WriteReport(t.Context(), reportOf(begin(t, s, "b", today), pulled...))
	require.NoError(t, err)
	require.Equal(t, 2, result.Written)
	require.Equal(t, 2, result.Deleted)
	for _, table := range []string{rawReport.Name, "report_daily"} {
		var objects []string
		require.NoError(t, db.Raw("SELECT object_id FROM "+table+" ORDER BY object_id").Scan(&objects).Error)
		require.Equal(t, []string{"1", "2", "3"}, objects, table)
	}
}

func objectsOf(claim results.Claim, full bool, rows ...results.ObjectRow) results.ObjectWrite {
	return results.ObjectWrite{Claim: claim, Raw: rawObject, Full: full, Rows: rows, JudgeRows: notEmpty}
}

func object(id, name string, modified int64) results.ObjectRow {
	return results.ObjectRow{Object: id, Name: name, Modified: time.Unix(modified, 0), Raw: []any{name, sqldb.At(time.Unix(1, 0))}, JSON: `{"name":"` + name + `"}`}
}

func beginObjects(t *testing.T, s *store.Store) (results.Claim, int64) {
	t.Helper()
	scope := results.Scope{AccountID: 7, Media: "test", Report: "adgroup", Level: "adgroup", Days: []day.Day{day.Epoch}}
	claim, highWater, err := s.BeginPull(context.Background(), scope, "p", 1)
	require.NoError(t, err)
	return claim, highWater
}

func TestWriteObjects_MarksWhatIsGoneAndKeepsOldNames(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := resultStore(t)
	claim, highWater := beginObjects(t, s)
	require.Zero(t, highWater)
	n, err := s.WriteObjects(ctx, objectsOf(claim, true, object("1", "one", 100), object("2", "two", 200)))
	require.NoError(t, err)
	require.Equal(t, 2, n)

	claim, highWater = beginObjects(t, s)
	require.EqualValues(t, 200, highWater)
	n, err = s.WriteObjects(ctx, objectsOf(claim, false, object("1", "uno", 300), object("2", "two", 200)))
	require.NoError(t, err)
	require.Equal(t, 1, n, "a pull of changes writes only changes")

	claim, highWater = beginObjects(t, s)
	require.EqualValues(t, 300, highWater)
	_, err = s.WriteObjects(ctx, objectsOf(claim, true, object("1", "uno", 300)))
	require.NoError(t, err)

	var rows []struct {
		ObjectID    string     `gorm:"column:object_id"`
		AdgroupName string     `gorm:"column:adgroup_name"`
		DeletedAt   sqldb.Time `gorm:"column:deleted_at"`
	}
	require.NoError(t, s.Data.Writer(ctx).Raw("SELECT object_id, adgroup_name, deleted_at FROM test_adgroup ORDER BY object_id").Scan(&rows).Error)
	require.Len(t, rows, 2, "no row of configuration is ever deleted")
	require.True(t, rows[0].DeletedAt.IsZero())
	require.False(t, rows[1].DeletedAt.IsZero())
	var names []string
	require.NoError(t, s.Data.Writer(ctx).Raw("SELECT name FROM object_name WHERE object_id = '1' ORDER BY since").Scan(&names).Error)
	require.Equal(t, []string{"one", "uno"}, names)

	claim, _ = beginObjects(t, s)
	_, err = s.WriteObjects(ctx, objectsOf(claim, false, object("2", "two", 400)))
	require.NoError(t, err)
	require.NoError(t, s.Data.Writer(ctx).Raw("SELECT object_id, adgroup_name, deleted_at FROM test_adgroup ORDER BY object_id").Scan(&rows).Error)
	require.True(t, rows[1].DeletedAt.IsZero(), "an object that comes back is not deleted any more")
}

func TestWriteObjects_DoesNotBelieveAnEmptyList(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := resultStore(t)
	claim, _ := beginObjects(t, s)
	_, err := s.WriteObjects(ctx, objectsOf(claim, true))
	require.NoError(t, err, "an account without objects is nothing special")
	claim, _ = beginObjects(t, s)
	_, err = s.WriteObjects(ctx, objectsOf(claim, true, object("1", "one", 100)))
	require.NoError(t, err)

	claim, _ = beginObjects(t, s)
	_, err = s.WriteObjects(ctx, objectsOf(claim, true))
	var suspect *results.SuspectError
	require.ErrorAs(t, err, &suspect)
	var deleted int
	require.NoError(t, s.Data.Writer(ctx).Raw("SELECT COUNT(*) FROM test_adgroup WHERE deleted_at IS NOT NULL").Row().Scan(&deleted))
	require.Zero(t, deleted)
	require.Equal(t, results.Suspect, coverageOf(t, s)[day.Epoch].State)
}

func TestWriteReport_AnotherDeliveryOfTheSameRunIsToldApart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := resultStore(t)
	late := begin(t, s, "late", today)
	twin := begin(t, s, "twin", today)
	twin.Version = late.Version + 1
	_, err := s.WriteReport(ctx, reportOf(twin, costRow(today, "", 1_000_000, `{}`)))
	require.NoError(t, err)
	_, err = s.WriteReport(ctx, reportOf(late, costRow(today, "", 1_000_000, `{}`)))
	fenced, ok := results.IsFenced(err)
	require.True(t, ok)
	require.True(t, fenced.Complete)
	require.True(t, fenced.Own, "both are of run 1")
	late.RunID = 2
	_, err = s.WriteReport(ctx, reportOf(late))
	fenced, ok = results.IsFenced(err)
	require.True(t, ok)
	require.False(t, fenced.Own)
}

func TestRebuildSummary_FollowsMarksAndBindings(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := resultStore(t)
	for _, account := range []int64{7, 8, 9} {
		claim := begin(t, s, "a", today)
		claim.AccountID = account
		_, err := s.WriteReport(ctx, reportOf(claim, costRow(today, "", account*1_000_000, `{}`)))
		require.NoError(t, err)
	}
	require.NoError(t, s.Data.Writer(ctx).Exec("INSERT INTO binding_applied (account_id, from_day, to_day, game, os) VALUES (7, '2026-01-01', '9999-12-31', 'chess', 'ios'), (8, '2026-01-01', '9999-12-31', 'chess', 'ios')").Error)

	rebuild := func() {
		now, err := s.Data.Now(ctx)
		require.NoError(t, err)
		days, err := s.DirtyDays(ctx, "test", now.Add(time.Hour).UnixMicro(), 100)
		require.NoError(t, err)
		for _, d := range days {
			_, err := s.RebuildSummary(ctx, d)
			require.NoError(t, err)
		}
	}
	summary := func() map[string]int64 {
		var rows []struct {
			Game string `gorm:"column:game"`
			Cost int64  `gorm:"column:cost"`
		}
		require.NoError(t, s.Data.Writer(ctx).Raw("SELECT game, cost FROM summary_daily").Scan(&rows).Error)
		sums := map[string]int64{}
		for _, r := range rows {
			sums[r.Game] = r.Cost
		}
		return sums
	}
	rebuild()
	require.Equal(t, map[string]int64{"chess": 15_000_000, "unassigned": 9_000_000}, summary())
	require.Nil(t, coverageOf(t, s)[today].Dirty, "the marks that were read are cleared")

	// A change of binding marks the day; the sum of the old game goes away with its last account.
	bindTo(t, s, "go", 7, 8)
	rebuild()
	require.Equal(t, map[string]int64{"go": 15_000_000, "unassigned": 9_000_000}, summary())

	// Figures of one account have its game made anew, and no other.
	bindTo(t, s, "chess", 8)
	rebuild()
	before := versions(t, s)
	require.NoError(t, s.Data.Writer(ctx).Exec("UPDATE report_daily SET cost = cost + 1 WHERE account_id = 7").Error)
	require.NoError(t, s.Data.Writer(ctx).Exec("UPDATE coverage SET dirty = claimed_version WHERE account_id = 7").Error)
	rebuild()
	after := versions(t, s)
	require.Greater(t, after["go"], before["go"])
	delete(after, "go")
	delete(before, "go")
	require.Equal(t, before, after)
	require.Len(t, before, 2)
	var rebound int
	require.NoError(t, s.Data.Writer(ctx).Raw("SELECT COUNT(*) FROM summary_rebound").Row().Scan(&rebound))
	require.Zero(t, rebound, "the marks that were read are cleared")
}

func TestRebuildSummary_AfterALeaderOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	s := resultStore(t)
	bindTo(t, s, "chess", 7)
	_, err := s.WriteReport(t.Context(), reportOf(begin(t, s, "a", today), costRow(today, "", 7_000_000, `{}`)))
	require.NoError(t, err)
	rebuildAll(t, s)
	// In an upgrade consumers come before producers. The old leader marks coverage, and knows nothing of summary_rebound.
	for _, statement := range []string{
		"UPDATE coverage SET dirty = claimed_version + 1 WHERE account_id = 7",
		"DELETE FROM binding_applied WHERE account_id = 7",
		"INSERT INTO binding_applied (account_id, from_day, to_day, game, os) VALUES (7, '2026-01-01', '9999-12-31', 'go', 'ios')",
	} {
		require.NoError(t, s.Data.Writer(t.Context()).Exec(statement).Error)
	}
	require.Equal(t, 1, rebuildAll(t, s))
	require.Equal(t, []string{"go"}, slices.Collect(maps.Keys(versions(t, s))))
}

// bindTo moves accounts to a game, as the leader does it.
func bindTo(t *testing.T, s *store.Store, game string, accounts ...int64) {
	t.Helper()
	var changes []summaries.BindingChange
	for _, id := range accounts {
		b := summaries.Binding{AccountID: id, From: "2026-01-01", To: summaries.LastDay, Game: game, OS: "ios"}
		changes = append(changes, summaries.BindingChange{AccountID: id, Bindings: []summaries.Binding{b}, Touched: []summaries.Binding{b}})
	}
	require.NoError(t, s.ApplyBindings(t.Context(), lead(t, s, "binder"), changes))
}

// versions returns the version of each game's row of summary_daily.
func versions(t *testing.T, s *store.Store) map[string]int64 {
	t.Helper()
	var rows []struct {
		Game    string
		Version int64
	}
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT game, version FROM summary_daily").Scan(&rows).Error)
	all := map[string]int64{}
	for _, r := range rows {
		all[r.Game] = r.Version
	}
	return all
}

func TestRebuildSummary_LeavesAMarkThatRoseMeanwhile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := resultStore(t)
	_, err := s.WriteReport(ctx, reportOf(begin(t, s, "a", today), costRow(today, "", 1_000_000, `{}`)))
	require.NoError(t, err)
	days, err := s.DirtyDays(ctx, "test", 1<<62, 100)
	require.NoError(t, err)
	require.Len(t, days, 1)
	_, err = s.WriteReport(ctx, reportOf(begin(t, s, "b", today), costRow(today, "", 2_000_000, `{"n":2}`)))
	require.NoError(t, err)
	_, err = s.RebuildSummary(ctx, days[0])
	require.NoError(t, err)
	days, err = s.DirtyDays(ctx, "test", 1<<62, 100)
	require.NoError(t, err)
	require.Len(t, days, 1, "the newer mark was not read and stays")
}

func TestRebuildSummary_OvertakenByOneThatMissedABinding(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := resultStore(t)
	bindTo(t, s, "chess", 7)
	_, err := s.WriteReport(ctx, reportOf(begin(t, s, "a", today), costRow(today, "", 7_000_000, `{}`)))
	require.NoError(t, err)
	days, err := s.DirtyDays(ctx, "test", 1<<62, 100)
	require.NoError(t, err)
	require.Len(t, days, 1)

	// While one rebuild is at its beginning another one adds up; then the account moves, and the first one goes on and ends before the other.
	summed, goOn, other := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var began, adding atomic.Bool
	sqldbtest.BeforeRows(s.Data, func(query string) {
		switch {
		case strings.Contains(query, "FROM summary_rebound") && began.CompareAndSwap(false, true):
			waitForLater(t, s)
			go func() {
				_, err := s.RebuildSummary(ctx, days[0])
				other <- err
			}()
			<-summed
			bindTo(t, s, "go", 7)
		case strings.Contains(query, "JOIN report_daily AS t") && adding.CompareAndSwap(false, true):
			close(summed) // The snapshot is open since the bindings were read.
			<-goOn
		}
	})
	_, err = s.RebuildSummary(ctx, days[0])
	require.NoError(t, err)
	close(goOn)
	require.NoError(t, <-other)

	rebuildAll(t, s)
	require.Equal(t, []string{"go"}, slices.Collect(maps.Keys(versions(t, s))))
}

// waitForLater returns when the database's time is another one: SQLite's has milliseconds.
func waitForLater(t *testing.T, s *store.Store) {
	t.Helper()
	began, err := s.Data.Now(t.Context())
	require.NoError(t, err)
	for now := began; now.Equal(began); {
		now, err = s.Data.Now(t.Context())
		require.NoError(t, err)
	}
}
