package main

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/results"
	"adsync/base/store/settings"
)

func TestTracker_ShowsAPullWhenTheSummaryHasReadIt(t *testing.T) {
	t.Parallel()
	seen := tracker{}
	s := scope{1, "report_hourly", "account", day.Day("2026-11-22")}
	row := func(claimed, complete int64, dirty bool, state results.CoverageState) covered {
		return covered{scope: s, claimed: claimed, complete: complete, dirty: dirty, state: state}
	}
	for _, step := range []struct {
		name        string
		row         covered
		at, rebuilt int64
		want        int64
	}{
		{"first pull, not summed yet", row(100, 100, true, results.Complete), 110, 0, 0},
		{"a rebuild that began before it was seen", row(100, 100, true, results.Complete), 120, 105, 0},
		{"summed", row(100, 100, false, results.Complete), 130, 125, 100},
		{"some hours, not summed yet", row(200, 100, true, results.Complete), 210, 125, 100},
		{"summed, and dirty again for the next", row(300, 100, true, results.Complete), 310, 250, 200},
		{"partial: the last whole one stays", row(400, 100, false, results.Partial), 410, 250, 200},
		{"nothing changed", row(500, 500, false, results.Complete), 510, 250, 500},
	} {
		seen.observe(step.row, step.at, step.rebuilt)
		require.Equal(t, step.want, seen[s].start, step.name)
	}
}

func TestTracker_TellsAgesOfTheAccountsDay(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	a := account{zone: time.UTC}
	seen := tracker{}
	age := func(at time.Time) Age { return seen.age(1, a, "report_daily", "account", at) }
	require.True(t, math.IsInf(float64(age(midnight)), 1), "never pulled")
	seen[scope{1, "report_daily", "account",
		day.Day("2026-11-21")}] = &shown{start: midnight.Add(-time.Minute).UnixMicro()}
	require.Equal(t, Age(90), age(midnight.Add(30*time.Second)), "the day has just begun")
	seen[scope{1, "report_daily", "account", day.Day("2026-11-21")}].start = midnight.Add(time.Hour).UnixMicro()
	require.Equal(t, Age(7200), age(midnight.Add(2*time.Hour)), "a look-back says nothing of today")
	seen[scope{1, "report_daily", "account",
		day.Day("2026-11-22")}] = &shown{start: midnight.Add(2 * time.Hour).UnixMicro()}
	require.Equal(t, Age(60), age(midnight.Add(2*time.Hour+time.Minute)))
}

func TestAges_CountWhatWasNeverPulled(t *testing.T) {
	t.Parallel()
	var all ages
	for i := range 94 {
		all.add(Age(i), 1)
	}
	for range 6 {
		all.add(Age(math.Inf(1)), 1)
	}
	f := all.figures()
	require.Equal(t, Age(49), f.P50)
	require.True(t, math.IsInf(float64(f.P95), 1))
	text, err := json.Marshal(f)
	require.NoError(t, err)
	require.JSONEq(t, `{"p50": 49, "p95": "never", "p99": "never", "max": "never"}`, string(text))

	var weighed ages
	weighed.add(10, 99)
	weighed.add(1000, 1)
	require.Equal(t, Age(10), weighed.figures().P95)
	require.Equal(t, Age(1000), weighed.figures().Max)
}

func TestStalls_AreTheLongestBeforeARefusal(t *testing.T) {
	t.Parallel()
	began := time.Unix(1_795_000_000, 0)
	var s stalls
	for _, at := range []time.Duration{0, stallTick, 4 * time.Second, 4*time.Second + stallTick, 4200 * time.Millisecond,
		20 * time.Second} {
		s.note(began.Add(at))
	}
	require.Zero(t, s.longest(began.Unix()+3))
	require.Equal(t, 4*time.Second-2*stallTick, s.longest(began.Unix()+4))
	require.Equal(t, 4*time.Second-2*stallTick, s.longest(began.Unix()+14))
	require.Zero(t, s.longest(began.Unix()+15))
}

func TestTicks_AreReadFromTheRow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 30, 0, time.UTC)
	for cron, want := range map[string]int{"*/2 * * * *": 90, "*/10 * * * *": 18, "30 3 * * *": 0} {
		n, err := ticks(settings.TaskRow{Name: "t", Cron: cron, Timezone: "UTC"}, now, cadenceHours*time.Hour)
		require.NoError(t, err)
		require.Len(t, n, want, cron)
	}
}

func TestBusiestApps_AreOfEachEndpointAndOfAll(t *testing.T) {
	t.Parallel()
	ofEndpoint, ofPlatform := busiestApps(map[endpoint]float64{
		{"m", "1", "reports"}: 8, {"m", "1", "lists"}: 2, {"m", "2", "reports"}: 9, {"m", "", "files"}: 50,
		{"n", "3", "lists"}: 0,
	})
	require.Equal(t, map[[2]string]float64{{"m", "reports"}: 9, {"m", "lists"}: 2}, ofEndpoint)
	require.Equal(t, map[string]float64{"m": 10}, ofPlatform)
}
