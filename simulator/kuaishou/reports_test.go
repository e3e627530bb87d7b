package kuaishou_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

const (
	accountReport  = "v1/report/account_report"
	campaignReport = "v1/report/campaign_report"
	unitReport     = "v1/report/unit_report"
	creativeReport = "v1/report/creative_report"
	programReport  = "v1/report/program_creative_report"
)

// week is the oldest week that real-time reports have.
var week = fields{"start_date": "2026-11-08", "end_date": "2026-11-14"}

// with returns fields with others added.
func with(x fields, pairs ...any) fields {
	y := fields{}
	maps.Copy(y, x)
	for i := 0; i < len(pairs); i += 2 {
		y[pairs[i].(string)] = pairs[i+1]
	}
	return y
}

// fen returns an amount in yuan in fen.
func fen(t testing.TB, x fields, name string) int64 {
	t.Helper()
	f, err := x[name].(json.Number).Float64()
	require.NoError(t, err)
	return int64(math.Round(f * 100))
}

// truth returns rows of the truth of the days of a call.
func (s *sim) truth(a *world.Account, l world.Level, hourly bool, days fields) []world.Row {
	from, _ := world.ParseDay(days["start_date"].(string))
	to, _ := world.ParseDay(days["end_date"].(string))
	v := world.View{Now: s.Now(), Corrections: world.NewCorrections()}
	return v.TrueRows(a, world.Scope{Level: l, Hourly: hourly, From: from, To: to})
}

func TestReports_HaveTheFiguresOfTheTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	for _, hourly := range []bool{false, true} {
		body := week
		if hourly {
			body = with(week, "start_date", "2026-11-14", "temporal_granularity", "HOURLY")
		}
		for _, c := range []struct {
			paths []string
			key   string
			level world.Level
		}{
			{[]string{accountReport}, "", world.LevelAccount}, {[]string{unitReport}, "unit_id", world.LevelAd},
			{[]string{creativeReport, programReport}, "creative_id", world.LevelCreative},
		} {
			want, got := map[string]string{}, map[string]string{}
			for _, r := range s.truth(a, c.level, hourly, body) {
				key := fmt.Sprintln(world.FormatDay(r.Day), max(r.Hour, 0), r.Object)
				want[key] = fmt.Sprintln(r.Figures[world.Cost], r.Figures[world.Impressions], r.Figures[world.Clicks],
					r.Figures[world.Activations], r.Figures[world.Pays], r.Figures[world.PayAmountD7])
			}
			for _, path := range c.paths {
				for _, x := range s.rows(a, path, body) {
					id := json.Number("0")
					if c.key != "" {
						id = x[c.key].(json.Number)
					}
					key := fmt.Sprintln(x["stat_date"], x["stat_hour"], id)
					require.NotContains(t, got, key)
					got[key] = fmt.Sprintln(fen(t, x, "charge"), x["show"], x["bclick"], x["activation"], x["event_pay"],
						fen(t, x, "event_pay_purchase_amount_week_by_conversion"))
				}
			}
			require.NotEmpty(t, want)
			require.Equal(t, want, got, "%v hourly %v", c.paths, hourly)
		}
	}
}

func TestReports_LevelsAddUp(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	sums := func(path string, body fields) (sum [3]int64) {
		for _, x := range s.rows(a, path, body) {
			sum[0] += fen(t, x, "charge")
			sum[1] += simtest.Number(t, x, "aclick")
			if x["event_next_day_stay"] != nil {
				sum[2] += simtest.Number(t, x, "event_next_day_stay")
			}
		}
		return sum
	}
	all := sums(accountReport, week)
	require.NotZero(t, all[2])
	require.Equal(t, all, sums(campaignReport, week))
	require.Equal(t, all, sums(unitReport, week))
	custom, program := sums(creativeReport, week), sums(programReport, week)
	require.NotZero(t, custom[0])
	require.NotZero(t, program[0])
	both := [3]int64{custom[0] + program[0], custom[1] + program[1], custom[2] + program[2]}
	require.Equal(t, all, both)
	hours := with(week, "temporal_granularity", "HOURLY")
	rows := s.rows(a, accountReport, hours)
	for _, name := range []string{"event_next_day_stay", "event_next_day_stay_cost", "event_next_day_stay_ratio"} {
		require.NotContains(t, rows[0], name, "the next day's users are a figure of days")
	}
	require.Equal(t, [3]int64{all[0], all[1], 0}, sums(accountReport, hours))
	for _, path := range []string{accountReport, campaignReport, unitReport} {
		places := map[any]int{}
		for _, x := range s.rows(a, path, with(week, "report_dims", []string{"placementType", "adScene"})) {
			places[x["placement_type"]]++
		}
		require.Len(t, places, 2, path)
		require.NotZero(t, places["联盟"])
		require.NotZero(t, places["快手"])
		require.Equal(t, all, sums(path, with(week, "report_dims", []string{"placementType"})))
	}
}

func TestReports_KeepTheSpendOfDeletedUnits(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	rows := s.rows(a, unitReport, week)
	gone := slices.IndexFunc(rows, func(x fields) bool { return x["status"] == json.Number("3") })
	require.GreaterOrEqual(t, gone, 0)
	id := rows[gone]["unit_id"]
	require.NotContains(t, simtest.Texts(s.rows(a, "gw/dsp/unit/list", nil), "unit_id"), id.(json.Number).String())
	require.Len(t, s.rows(a, "gw/dsp/unit/list", fields{"unit_ids": []any{id}, "status": 10}), 1)
	require.NotZero(t, fen(t, rows[gone], "charge"))
}

func TestReports_Conditions(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	all := s.rows(a, unitReport, week)
	one := all[0]
	for _, x := range s.rows(a, unitReport, with(week, "unit_ids", []any{one["unit_id"]})) {
		require.Equal(t, one["unit_id"], x["unit_id"])
	}
	for _, x := range s.rows(a, unitReport, with(week, "campaign_ids", []any{one["campaign_id"]})) {
		require.Equal(t, one["campaign_id"], x["campaign_id"])
	}
	creative := s.rows(a, creativeReport, week)[0]
	require.NotContains(t, creative, "photo_id")
	for _, x := range s.rows(a, creativeReport, with(week, "creative_ids", []any{creative["creative_id"]}, "extend_info",
		[]string{"photo"})) {
		require.Equal(t, creative["creative_id"], x["creative_id"])
		require.IsType(t, json.Number(""), x["photo_id"])
	}
	require.IsType(t, "", s.rows(a, programReport, week)[0]["photo_id"])
	require.Equal(t, s.rows(a, programReport, week), s.rows(a, programReport, with(week, "unit_type", 10)))
	require.Empty(t, s.rows(a, programReport, with(week, "unit_type", 7)))
	require.Empty(t, s.rows(a, unitReport, with(week, "campaign_type", 5)))
	require.Equal(t, all, s.rows(a, unitReport, with(week, "campaign_type", 2)))
	hours := s.rows(a, accountReport, with(minutes("2026-11-14 10:00", "2026-11-14 12:59"),
		"temporal_granularity", "HOURLY"))
	require.Equal(t, []string{"10", "11", "12"}, simtest.Texts(hours, "stat_hour"))
}

// minutes is the incremental form of the days.
func minutes(from, to string) fields { return fields{"start_date_min": from, "end_date_min": to} }

func TestReports_RefuseBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	for name, c := range map[string]struct {
		path string
		body fields
	}{
		"no days":                   {accountReport, fields{}},
		"no end":                    {accountReport, fields{"start_date": "2026-11-08"}},
		"the day before the window": {accountReport, with(week, "start_date", "2026-11-07", "end_date", "2026-11-07")},
		"eight days":                {accountReport, with(week, "end_date", "2026-11-15")},
		"the end before the start":  {accountReport, with(week, "end_date", "2026-11-07")},
		"a time for a day":          {accountReport, with(week, "end_date", "2026-11-14 10:00")},
		"a day for a time":          {accountReport, minutes("2026-11-14", "2026-11-14 10:00")},
		"old minutes":               {accountReport, minutes("2026-11-07 23:59", "2026-11-08 10:00")},
		"another granularity":       {accountReport, with(week, "temporal_granularity", "WEEKLY")},
		"another dimension":         {accountReport, with(week, "report_dims", []string{"gender"})},
		"dimensions as a text":      {accountReport, with(week, "report_dims", "adScene")},
		"2001 rows a page":          {accountReport, with(week, "page_size", 2001)},
		"5001 units":                {unitReport, with(week, "unit_ids", make([]int64, 5001))},
		"5001 campaigns":            {campaignReport, with(week, "campaign_ids", make([]int64, 5001))},
		"5001 creatives":            {creativeReport, with(week, "creative_ids", make([]int64, 5001))},
		"another extension":         {creativeReport, with(week, "extend_info", []string{"cover"})},
		"another type of unit":      {programReport, with(week, "unit_type", 4)},
		"a type of text":            {campaignReport, with(week, "campaign_type", "x")},
	} {
		require.Equal(t, 401000, simtest.Code(t, s.call(a, c.path, c.body)), name)
	}
	most := with(week, "unit_ids", make([]int64, 5000), "page_size", 2000)
	require.Equal(t, 0, simtest.Code(t, s.call(a, unitReport, most)))
}

func TestReports_TodayIsAssumed(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	today := fields{"start_date": "2026-11-15", "end_date": "2026-11-15"}
	now := s.rows(a, accountReport, today)
	require.Len(t, now, 1)
	s.Assume("report_delay", 3600)
	require.Less(t, fen(t, s.rows(a, accountReport, today)[0], "charge"), fen(t, now[0], "charge"))
	s.Assume("today_reported", 0)
	require.Empty(t, s.rows(a, accountReport, today))
	require.Len(t, s.rows(a, accountReport, with(today, "start_date", "2026-11-14")), 1)
}

func TestReports_DaysWithoutFiguresHaveNoRow(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Find(world.ClassQuiet)
	require.Empty(t, s.rows(a, accountReport, week))
	s.Assume("zero_rows", 1)
	require.Len(t, s.rows(a, accountReport, week), 7)
	require.Len(t, s.rows(s.Account(0), accountReport, week), 7)
}

func TestReports_ARetiredFieldIsGone(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	require.Contains(t, s.rows(s.Account(0), accountReport, week)[0], "event_register")
	s.Order("faults", fields{"kind": "retire_field", "media": "kuaishou", "field": "event_register"})
	require.NotContains(t, s.rows(s.Account(0), accountReport, week)[0], "event_register")
}

func TestReports_HaveAnAddedFieldUnasked(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	s.Order("faults", fields{"kind": "add_field", "media": "kuaishou", "field": "brand_new"})
	row := s.rows(s.Account(0), accountReport, week)[0]
	require.Contains(t, row, "brand_new")
	require.Equal(t, row["bclick"], row["brand_new"])
}

func TestReports_MeetTraps(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	ask := func(name string) string {
		s.Order("traps", fields{"name": name, "on": true})
		defer s.Order("traps", fields{"name": name, "on": false})
		return s.call(a, unitReport, week).Body.String()
	}
	require.Contains(t, ask("figure_unreadable"), `"charge":"n/a"`)
	require.Contains(t, ask("key_empty"), `"stat_date":""`)
	require.Contains(t, ask("answer_html"), "<html>")
	require.Contains(t, ask("extra_field"), "trial_run_spec")
	require.Contains(t, ask("app_over_limit"), "400001")
	require.Contains(t, ask("platform_busy"), "400003")
	require.Contains(t, ask("token_ended"), "402002")
}

func TestReports_FollowLateCorrections(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	spent := func() int64 { return fen(t, s.rows(a, accountReport, week)[3], "charge") }
	before := spent()
	s.Order("truth/correct", fields{"media": "kuaishou", "account": simtest.Text(a.ID), "from": "2026-11-11",
		"to": "2026-11-11", "percent": 10})
	require.Greater(t, spent(), before)
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(time.Minute)))
	require.Greater(t, spent(), before)
}
