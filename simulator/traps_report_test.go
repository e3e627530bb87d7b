package simulator

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/fault"
	"adsync/simulator/fault/trap"
	"adsync/simulator/world"
)

// costs gets Tencent's report of the large account at a level and adds up the spend in fen by the row's day or hour.
func (s *sim) costs(level, from, to string, hourly bool) map[string]int64 {
	s.t.Helper()
	path, moment := "daily_reports/get", "date"
	if hourly {
		path, moment = "hourly_reports/get", "hour"
	}
	keys := []string{moment}
	if level == "ADGROUP" {
		keys = append(keys, "adgroup_id")
	}
	d := data(s.t, s.tencentCall(s.account("tencent", 0), path, "level", "REPORT_LEVEL_"+level, "group_by", jsonText(keys),
		"fields", jsonText(append(keys, "cost")),
		"date_range", jsonText(map[string]string{"start_date": from, "end_date": to}), "page_size", "2000"))
	sums := map[string]int64{}
	for _, row := range d["list"].([]any) {
		fields := row.(map[string]any)
		n, err := fields["cost"].(json.Number).Int64()
		require.NoError(s.t, err)
		name, isText := fields[moment].(string)
		if !isText {
			name = fields[moment].(json.Number).String()
		}
		sums[name] += n
	}
	return sums
}

const (
	yesterday = "2026-11-14"
	today     = "2026-11-15"
)

func TestTraps_OfTheMorning(t *testing.T) {
	t.Parallel()
	s := flowing(t, "yesterday_empty", 3, 1)
	require.NotContains(t, s.costs("ADVERTISER", yesterday, today, false), yesterday)
	whole := s.costs("ADVERTISER", yesterday, today, false)
	require.Positive(t, whole[yesterday], "a repeated query gets the right answer")
	require.Positive(t, whole[today])

	s = flowing(t, "yesterday_partial", 3, 1)
	part := s.costs("ADVERTISER", yesterday, today, false)
	require.Positive(t, part[yesterday])
	require.Less(t, part[yesterday], whole[yesterday])
	require.Equal(t, whole, s.costs("ADVERTISER", yesterday, today, false))

	for _, trap := range []string{"yesterday_empty", "yesterday_partial"} {
		s = flowing(t, trap, 8, 0)
		require.Equal(t, whole[yesterday], s.costs("ADVERTISER", yesterday, today, false)[yesterday])
		require.Zero(t, s.trap(trap).Met, "it is over at 08:00")

		s = flowing(t, trap, 3, 1)
		require.NoError(t, s.sim.Clock.Freeze())
		require.Equal(t, whole, s.costs("ADVERTISER", yesterday, today, false), "the trap is off while the clock is frozen")
	}
}

// A trap that a query meets on its first page applies up to its last one: otherwise its pages would disagree.
func TestTraps_OfReportsApplyToAllPages(t *testing.T) {
	t.Parallel()
	total := func(s *sim, page string) json.Number {
		d := data(t, s.oceanCall(s.account("oceanengine", 0), "v3.0/report/custom/get/", "dimensions",
			`["stat_time_day","cdp_promotion_id"]`, "metrics", `["stat_cost"]`,
			"filters", "[]", "start_time", yesterday+" 00:00:00", "end_time", today+" 23:59:59", "order_by",
			`[{"field":"stat_time_day","type":"ASC"}]`,
			"page", page, "page_size", "10"))
		return d["page_info"].(map[string]any)["total_number"].(json.Number)
	}
	s := flowing(t, "yesterday_empty", 7, 1)
	first := total(s, "1")
	require.Equal(t, first, total(s, "2"))
	require.NotEqual(t, first, total(s, "1"))
	require.NotEqual(t, first, total(s, "2"))
	require.EqualValues(t, 1, s.trap("yesterday_empty").Met)

	var misled []fault.Misled
	require.NoError(t, json.Unmarshal(s.control(http.MethodGet, "traps/misled", nil).Body.Bytes(), &misled))
	require.WithinDuration(t, s.sim.Clock.Now(), misled[0].At, time.Hour)
	misled[0].At = time.Time{}
	require.Equal(t, []fault.Misled{{
		Trap: "yesterday_empty", Media: "oceanengine", Account: idText(s.account("oceanengine", 0).ID), Kind: "report_daily",
		Level: "ad", From: yesterday, To: yesterday,
	}}, misled, "it is recorded as misled")
}

func TestTraps_OfToday(t *testing.T) {
	t.Parallel()
	s := flowing(t, "older_figures", 12, 1)
	older := s.costs("ADVERTISER", today, today, false)[today]
	now := s.costs("ADVERTISER", today, today, false)[today]
	require.Positive(t, older)
	require.Less(t, older, now)

	s = flowing(t, "levels_apart", 12, 1)
	require.Equal(t, now, s.costs("ADVERTISER", today, today, false)[today], "accounts are published first")
	require.Less(t, s.costs("ADGROUP", today, today, false)[today], now)
	require.Equal(t, now, s.costs("ADGROUP", today, today, false)[today], "ads add up to their account again")
	require.EqualValues(t, 1, s.trap("levels_apart").Met)
}

func TestTraps_OfHours(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"ADVERTISER", "ADGROUP"} {
		s := flowing(t, "hour_missing", 12, 10)
		hours := s.costs(level, today, today, true)
		require.NotContains(t, hours, "11")
		require.Contains(t, hours, "12")
		require.Contains(t, hours, "10")
		whole := s.costs(level, today, today, true)
		require.Contains(t, whole, "11")

		s = flowing(t, "hour_late", 12, 10)
		hours = s.costs(level, today, today, true)
		require.Positive(t, hours["11"])
		require.Less(t, hours["11"], whole["11"])
		hours["11"] = whole["11"]
		require.Equal(t, whole, hours, "the other hours are unchanged")
		require.Equal(t, whole, s.costs(level, today, today, true))
	}
}

func TestTraps_OmittedZerosAreNotInTheTruth(t *testing.T) {
	t.Parallel()
	whole := newSim(t, Config{}).unlimited()
	s := standing(t, "zero_untold")
	for _, media := range clients {
		met := s.trap("zero_untold").Met
		for _, x := range sets(media) {
			if x.level == "" {
				continue
			}
			a := s.account(media, 0)
			got := s.pull(media, x, a)
			require.Equal(t, s.truthOf(media, x, a), got, "%s %+v", media, x)
			all := whole.truthOf(media, x, whole.account(media, 0))
			require.Len(t, got, len(all))
			for key, row := range all {
				var full, told map[string]int64
				require.NoError(t, json.Unmarshal([]byte(row), &full))
				require.NoError(t, json.Unmarshal([]byte(got[key]), &told))
				maps.DeleteFunc(full, func(name string, value int64) bool { _, ok := told[name]; return value == 0 && !ok })
				require.Equal(t, full, told, "figures other than zero are served: %s", key)
			}
		}
		require.Greater(t, s.trap("zero_untold").Met, met, media)
	}
	a := s.account("oceanengine", 0)
	body := s.oceanCall(a, "v3.0/report/custom/get/", "dimensions", `["stat_time_day","cdp_promotion_id"]`, "metrics",
		jsonText(wireNames("oceanengine")),
		"filters", "[]", "start_time", today+" 00:00:00", "end_time", today+" 23:59:59", "order_by",
		`[{"field":"stat_time_day","type":"ASC"}]`, "page_size", "100").Body.String()
	for _, way := range []string{`":null`, `":""`} {
		require.Positive(t, strings.Count(body, way), way)
	}
	fewest := math.MaxInt
	for _, name := range wireNames("oceanengine") {
		fewest = min(fewest, strings.Count(body, `"`+name+`":`))
	}
	require.Less(t, fewest, strings.Count(body, `"show_cnt":`), "some rows lack the field")
}

func TestTraps_GrownCohortsAreCounted(t *testing.T) {
	t.Parallel()
	s := standing(t, "cohort_grows")
	s.costs("ADGROUP", "2026-11-08", "2026-11-14", false)
	require.Zero(t, s.trap("cohort_grows").Met, "a week is not over")
	s.costs("ADGROUP", "2026-10-16", "2026-11-07", false)
	require.EqualValues(t, 1, s.trap("cohort_grows").Met)
}

func TestTraps_FallenFiguresAreCounted(t *testing.T) {
	t.Parallel()
	s := standing(t, "figures_fall")
	s.costs("ADGROUP", today, today, false)
	require.Zero(t, s.trap("figures_fall").Met, "today has no refunds yet")
	s.costs("ADGROUP", "2026-11-10", "2026-11-12", false)
	require.EqualValues(t, 1, s.trap("figures_fall").Met)
}

func TestTraps_OfTheEndsOfDays(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{Start: time.Date(2026, 11, 15, 0, 19, 0, 0, world.Zone)}).unlimited()
	s.set("day_ended")
	a := s.account("tencent", 0)
	rows := func(from, to string) {
		s.tencentCall(a, "daily_reports/get", "level", "REPORT_LEVEL_ADVERTISER", "group_by", `["date"]`, "fields",
			`["date","cost"]`,
			"date_range", jsonText(map[string]string{"start_date": from, "end_date": to}))
	}
	rows("2026-11-13", "2026-11-13")
	rows("2026-11-15", "2026-11-15")
	require.Zero(t, s.trap("day_ended").Met)
	rows("2026-11-14", "2026-11-15")
	require.EqualValues(t, 1, s.trap("day_ended").Met)
	s.order("clock", fields{"now": s.sim.Clock.Now().Add(time.Minute)})
	rows("2026-11-14", "2026-11-15")
	require.EqualValues(t, 1, s.trap("day_ended").Met, "it has ended long ago")
}

// Los Angeles puts clocks back on 2026-11-01.
func TestTraps_OfDaysOf25Hours(t *testing.T) {
	t.Parallel()
	listed := func(s *sim) bool {
		return slices.ContainsFunc(s.trapList(), func(x trap.Trap) bool { return x.Name == "odd_day" })
	}
	later := time.Date(2026, 12, 3, 12, 0, 0, 0, world.Zone)
	require.False(t, listed(newSim(t, Config{})), "all accounts have China's days")
	require.False(t, listed(newSim(t, Config{USD: 2, Start: later})))
	s := newSim(t, Config{USD: 2, Start: later.AddDate(0, 0, -2)}).unlimited()
	require.True(t, listed(s))
	s.set("odd_day")
	for index := range 40 {
		a := s.account("tencent", index)
		for _, day := range []string{"2026-10-31", "2026-11-01", "2026-11-02"} {
			s.tencentCall(a, "hourly_reports/get", "level", "REPORT_LEVEL_ADVERTISER", "group_by", `["hour"]`, "fields",
				`["hour","cost"]`,
				"date_range", jsonText(map[string]string{"start_date": day, "end_date": day}))
		}
	}
	met := s.trap("odd_day").Met
	require.Positive(t, met)
	require.LessOrEqual(t, met, int64(20), "one day of each account in USD")
}
