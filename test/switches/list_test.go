package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/standalone"
	"adsync/standalone/story"
	"adsync/standalone/verify"
	"adsync/test/patch"
)

// The test fails at once when code that a switch changes has moved. Only make switches shows whether a switch still
// builds and is caught.
func TestSwitches_FindTheTextTheyChange(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, d := range all {
		require.False(t, names[d.name], "%s is there twice", d.name)
		names[d.name] = true
		require.NotEmpty(t, d.without, d.name)
		texts, err := patch.Apply("../..", d.edits)
		require.NoError(t, err, d.name)
		require.NotEmpty(t, texts, d.name)
	}
	require.GreaterOrEqual(t, len(all), 12)
}

func TestSeason_IsWhileALongDayIsNear(t *testing.T) {
	t.Parallel()
	at := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 12, 0, 0, 0, time.UTC) }
	require.False(t, isLongDayNear(at(10, 31)), "the clocks are put back on November 1")
	require.True(t, isLongDayNear(at(11, 3)))
	require.True(t, isLongDayNear(at(12, 31)))
	require.False(t, isLongDayNear(at(3, 20)))
}

func TestJudge_OnlyARowThatDiffersIsASign(t *testing.T) {
	t.Parallel()
	report := func() standalone.OnceReport {
		r := standalone.OnceReport{Story: &story.Report{}}
		r.Story.RowsCompared, r.Truth.RowsCompared = 5, 5
		return r
	}
	r := report()
	r.Story.Events = []story.EventReport{{Name: "token died"}}
	v := judge(defence{}, r)
	require.False(t, v.caught(), "trouble that was not met is none")
	require.Equal(t, "nothing differs, but the story never met: token died", v.sign)

	r = report()
	r.Story.Differences, r.Story.Examples = 2, []string{"report_hourly: account 7 account is missing",
		"report_hourly: account 8 account is missing"}
	v = judge(defence{}, r)
	require.True(t, v.caught())
	require.Equal(t, "report_hourly (night)", v.sign)

	r = report()
	r.Truth.Differences = 3
	r.Truth.Tables = map[string]verify.Table{"summary_daily": {Differences: 3}, "report_daily": {Rows: 9}}
	v = judge(defence{}, r)
	require.True(t, v.caught())
	require.Equal(t, "summary_daily", v.sign)
}
