package results

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/task"
)

// Accounts that stop spending are many on the first day of a month. Nothing contradicts them.
func TestJudge_AccountsThatStopSpendingAreNotSuspect(t *testing.T) {
	t.Parallel()
	levels := []ReportLevel{{"report_daily", "account"}, {"report_hourly", "account"}, {"report_daily", "adgroup"}, {"fund_daily", "account"}}
	now := time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC)
	for range 10_000 {
		var others []figure
		for _, l := range levels {
			a := answer{ReportLevel: l, day: "2026-11-21", runID: task.NewRunID(now)}
			v := a.judge(&Comparing{Now: now, Zone: time.UTC, With: levels}, others)
			require.Empty(t, v.suspect)
			require.Empty(t, v.doubts)
			others = append(others, figure{ReportLevel: l, coverage: Coverage{State: Complete, CompleteVersion: 1, RunID: a.runID, AnswerCost: new(int64), AnswerRun: a.runID}})
		}
	}
}
