package tiktok_test

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/fault/trap"
	"adsync/simulator/simtest"
	"adsync/simulator/tiktok"
	"adsync/simulator/world"
)

const reportGet = "report/integrated/get"

// level is a level of reports: its name, its dimension, and its level in the truth.
type level struct {
	name, id string
	of       world.Level
}

var levels = []level{
	{"AUCTION_ADVERTISER", "advertiser_id", world.LevelAccount}, {"AUCTION_CAMPAIGN", "campaign_id", world.LevelAd},
	{"AUCTION_ADGROUP", "adgroup_id", world.LevelAd}, {"AUCTION_AD", "ad_id", world.LevelCreative},
}

// condition is a condition of a report.
func condition(name string, values ...any) fields {
	return fields{"field_name": name, "filter_type": "IN", "filter_value": simtest.JSON(values)}
}

// query returns the parameters of a level's report with deleted objects: by time, which may be "", of a week or a day.
func (l level) query(by string) fields {
	q := fields{"report_type": "BASIC", "data_level": l.name, "dimensions": []string{l.id},
		"start_date": "2026-11-08", "end_date": "2026-11-14",
		"metrics": []string{"spend", "impressions", "clicks", "conversion", "app_install", "total_purchase_value"}}
	if by != "" {
		q["dimensions"] = []string{l.id, by}
	}
	if by == "stat_time_hour" {
		q["start_date"] = q["end_date"]
	}
	if l.id != "advertiser_id" {
		q["filtering"] = []any{condition(strings.TrimSuffix(l.id, "_id")+"_status", "STATUS_ALL")}
	}
	return q
}

// truth returns rows of the truth of the days of a query.
func (s *sim) truth(a *world.Account, l world.Level, hourly bool, q fields) []world.Row {
	from, _ := world.ParseDay(q["start_date"].(string))
	to, _ := world.ParseDay(q["end_date"].(string))
	v := world.View{Now: s.Now(), Corrections: world.NewCorrections()}
	return v.TrueRows(a, world.Scope{Level: l, Hourly: hourly, From: from, To: to})
}

// spent returns the spend of rows.
func spent(t testing.TB, rows []fields) (sum int64) {
	t.Helper()
	for _, x := range rows {
		sum += fen(t, x["metrics"].(fields)["spend"])
	}
	return sum
}

func TestReports_HaveTheFiguresOfTheTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	for _, l := range levels {
		for _, by := range []string{"stat_time_day", "stat_time_hour"} {
			q := l.query(by)
			want, got := map[string][6]int64{}, map[string][6]int64{}
			for _, r := range s.truth(a, l.of, by == "stat_time_hour", q) {
				id := r.Object
				switch l.id {
				case "advertiser_id":
					id = a.ID
				case "campaign_id":
					id = r.Ad.Project
				}
				key := fmt.Sprintf("%d %s %02d:00:00", id, world.FormatDay(r.Day), max(r.Hour, 0))
				x, f := want[key], r.Figures
				for i, n := range []int64{f[world.Cost], f[world.Impressions] * 100, f[world.Clicks] * 100,
					f[world.Conversions] * 100, f[world.Activations] * 100, f[world.PayAmount]} {
					x[i] += n
				}
				want[key] = x
			}
			for _, x := range s.rows(a, reportGet, q) {
				d := x["dimensions"].(fields)
				key := fmt.Sprint(d[l.id], " ", d[by])
				require.NotContains(t, got, key)
				var f [6]int64
				for i, name := range q["metrics"].([]string) {
					f[i] = fen(t, x["metrics"].(fields)[name])
				}
				got[key] = f
			}
			require.NotEmpty(t, want)
			require.Equal(t, want, got, "%s by %s", l.name, by)
		}
	}
}

func TestReports_HideDeletedObjects(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	sum := func(l level, filters ...any) int64 {
		return spent(t, s.rows(a, reportGet, with(l.query("stat_time_day"), "filtering", filters)))
	}
	whole := sum(levels[0])
	require.Equal(t, whole, sum(levels[1]), "no campaign is deleted")
	for _, l := range levels[2:] {
		status := strings.TrimSuffix(l.id, "_id") + "_status"
		hidden := sum(l)
		require.Less(t, hidden, whole, "a sum without a condition leaves out what was spent on deleted objects")
		require.Equal(t, hidden, sum(l, condition(status, "STATUS_NOT_DELETE")))
		require.Equal(t, whole, sum(l, condition(status, "STATUS_ALL")))
		require.Equal(t, whole-hidden, sum(l, condition(status, "STATUS_DELETE")))
		require.Equal(t, hidden, sum(l, condition(status, "STATUS_DELIVERY_OK", "STATUS_DISABLE")))
	}
	ads := levels[3]
	before := sum(ads)
	s.Order("edits", fields{"media": "tiktok", "account": simtest.Text(a.ID), "drop_creatives": true})
	require.NoError(t, s.Clock().Set(simtest.Noon.Add(time.Minute)))
	require.Less(t, sum(ads), before, "a sum shrinks after a deletion")
	require.Equal(t, whole, sum(ads, condition("ad_status", "STATUS_ALL")), "the spend of deleted ads stays")
}

func TestReports_Conditions(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	l := levels[3]
	q := with(l.query("stat_time_day"), "metrics", []string{"ad_name", "adgroup_id", "adgroup_name", "campaign_id",
		"campaign_name", "campaign_budget", "objective_type", "billing_event", "currency"})
	filter := func(filters ...any) []fields {
		return s.rows(a, reportGet, with(q, "filtering", append(filters, condition("ad_status", "STATUS_ALL"))))
	}
	all := filter()
	one := all[0]
	m, d := one["metrics"].(fields), one["dimensions"].(fields)
	require.Equal(t, "APP_PROMOTION", m["objective_type"])
	for _, x := range filter(condition("ad_ids", d["ad_id"])) {
		require.Equal(t, d["ad_id"], x["dimensions"].(fields)["ad_id"])
	}
	groups := filter(condition("adgroup_ids", m["adgroup_id"]))
	require.Less(t, len(groups), len(all))
	for _, x := range groups {
		require.Equal(t, m["adgroup_name"], x["metrics"].(fields)["adgroup_name"])
	}
	for _, x := range filter(condition("campaign_ids", m["campaign_id"])) {
		require.Equal(t, m["campaign_name"], x["metrics"].(fields)["campaign_name"])
	}
	require.Len(t, filter(condition("campaign_status", "STATUS_NOT_DELETE")), len(all))
	require.Empty(t, filter(condition("campaign_status", "STATUS_DELETE")))
	require.Less(t, len(filter(condition("adgroup_status", "STATUS_NOT_DELETE"))), len(all))
	require.Empty(t, filter(condition("adgroup_ids", m["adgroup_id"]), condition("ad_ids", "1")))
}

func TestReports_AreSorted(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	spend := func(pairs ...any) (list []int64) {
		for _, x := range s.rows(a, reportGet, with(levels[2].query("stat_time_day"), pairs...)) {
			list = append(list, fen(t, x["metrics"].(fields)["spend"]))
		}
		return list
	}
	down := spend("order_field", "spend")
	require.False(t, slices.IsSorted(down))
	up := spend("order_field", "spend", "order_type", "ASC")
	require.True(t, slices.IsSorted(up))
	slices.Reverse(down)
	require.Equal(t, up, down)
	require.NotEqual(t, up, spend("order_fieeld", "spend", "order_type", "ASC"), "an unknown parameter is ignored")
}

func TestReports_HaveTheirOwnSums(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	for _, l := range levels {
		q := with(l.query("stat_time_day"), "enable_total_metrics", true, "metrics", []string{"spend", "currency"})
		d := simtest.Data(t, s.call(a, reportGet, with(q, "page_size", 5)))
		total := d["total_metrics"].(fields)
		require.Equal(t, spent(t, s.rows(a, reportGet, q)), fen(t, total["spend"]), "over all pages")
		require.Equal(t, "-", total["currency"])
	}
	hours := with(levels[0].query("stat_time_hour"), "enable_total_metrics", true)
	require.NotContains(t, simtest.Data(t, s.call(a, reportGet, hours)), "total_metrics")
}

func TestReports_WithoutATimeDimension(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a, quiet := s.Account(0), s.Find(world.ClassQuiet)
	for _, l := range levels {
		rows := s.rows(a, reportGet, l.query(""))
		sum := spent(t, s.rows(a, reportGet, l.query("stat_time_day")))
		require.Equal(t, sum, spent(t, rows))
		idle := s.rows(quiet, reportGet, l.query(""))
		require.NotEmpty(t, idle, "objects without figures may have rows")
		require.Zero(t, spent(t, idle))
		hidden := s.rows(a, reportGet, with(l.query(""), "filtering", []any{}))
		require.LessOrEqual(t, len(hidden), len(rows))
		require.Empty(t, s.rows(quiet, reportGet, l.query("stat_time_day")), "days without figures have none")
	}
	ids := s.rows(a, reportGet, levels[3].query(""))
	require.Len(t, ids, len(a.Creatives(s.Now())), "an object has one row")
	s.Assume("idle_rows", 0)
	require.Empty(t, s.rows(quiet, reportGet, levels[2].query("")))
	year := with(levels[0].query(""), "start_date", "2025-11-15")
	require.NotZero(t, spent(t, s.rows(a, reportGet, year)))
	life := with(levels[0].query(""), "query_lifetime", true, "start_date", "", "end_date", "")
	require.Greater(t, spent(t, s.rows(a, reportGet, life)), spent(t, s.rows(a, reportGet, year)))
}

func TestReports_RefuseBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	day, hour := levels[0].query("stat_time_day"), levels[0].query("stat_time_hour")
	group := levels[2].query("stat_time_day")
	refused := map[string]fields{
		"no type": with(day, "report_type", ""), "another type": with(day, "report_type", "AUDIENCE"),
		"no level": with(day, "data_level", ""), "a retired level": with(day, "data_level", "RESERVATION_AD"),
		"another service": with(day, "service_type", "RESERVATION"), "a chunk": with(day, "query_mode", "CHUNK"),
		"no dimension": with(day, "dimensions", []string{}), "dimensions as text": with(day, "dimensions", "x"),
		"two times":               with(day, "dimensions", []string{"stat_time_day", "stat_time_hour"}),
		"another dimension":       with(day, "dimensions", []string{"advertiser_id", "country_code"}),
		"three dimensions":        with(day, "dimensions", []string{"advertiser_id", "stat_time_day", "age"}),
		"another level's id":      with(day, "dimensions", []string{"ad_id", "stat_time_day"}),
		"a time alone":            with(day, "dimensions", []string{"stat_time_day"}),
		"no days":                 with(day, "start_date", "", "end_date", ""),
		"no end":                  with(day, "end_date", ""),
		"the end before":          with(day, "end_date", "2026-11-07"),
		"31 days":                 with(day, "start_date", "2026-10-15"),
		"two days of hours":       with(hour, "start_date", "2026-11-13"),
		"366 days":                with(levels[0].query(""), "start_date", "2025-11-14"),
		"a whole life by day":     with(day, "query_lifetime", true),
		"a life that is no flag":  with(day, "query_lifetime", "x"),
		"another metric":          with(day, "metrics", []string{"spend", "x"}),
		"metrics as text":         with(day, "metrics", "spend"),
		"a deeper attribute":      with(day, "metrics", []string{"campaign_name"}),
		"cash by hour":            with(hour, "metrics", []string{"cash_spend"}),
		"cash of ad groups":       with(group, "metrics", []string{"voucher_spend"}),
		"1001 rows a page":        with(day, "page_size", 1001),
		"sums that are no flag":   with(day, "enable_total_metrics", "x"),
		"an order of attributes":  with(day, "order_field", "currency"),
		"an order of nothing":     with(day, "order_field", "x"),
		"another order":           with(day, "order_type", "UP"),
		"filters as an object":    with(group, "filtering", fields{"ad_status": "STATUS_ALL"}),
		"a value that is no text": with(group, "filtering", []any{with(condition("x"), "filter_value", []string{"1"})}),
		"a value of no list":      with(group, "filtering", []any{with(condition("adgroup_ids"), "filter_value", "1")}),
		"a deeper filter":         with(group, "filtering", []any{condition("ad_status", "STATUS_ALL")}),
		"a filter of accounts":    with(day, "filtering", []any{condition("ad_status", "STATUS_ALL")}),
		"another way":             with(group, "filtering", []any{with(condition("adgroup_ids"), "filter_type", "MATCH")}),
		"another status":          with(group, "filtering", []any{condition("adgroup_status", "DELETED")}),
		"101 ids":                 with(group, "filtering", []any{condition("adgroup_ids", make([]any, 101)...)}),
		"six accounts":            with(day, "advertiser_ids", make([]string, 6)),
		"no accounts":             with(day, "advertiser_ids", []string{}),
		"a zone that is no flag":  with(day, "multi_adv_report_in_utc_time", "x"),
	}
	for name, q := range refused {
		require.Equal(t, 40002, simtest.Code(t, s.call(a, reportGet, q)), name)
	}
	for _, q := range []fields{
		with(day, "start_date", "2026-10-16", "page_size", 1000), hour,
		with(levels[0].query(""), "start_date", "2025-11-15"), with(day, "metrics", nil),
	} {
		require.Equal(t, 0, simtest.Code(t, s.call(a, reportGet, q)), "%v", q)
	}
	d := simtest.Data(t, s.call(a, reportGet, with(day, "metrics", "")))["list"].([]any)[0].(fields)["metrics"].(fields)
	require.ElementsMatch(t, []string{"spend", "impressions"}, slices.Collect(maps.Keys(d)), "the default")
}

func TestReports_OfSeveralAccounts(t *testing.T) {
	t.Parallel()
	s := newSim(t, 200)
	var ids []string
	want := map[string]int64{}
	q := levels[0].query("")
	for i := range 5 {
		a := s.Account(i)
		ids = append(ids, simtest.Text(a.ID))
		for _, r := range s.truth(a, world.LevelAccount, false, q) {
			want[ids[i]] += r.Figures[world.Cost]
		}
	}
	ask := func(pairs ...any) *httptest.ResponseRecorder {
		return s.get(s.Token(s.Account(0)), reportGet, values(with(q, append(pairs, "page_size", 100)...)))
	}
	list := simtest.Data(t, ask("advertiser_ids", ids))["list"].([]any)
	require.Len(t, list, 5)
	for _, x := range list {
		m, d := x.(fields)["metrics"].(fields), x.(fields)["dimensions"].(fields)
		require.Equal(t, d["advertiser_id"], m["advertiser_id"])
		require.Equal(t, "CNY", m["currency"])
		require.Equal(t, "Asia/Shanghai", m["timezone"])
		require.Equal(t, fmt.Sprint((want[d["advertiser_id"].(string)]+50)/100), m["spend"], "without decimals")
	}
	s.Assume("many_decimals", 1)
	m := simtest.Data(t, ask("advertiser_ids", ids[:1]))["list"].([]any)[0].(fields)["metrics"].(fields)
	require.Equal(t, want[ids[0]], fen(t, m["spend"]))
	with3 := slices.Concat(ids[:2], []string{simtest.Text(s.Account(150).ID)})
	require.Equal(t, 40001, simtest.Code(t, ask("advertiser_ids", with3)), "one is another login's")
	s.Order("accounts", fields{"media": "tiktok", "account": ids[4], "state": "frozen"})
	require.Equal(t, 40001, simtest.Code(t, ask("advertiser_ids", ids)), "one is closed")
	s.Assume("forbidden_fails", 0)
	require.Len(t, simtest.Data(t, ask("advertiser_ids", ids))["list"], 4)

	utc := fields{"advertiser_ids": ids[:1], "multi_adv_report_in_utc_time": true, "start_date": "2026-11-14",
		"dimensions": []string{"advertiser_id", "stat_time_hour"}}
	hours := simtest.Data(t, ask(pairs(utc)...))["list"].([]any)
	own := s.rows(s.Account(0), reportGet, levels[0].query("stat_time_hour"))
	at := slices.IndexFunc(own, func(x fields) bool {
		return x["dimensions"].(fields)["stat_time_hour"] == "2026-11-14 20:00:00"
	})
	noon := slices.IndexFunc(hours, func(x any) bool {
		return x.(fields)["dimensions"].(fields)["stat_time_hour"] == "2026-11-14 12:00:00"
	})
	require.Equal(t, own[at]["metrics"].(fields)["impressions"],
		hours[noon].(fields)["metrics"].(fields)["impressions"], "eight hours before China's time")
	utc["dimensions"] = []string{"advertiser_id", "stat_time_day"}
	days := simtest.Data(t, ask(pairs(utc)...))["list"].([]any)
	require.Len(t, days, 1)
	var sum int64
	for _, x := range hours {
		sum += fen(t, x.(fields)["metrics"].(fields)["impressions"])
	}
	require.Equal(t, sum, fen(t, days[0].(fields)["metrics"].(fields)["impressions"]))
}

func TestReports_HaveTheNewestObjectsOnly(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	q := levels[2].query("stat_time_day")
	ids := func() map[any]bool {
		list := map[any]bool{}
		for _, x := range s.rows(a, reportGet, q) {
			list[x["dimensions"].(fields)["adgroup_id"]] = true
		}
		return list
	}
	whole := ids()
	s.Assume("ids_max", 3)
	newest := ids()
	require.Len(t, newest, 3)
	made := map[string]int64{}
	for _, o := range s.Objects(a) {
		made[simtest.Text(o.ID)] = o.Created
	}
	for id := range newest {
		for other := range whole {
			require.True(t, newest[other] || made[id.(string)] >= made[other.(string)])
		}
	}
}

func TestReports_LateFigures(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	q := with(levels[0].query("stat_time_day"), "start_date", "2026-11-12", "end_date", "2026-11-15", "metrics",
		[]string{"spend", "billed_cost", "cash_spend", "voucher_spend"})
	rows := s.rows(a, reportGet, q)
	require.Len(t, rows, 4)
	value := func(i int, name string) string { return rows[i]["metrics"].(fields)[name].(string) }
	v := world.View{Now: s.Now(), Corrections: world.NewCorrections()}
	for i, d := range v.FundDays(a, world.DayOf(s.Now())-3, world.DayOf(s.Now())-2) {
		require.Equal(t, d.Paid.Cash, fen(t, value(i, "cash_spend")))
		require.Equal(t, d.Paid.Grant, fen(t, value(i, "voucher_spend")))
	}
	require.Equal(t, value(2, "spend"), value(2, "billed_cost"), "yesterday ended more than eleven hours ago")
	require.Equal(t, "-", value(3, "billed_cost"))
	require.Equal(t, "-", value(2, "cash_spend"), "yesterday ended less than a day ago")
	s.Assume("billed_delay", 86_400)
	s.Assume("cash_delay", 3600)
	rows = s.rows(a, reportGet, q)
	require.Equal(t, "-", value(2, "billed_cost"))
	require.NotEqual(t, "-", value(2, "cash_spend"))
	s.Assume("rates_in_percent", 0)
	ratio := s.rows(a, reportGet, with(q, "metrics", []string{"ctr"}))[0]["metrics"].(fields)["ctr"]
	require.Regexp(t, `^0\.0\d+$`, ratio)
}

func TestReports_ARepeatedHourHasTwoRows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC)
	s := &sim{simtest.NewAt(t, tiktok.New(), 40, 1, now), t}
	a := s.Account(0)
	hours := func() []string {
		q := with(levels[0].query("stat_time_hour"), "start_date", "2026-11-01", "end_date", "2026-11-01")
		rows := s.rows(a, reportGet, q)
		var want int64
		for _, r := range s.truth(a, world.LevelAccount, false, q) {
			want += r.Figures[world.Cost]
		}
		require.Equal(t, want, spent(t, rows))
		var list []string
		for _, x := range rows {
			list = append(list, x["dimensions"].(fields)["stat_time_hour"].(string))
		}
		return list
	}
	require.Len(t, hours(), 25)
	require.Equal(t, []string{"2026-11-01 01:00:00", "2026-11-01 01:00:00"}, hours()[1:3])
	s.Assume("repeated_hours", 0)
	require.Len(t, hours(), 24)
}

func TestReports_ARetiredMetricIsRefused(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a, q := s.Account(0), levels[0].query("stat_time_day")
	s.Order("faults", fields{"kind": "retire_field", "media": "tiktok", "field": "app_install"})
	w := s.call(a, reportGet, q)
	require.Equal(t, 40002, simtest.Code(t, w))
	require.Contains(t, w.Body.String(), "app_install")
	s.Order("faults", fields{"kind": "add_field", "media": "tiktok", "field": "new_clicks"})
	m := s.rows(a, reportGet, with(q, "metrics", []string{"clicks", "new_clicks"}))[0]["metrics"].(fields)
	require.Equal(t, m["clicks"], m["new_clicks"])
}

// unmet are traps that no call of this platform can meet: numbered pages reach all rows, a world has no more objects
// than a report, and a token neither ends nor is refreshed. Days of 23 and 25 hours are in other months.
var unmet = []trap.ID{trap.BeyondPages, trap.RowsOverCap, trap.TokenEnded, trap.RefreshCut, trap.OddDay}

func TestTraps_AllStrike(t *testing.T) {
	t.Parallel()
	simtest.Traps(t, tiktok.New, unmet, func(t *testing.T, x *simtest.Sim, _ trap.ID) {
		t.Helper()
		s := &sim{x, t}
		a := s.Account(0)
		days := with(levels[2].query("stat_time_day"), "start_date", "2026-10-25", "end_date", "2026-11-15")
		days["metrics"] = append(days["metrics"].([]string), "purchase", "total_purchase", "registration")
		for page := range 3 {
			at := fields{"page": page + 1, "page_size": 20, "filtering": all["filtering"]}
			s.call(a, reportGet, with(days, "page", page+1, "page_size", 20))
			s.call(a, reportGet, with(levels[2].query("stat_time_hour"), "page", page+1, "page_size", 20, "start_date",
				"2026-11-15", "end_date", "2026-11-15"))
			s.call(a, reportGet, with(levels[0].query("stat_time_hour"), "start_date", "2026-11-15", "end_date",
				"2026-11-15"))
			s.call(a, "adgroup/get", at)
			s.call(a, "file/video/ad/search", fields{"page": page + 1, "page_size": 20})
		}
		for i := range 10 { // some traps are in few ad groups
			s.call(s.Account(i), "adgroup/get", with(all, "page_size", 1000))
		}
		s.get(s.Token(a), "advertiser/info", values(fields{"advertiser_ids": []string{simtest.Text(a.ID),
			simtest.Text(s.Account(1).ID)}}))
		s.file(a, days)
	})
}
