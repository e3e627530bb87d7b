package mediatest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/media"
)

// Flow is the true cash flow of a day, with a row for each kind of money that the platform reports.
type Flow struct {
	Day   day.Day
	Funds []fund.Row
}

// fundAccounts returns the accounts whose money is compared. There is little data, so accounts without ads are
// included.
func (h *harness) fundAccounts() []string {
	all := h.server.Accounts
	return append(slices.Clone(h.tested()), all[max(len(all)-accountsTested, accountsTested):]...)
}

// gathered adds up rows by fund type to the rows that the tables hold for a day.
func gathered(rows []media.Row) []fund.Row {
	var all []fund.Row
	for _, r := range rows {
		all = append(all, r.Funds...)
	}
	return fund.Gather(all)
}

func (h *harness) balance(t *testing.T, account string) []media.Row {
	t.Helper()
	balance := h.platform.Funds().Balance
	rows, err := balance.Fetch(t.Context(), h.api(account))
	require.NoError(t, err)
	types := map[string]bool{}
	for _, row := range rows {
		require.False(t, types[row.Object], "fund type %q came twice", row.Object)
		types[row.Object] = true
		require.Len(t, row.Raw, len(balance.Table.Columns))
		require.True(t, json.Valid(row.JSON))
	}
	return rows
}

func (h *harness) flow(t *testing.T, account string, from, to day.Day) ([]media.Row, int) {
	t.Helper()
	daily := h.platform.Funds().Daily
	rows, count := pages(t, func(token string) (media.Page, error) {
		return daily.Page(t.Context(), h.api(account), media.ReportQuery{From: from, To: to}, token)
	})
	for _, row := range rows {
		require.Len(t, row.Raw, len(daily.Table.Columns))
		require.True(t, json.Valid(row.JSON))
		require.GreaterOrEqual(t, row.Day, from)
		require.LessOrEqual(t, row.Day, to)
	}
	return rows, count
}

func testBalances(t *testing.T, h *harness) {
	t.Helper()
	if h.platform.Funds().Balance.Fetch == nil {
		t.Skip("the platform reports no balances")
	}
	nonzero := 0
	for _, account := range h.fundAccounts() {
		got := gathered(h.balance(t, account))
		require.Equal(t, h.server.Balance(t, account), got, "balance of account %s", account)
		for _, row := range got {
			if row.Values[fund.Balance].Micros > 0 {
				nonzero++
			}
		}
	}
	require.Positive(t, nonzero, "balances that are not 0 were compared")
}

func testFlows(t *testing.T, h *harness) {
	t.Helper()
	daily := h.platform.Funds().Daily
	if daily.Page == nil {
		t.Skip("the platform reports no daily cash flow")
	}
	spent := 0
	for _, account := range h.fundAccounts() {
		from, to := h.server.Today.Add(-min(daily.MaxDays, 10)), h.server.Today.Add(-1)
		rows, _ := h.flow(t, account, from, to)
		byDay := map[day.Day][]media.Row{}
		for _, row := range rows {
			byDay[row.Day] = append(byDay[row.Day], row)
		}
		var got []Flow
		for _, d := range day.Between(from, to) {
			if len(byDay[d]) == 0 {
				continue
			}
			funds := gathered(byDay[d])
			got = append(got, Flow{Day: d, Funds: funds})
			for _, row := range funds {
				if row.Kind == fund.Total && row.Values[fund.Paid].Micros > 0 {
					spent++
				}
			}
		}
		require.Equal(t, h.server.Flow(t, account, from, to), got, "cash flow of account %s", account)
	}
	require.Positive(t, spent, "days with spend were compared")
	if report, ok := dailyAccountReport(h.platform); ok {
		h.requirePaidIsCost(t, report)
	}
}

func dailyAccountReport(platform media.Platform) (media.Report, bool) {
	reports := platform.Reports()
	i := slices.IndexFunc(reports, func(r media.Report) bool { return r.Level == "account" && !r.Hourly })
	if i < 0 {
		return media.Report{}, false
	}
	return reports[i], true
}

// requirePaidIsCost compares two endpoints of a platform, which may use different units: the amount paid on a day
// equals the cost in its report.
func (h *harness) requirePaidIsCost(t *testing.T, report media.Report) {
	t.Helper()
	account, d := h.tested()[0], h.server.Today.Add(-2)
	rows, _ := h.flow(t, account, d, d)
	for _, row := range gathered(rows) {
		if row.Kind != fund.Total {
			continue
		}
		reported, _ := h.report(t, report, account, d, d)
		require.Len(t, reported, 1)
		require.Equal(t, metricsOf(reported[0])["cost"], row.Values[fund.Paid].Micros)
		return
	}
	require.Fail(t, "no total was reported")
}
