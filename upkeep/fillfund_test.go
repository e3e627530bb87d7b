package upkeep_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/upkeep"
)

func TestFill_OrdersMissingDaysOfTheCashFlow(t *testing.T) {
	t.Parallel()
	f := newFilling(t, settings.NewTask{
		Name: "flow", Media: "tulip", Handler: "tulip.fund_daily", Cron: "@daily", Lane: "offline", Scope: "all",
		Params: `{"days":4}`,
	})
	f.account(t, 1, "inactive", "Asia/Shanghai", "")
	for _, d := range day.Between("2026-11-18", "2026-11-20") {
		f.pull(t, 1, "fund_daily", "account", settled(d, 9), results.Complete, d)
	}
	require.Empty(t, f.look(t))
	// A day that the platform did not return when it was pulled.
	f.pull(t, 1, "fund_daily", "account", settled("2026-11-19", 9), results.Partial, "2026-11-19")
	require.Equal(t, []upkeep.Filling{{
		TaskID: f.tasks["flow"], Task: "flow", Report: "fund_daily", Level: "account", Holes: 1, Subtasks: 1, Accounts: 1,
		From: "2026-11-19", To: "2026-11-19",
	}}, f.look(t))
	f.fill(t, 10)
	orders := f.ordered(t)
	require.Len(t, orders, 1)
	require.Equal(t, f.tasks["flow"], orders[0].TaskID)
	require.Equal(t, []int64{1}, orders[0].Request.Accounts)
	require.Equal(t, day.Day("2026-11-19"), orders[0].Request.From)
}
