package pull

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/rawtable"
	"adsync/base/store/results"
	"adsync/media"
)

var (
	fundTable = rawtable.Table{Name: "fake_fund", Shape: rawtable.FundRows,
		Columns: []rawtable.Column{{Name: "balance_fen", Kind: rawtable.Int}}}
	fundDailyTable = rawtable.Table{Name: "fake_fund_daily", Shape: rawtable.DailyFundRows,
		Columns: []rawtable.Column{{Name: "paid_fen", Kind: rawtable.Int}}}
)

func moneyRow(d day.Day, fundType string, kind fund.Kind, is fund.Field, micros int64) media.Row {
	row := fund.Row{Kind: kind}
	row.Values[is] = fund.Of(micros)
	return media.Row{Day: d, Object: fundType, Raw: []any{micros / 10_000},
		JSON: json.RawMessage(`{"t":"` + fundType + `"}`), Funds: []fund.Row{row}}
}

func moneyPage(total int, next string, rows ...media.Row) pageAnswer {
	return pageAnswer{page: media.Page{Rows: rows, Total: total, Next: next}}
}

// amounts returns a column of a public table, by fund.
func (b *bundle) amounts(t *testing.T, table, column string) map[string]int64 {
	t.Helper()
	var lines []struct {
		Fund  string
		Value int64
	}
	require.NoError(t, b.store.Data.Writer(t.Context()).Raw("SELECT fund, "+column+" AS value FROM "+table+" WHERE "+
		column+" IS NOT NULL").Scan(&lines).Error)
	values := map[string]int64{}
	for _, l := range lines {
		values[l.Fund] += l.Value
	}
	return values
}

func TestBalance_AddsUpFundTypesOfOneKind(t *testing.T) {
	t.Parallel()
	b := setup(t, moneyPage(0, "",
		moneyRow("", "CASH", fund.Cash, fund.Balance, 50_000), moneyRow("", "GIFT", fund.Grant, fund.Balance, 10_000),
		moneyRow("", "REWARD", fund.Grant, fund.Balance, 20_000)))
	result, err := b.run(t, "fake.balance", partNow, "")
	require.NoError(t, err)
	require.Equal(t, 2, result.Calls)
	require.Equal(t, map[string]int64{"cash": 50_000, "grant": 30_000, "total": 80_000},
		b.amounts(t, "account_balance", "balance"))
	require.Empty(t, b.amounts(t, "account_balance", "valid_balance"), "an unreported figure is NULL")
	var raw int
	require.NoError(t, b.store.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM fake_fund").Row().Scan(&raw))
	require.Equal(t, 3, raw)
	coverage, err := b.store.ReadCoverage(t.Context(), 7, day.Epoch, day.Epoch)
	require.NoError(t, err)
	require.Equal(t, "balance", coverage[0].Report)
	require.Equal(t, "account", coverage[0].Level)
	require.Equal(t, results.Complete, coverage[0].State)
}

func TestBalance_EmptyAnswerAfterABalanceIsSuspectAndPulledAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, moneyPage(0, ""), moneyPage(0, "", moneyRow("", "CASH", fund.Cash, fund.Balance, 1)), moneyPage(0, ""))
	for range 2 {
		_, err := b.run(t, "fake.balance", partNow, "")
		require.NoError(t, err)
	}
	_, err := b.run(t, "fake.balance", partNow, "")
	require.ErrorContains(t, err, "suspect")
	failed, ok := errors.AsType[*media.Error](err)
	require.True(t, ok)
	require.Equal(t, media.Transient, failed.Class)
	require.Equal(t, map[string]int64{"cash": 1, "total": 1}, b.amounts(t, "account_balance", "balance"))
	require.Contains(t, b.log.String(), "suspect answer")
}

func TestFundDaily_PagesAndWritesTheRequestedDays(t *testing.T) {
	t.Parallel()
	d1, d2 := day.Day("2026-11-19"), day.Day("2026-11-20")
	b := setup(t,
		moneyPage(3, "2", moneyRow(d1, "CASH", fund.Cash, fund.Paid, 10_000),
			moneyRow(d2, "CASH", fund.Cash, fund.Paid, 20_000)),
		moneyPage(3, "", moneyRow(d2, "GIFT", fund.Grant, fund.Paid, 1_000)))
	_, err := b.run(t, "fake.fund_daily", "2026-11-19..2026-11-20", "")
	require.NoError(t, err)
	require.Equal(t, []string{`flow 2026-11-19..2026-11-20 page ""`, `flow 2026-11-19..2026-11-20 page "2"`},
		b.platform.asked)
	require.Equal(t, map[string]int64{"cash": 30_000, "grant": 1_000, "total": 31_000}, b.amounts(t, "fund_daily", "paid"))

	b = setup(t, moneyPage(2, "", moneyRow(d1, "CASH", fund.Cash, fund.Paid, 10_000)))
	_, err = b.run(t, "fake.fund_daily", "2026-11-19", "")
	require.ErrorContains(t, err, "1 row came of a total of 2")
	require.Empty(t, b.amounts(t, "fund_daily", "paid"), "a sum that lacks a part would be wrong")
	var raw int
	require.NoError(t, b.store.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM fake_fund_daily").Row().Scan(&raw))
	require.Equal(t, 1, raw, "the platform's rows are kept")

	b = setup(t, moneyPage(1, "", moneyRow("2026-11-18", "CASH", fund.Cash, fund.Paid, 10_000)))
	_, err = b.run(t, "fake.fund_daily", "2026-11-19", "")
	require.ErrorContains(t, err, "not requested")
	require.Empty(t, b.amounts(t, "fund_daily", "paid"))
}

func TestFundDaily_PlansThePublishedDays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h, _ := b.handlers.Get("fake.fund_daily")
	zone, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	eight := time.Date(2026, 11, 21, 8, 0, 0, 0, zone)
	for _, c := range []struct {
		name    string
		plan    media.Plan
		want    []string
		wantErr string
	}{
		{name: "at eight yesterday is published", plan: media.Plan{PlannedAt: eight}, want: []string{"2026-11-20"}},
		{name: "before eight it is not", plan: media.Plan{PlannedAt: eight.Add(-time.Second)}, want: []string{"2026-11-19"}},
		{name: "days are cut by what one query may span",
			plan: media.Plan{PlannedAt: eight, Params: json.RawMessage(`{"days":7}`)},
			want: []string{"2026-11-14..2026-11-16", "2026-11-17..2026-11-19", "2026-11-20"}},
		{name: "an order's days", plan: media.Plan{PlannedAt: eight, From: "2026-11-01", To: "2026-11-02"},
			want: []string{"2026-11-01..2026-11-02"}},
		{name: "the last published day", plan: media.Plan{PlannedAt: eight, From: "2026-11-20", To: "2026-11-20"},
			want: []string{"2026-11-20"}},
		{name: "today", plan: media.Plan{PlannedAt: eight, From: "2026-11-20", To: "2026-11-21"},
			wantErr: "to: 2026-11-21 is refused: want a day up to 2026-11-20"},
		{name: "the oldest day that the platform keeps",
			plan: media.Plan{PlannedAt: eight, From: "2026-10-22", To: "2026-10-22"}, want: []string{"2026-10-22"}},
		{name: "a day that the platform does not keep",
			plan: media.Plan{PlannedAt: eight, From: "2026-10-21", To: "2026-11-01"}, wantErr: "from: 2026-10-21 is refused"},
		{name: "days the wrong way round", plan: media.Plan{PlannedAt: eight, From: "2026-11-02", To: "2026-11-01"},
			wantErr: "from: 2026-11-02 is refused: want a day up to 2026-11-01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.plan.Zone = zone
			parts, err := h.Parts(c.plan)
			if c.wantErr != "" {
				require.ErrorContains(t, err, c.wantErr)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, parts)
		})
	}
}

func TestFundHandlers_CheckParams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	flow, _ := b.handlers.Get("fake.fund_daily")
	require.NoError(t, flow.Check(nil))
	require.NoError(t, flow.Check(json.RawMessage(`{"days":30}`)))
	require.ErrorContains(t, flow.Check(json.RawMessage(`{"days":31}`)), "params.days: 31 is refused: want 1 to 30")
	require.ErrorContains(t, flow.Check(json.RawMessage(`{"level":"account"}`)), "params.level: there is no such field")
	balance, _ := b.handlers.Get("fake.balance")
	require.NoError(t, balance.Check(nil))
	require.ErrorContains(t, balance.Check(json.RawMessage(`{"days":1}`)), "params.days: there is no such field")
	parts, err := balance.Parts(media.Plan{PlannedAt: time.Now(), Zone: time.UTC})
	require.NoError(t, err)
	require.Equal(t, []string{partNow}, parts)
	_, err = balance.Parts(media.Plan{PlannedAt: time.Now(), Zone: time.UTC, From: "2026-11-20", To: "2026-11-20"})
	require.ErrorContains(t, err, "from: a balance is always the current one")
}
