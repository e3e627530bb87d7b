package results_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/rawtable"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
)

var (
	rawFund = rawtable.Table{Name: "test_fund", Shape: rawtable.FundRows,
		Columns: []rawtable.Column{{Name: "balance_fen", Kind: rawtable.Int}}}
	rawFundDaily = rawtable.Table{Name: "test_fund_daily", Shape: rawtable.DailyFundRows,
		Columns: []rawtable.Column{{Name: "paid_fen", Kind: rawtable.Int}}}
)

func fundStore(t *testing.T) *store.Store {
	t.Helper()
	s := storetest.New(t)
	for range 2 { // the second call changes nothing
		require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{rawFund, rawFundDaily}))
	}
	return s
}

func beginFunds(t *testing.T, s *store.Store, report, pullID string, days ...day.Day) results.Claim {
	t.Helper()
	scope := results.Scope{AccountID: 7, Media: "test", Report: report, Level: "account", Days: days}
	claim, _, err := s.BeginPull(t.Context(), scope, pullID, 1)
	require.NoError(t, err)
	return claim
}

// money is one row of a test: so many micros of one field, in cash.
type money struct {
	day    day.Day
	kind   fund.Kind
	field  fund.Field
	micros int64
	json   string
}

func fundsOf(claim results.Claim, raw rawtable.Table, all ...money) results.FundWrite {
	w := results.FundWrite{Claim: claim, Raw: raw, Currency: "CNY", Zone: "Asia/Shanghai", Whole: true,
		JudgeRows: storetest.NotEmpty}
	for _, m := range all {
		w.Rows = append(w.Rows, results.FundRow{Day: m.day, FundType: "TYPE_" + string(m.kind), Raw: []any{m.micros / 10_000},
			JSON: m.json})
		sum := results.FundSum{Day: m.day, Row: fund.Row{Kind: m.kind}}
		sum.Values[m.field] = fund.Of(m.micros)
		w.Sums = append(w.Sums, sum)
	}
	return w
}

func balanceOf(kind fund.Kind, micros int64, json string) money {
	return money{day: day.Epoch, kind: kind, field: fund.Balance, micros: micros, json: json}
}

func paidOn(d day.Day, micros int64, json string) money {
	return money{day: d, kind: fund.Cash, field: fund.Paid, micros: micros, json: json}
}

type fundLine struct {
	Day          day.Day `gorm:"column:day"`
	Fund         string  `gorm:"column:fund"`
	Media        string  `gorm:"column:media"`
	Currency     string  `gorm:"column:currency"`
	Balance      *int64  `gorm:"column:balance"`
	ValidBalance *int64  `gorm:"column:valid_balance"`
	Paid         *int64  `gorm:"column:paid"`
	Deposit      *int64  `gorm:"column:deposit"`
	Version      int64   `gorm:"column:version"`
}

func fundLines(t *testing.T, s *store.Store, table, order string) []fundLine {
	t.Helper()
	var lines []fundLine
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT * FROM "+table+" WHERE account_id = 7 ORDER BY "+
		order).Scan(&lines).Error)
	return lines
}

func fundTombstones(t *testing.T, s *store.Store) []string {
	t.Helper()
	var rows []struct {
		TableName string  `gorm:"column:table_name"`
		Day       day.Day `gorm:"column:day"`
		AccountID int64   `gorm:"column:account_id"`
		Fund      string  `gorm:"column:fund"`
	}
	require.NoError(t,
		s.Data.Writer(t.Context()).Raw("SELECT table_name, day, account_id, fund FROM report_tombstone ORDER BY id").Scan(
			&rows).Error)
	var words []string
	for _, r := range rows {
		words = append(words, fmt.Sprintf("%s %s %d %s", r.TableName, r.Day, r.AccountID, r.Fund))
	}
	return words
}

func rawCount(t *testing.T, s *store.Store, table string) int {
	t.Helper()
	var n int
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM "+table).Row().Scan(&n))
	return n
}

func TestWriteFunds_BalanceIsThatOfTheLastPull(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := fundStore(t)
	first := beginFunds(t, s, "balance", "a", day.Epoch)
	result, err := s.WriteFunds(ctx, fundsOf(first, rawFund, balanceOf(fund.Cash, 50_000_000, `{"v":1}`),
		balanceOf(fund.Grant, 0, `{"v":1}`), balanceOf(fund.Credit, 1_000_000, `{}`)))
	require.NoError(t, err)
	require.Equal(t, 3, result.Written)

	second := beginFunds(t, s, "balance", "b", day.Epoch)
	result, err = s.WriteFunds(ctx, fundsOf(second, rawFund, balanceOf(fund.Cash, 40_000_000, `{"v":2}`),
		balanceOf(fund.Grant, 0, `{"v":2}`)))
	require.NoError(t, err)
	require.Equal(t, results.ReportResult{Written: 1, Deleted: 1, FencedComplete: true}, result)
	lines := fundLines(t, s, "account_balance", "fund")
	require.Len(t, lines, 2)
	require.EqualValues(t, 40_000_000, *lines[0].Balance)
	require.Equal(t, "CNY", lines[0].Currency)
	require.Equal(t, "test", lines[0].Media)
	require.Equal(t, second.Version, lines[0].Version)
	require.Zero(t, *lines[1].Balance, "nothing left is 0")
	require.Nil(t, lines[1].ValidBalance, "an amount that the platform does not report is NULL, not 0")
	require.Equal(t, first.Version, lines[1].Version,
		"an unchanged row is not rewritten, although the platform's row has more fields")
	require.Equal(t, 2, rawCount(t, s, "test_fund"))
	require.Equal(t, []string{"account_balance 1970-01-01 7 credit"}, fundTombstones(t, s),
		"a warehouse can read the deletion")
	c := storetest.CoverageOf(t, s)[day.Epoch]
	require.Equal(t, results.Complete, c.State)
	require.Equal(t, second.Version, c.CompleteVersion)
	require.EqualValues(t, 2, c.RowCount)
}

// A release that reads more of the platform's rows fills its new columns at the next pull, although the platform's
// answer is the same.
func TestWriteFunds_ANewColumnIsFilledUnderTheSameAnswer(t *testing.T) {
	t.Parallel()
	s := fundStore(t)
	grown := rawFundDaily
	grown.Columns = append(slices.Clone(grown.Columns), rawtable.Column{Name: "grant_fen", Kind: rawtable.Int})
	row := paidOn("2026-11-20", 5_000_000, `{"paid":"5.00","grant":"1.00"}`)
	_, err := s.WriteFunds(t.Context(), fundsOf(beginFunds(t, s, "fund_daily", "1", "2026-11-20"), rawFundDaily, row))
	require.NoError(t, err)
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{grown}))
	var versions []int64
	for _, pull := range []string{"2", "3"} {
		w := fundsOf(beginFunds(t, s, "fund_daily", pull, "2026-11-20"), grown, row)
		w.Rows[0].Raw = append(w.Rows[0].Raw, int64(100))
		_, err := s.WriteFunds(t.Context(), w)
		require.NoError(t, err)
		var grant, version int64
		require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT grant_fen, version FROM test_fund_daily").Row().Scan(&grant,
			&version))
		require.Equal(t, int64(100), grant)
		versions = append(versions, version)
	}
	require.Equal(t, versions[0], versions[1], "an equal row is not written again")
}

func TestWriteFunds_AnEmptyAnswerIsSuspectWhereThereAreRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := fundStore(t)
	empty := func(id string) results.FundWrite { return fundsOf(beginFunds(t, s, "balance", id, day.Epoch), rawFund) }
	_, err := s.WriteFunds(ctx, empty("none yet"))
	require.NoError(t, err)
	require.Equal(t, results.Complete, storetest.CoverageOf(t, s)[day.Epoch].State,
		"an account that never had rows is complete without any")

	// A balance of 0 is a row too.
	claim := beginFunds(t, s, "balance", "a", day.Epoch)
	_, err = s.WriteFunds(ctx, fundsOf(claim, rawFund, balanceOf(fund.Cash, 0, `{}`)))
	require.NoError(t, err)
	result, err := s.WriteFunds(ctx, empty("b"))
	require.NoError(t, err)
	require.Equal(t, []day.Day{day.Epoch}, result.Suspect)
	require.Len(t, fundLines(t, s, "account_balance", "fund"), 1)
	require.Equal(t, 1, rawCount(t, s, "test_fund"))
	c := storetest.CoverageOf(t, s)[day.Epoch]
	require.Equal(t, results.Suspect, c.State)
	require.Equal(t, claim.Version, c.CompleteVersion, "the version is that of the last whole pull")

	confirmed := empty("c")
	confirmed.Confirmed = true
	result, err = s.WriteFunds(ctx, confirmed)
	require.NoError(t, err)
	require.Equal(t, 1, result.Deleted)
	require.Empty(t, fundLines(t, s, "account_balance", "fund"))
	require.Zero(t, rawCount(t, s, "test_fund"))
	require.Equal(t, results.Complete, storetest.CoverageOf(t, s)[day.Epoch].State)
}

func TestWriteFunds_DaysThatAreNotPublishedYetArePartial(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := fundStore(t)
	d1, d2, d3, d4 := today.Add(-4), today.Add(-3), today.Add(-2), today.Add(-1)
	states := func() (list []results.CoverageState) {
		c := storetest.CoverageOf(t, s)
		for _, d := range []day.Day{d1, d2, d3, d4} {
			list = append(list, c[d].State)
		}
		return list
	}
	_, err := s.WriteFunds(ctx, fundsOf(beginFunds(t, s, "fund_daily", "a", d1, d2, d3, d4), rawFundDaily,
		paidOn(d1, 1_000_000, `{}`), paidOn(d3, 3_000_000, `{}`)))
	require.NoError(t, err)
	require.Equal(t, []results.CoverageState{results.Complete, results.Complete, results.Complete, results.Partial},
		states(), "a day before one with rows is empty")
	require.Zero(t, storetest.CoverageOf(t, s)[d4].CompleteVersion)

	// The day before those of the pull has rows.
	_, err = s.WriteFunds(ctx, fundsOf(beginFunds(t, s, "fund_daily", "b", d4), rawFundDaily))
	require.NoError(t, err)
	require.Equal(t, results.Partial, storetest.CoverageOf(t, s)[d4].State)

	result, err := s.WriteFunds(ctx, fundsOf(beginFunds(t, s, "fund_daily", "c", d1, d2, d3, d4), rawFundDaily,
		paidOn(d1, 1_000_000, `{}`), paidOn(d4, 4_000_000, `{}`)))
	require.NoError(t, err)
	require.Equal(t, []day.Day{d3}, result.Suspect, "a day that had rows is not emptied")
	require.Equal(t, 1, result.Written)
	require.Equal(t, []results.CoverageState{results.Complete, results.Complete, results.Suspect, results.Complete},
		states())
	lines := fundLines(t, s, "fund_daily", "day")
	require.Len(t, lines, 3)
	require.EqualValues(t, 4_000_000, *lines[2].Paid)
	require.Nil(t, lines[2].Deposit)
	require.Equal(t, 3, rawCount(t, s, "test_fund_daily"))

	// An account without any rows has no cash flow.
	other := beginFunds(t, s, "fund_daily", "d", d1, d2)
	other.AccountID = 8
	_, err = s.WriteFunds(ctx, fundsOf(other, rawFundDaily))
	require.NoError(t, err)
	rows, err := s.ReadCoverage(ctx, 8, d1, d2)
	require.NoError(t, err)
	require.Equal(t, results.Complete, rows[1].State)
}

func TestWriteFunds_AnOlderPullOverwritesNoNewerOne(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := fundStore(t)
	older := beginFunds(t, s, "balance", "older", day.Epoch)
	newer := beginFunds(t, s, "balance", "newer", day.Epoch)
	newer.Version = older.Version + 1
	_, err := s.WriteFunds(ctx, fundsOf(newer, rawFund, balanceOf(fund.Cash, 2, `{}`)))
	require.NoError(t, err)
	_, err = s.WriteFunds(ctx, fundsOf(older, rawFund, balanceOf(fund.Cash, 1, `{"old":1}`)))
	refusal, ok := results.IsFenced(err)
	require.True(t, ok, "%v", err)
	require.True(t, refusal.Complete)
	require.EqualValues(t, 2, *fundLines(t, s, "account_balance", "fund")[0].Balance)

	// The other days of a cash flow are written.
	d1, d2 := today.Add(-2), today.Add(-1)
	older = beginFunds(t, s, "fund_daily", "older", d1, d2)
	newer = beginFunds(t, s, "fund_daily", "newer", d2)
	newer.Version = older.Version + 1
	_, err = s.WriteFunds(ctx, fundsOf(newer, rawFundDaily, paidOn(d2, 20_000, `{"new":1}`)))
	require.NoError(t, err)
	result, err := s.WriteFunds(ctx, fundsOf(older, rawFundDaily, paidOn(d1, 10_000, `{}`), paidOn(d2, 10_000, `{}`)))
	require.NoError(t, err)
	require.Equal(t, []day.Day{d2}, result.Fenced)
	lines := fundLines(t, s, "fund_daily", "day")
	require.EqualValues(t, 10_000, *lines[0].Paid)
	require.EqualValues(t, 20_000, *lines[1].Paid)
}

func TestWriteFunds_APartialPullLeavesTheSums(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := fundStore(t)
	_, err := s.WriteFunds(ctx, fundsOf(beginFunds(t, s, "fund_daily", "a", today), rawFundDaily, paidOn(today, 1, `{}`)))
	require.NoError(t, err)
	_, err = s.WriteFunds(ctx, fundsOf(beginFunds(t, s, "fund_daily", "a2", today), rawFundDaily,
		paidOn(today, 1, `{}`), money{day: today, kind: fund.Grant, field: fund.Paid, micros: 2, json: `{}`}))
	require.NoError(t, err)
	_, err = s.WriteFunds(ctx, fundsOf(beginFunds(t, s, "fund_daily", "a3", today), rawFundDaily, paidOn(today, 1, `{}`)))
	require.NoError(t, err)
	require.Equal(t, []string{"fund_daily 2026-11-21 7 grant"}, fundTombstones(t, s))

	part := fundsOf(beginFunds(t, s, "fund_daily", "b", today), rawFundDaily, paidOn(today, 5, `{"v":2}`))
	part.Whole, part.Note = false, "0 rows came of a total of 1"
	result, err := s.WriteFunds(ctx, part)
	require.NoError(t, err)
	require.Zero(t, result.Deleted)
	require.Empty(t, result.Suspect)
	lines := fundLines(t, s, "fund_daily", "day")
	require.Len(t, lines, 1)
	require.EqualValues(t, 1, *lines[0].Paid, "a sum that may lack a part is not written")
	c := storetest.CoverageOf(t, s)[today]
	require.Equal(t, results.Partial, c.State)
	require.Equal(t, part.Note, c.Note)

	outside := fundsOf(beginFunds(t, s, "fund_daily", "c", today), rawFundDaily, paidOn(today.Add(1), 1, `{}`))
	_, err = s.WriteFunds(ctx, outside)
	require.ErrorContains(t, err, "outside its days")
}
