package bilibili_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/bilibili"
	"adsync/simulator/fault/trap"
	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

const report = "report/v3/custom"

// yesterday is a report of a day by some dimensions.
func yesterday(dimensions ...string) fields {
	return fields{"start_date": "2026-11-14", "end_date": "2026-11-14", "dimensions": dimensions,
		"metrics": []string{"charged_cost_milli", "show_count", "click_count", "app_activate_count", "pay_count",
			"seven_day_pay_amount_milli"}}
}

// reported returns the rows of a report, page by page, each with the fields of its groups.
func (s *sim) reported(a *world.Account, body fields) (rows []fields) {
	s.t.Helper()
	for page := 1; ; page++ {
		d := data(s.t, s.call(a, report, with(body, fields{"page": page, "size": 100}))).(fields)
		for _, x := range d["rows"].([]any) {
			row := fields{}
			maps.Copy(row, x.(fields)["dimensions"].(fields))
			maps.Copy(row, x.(fields)["metrics"].(fields))
			rows = append(rows, row)
		}
		require.Equal(s.t, json.Number(simtest.Text(int64(page))), d["page"])
		if total := d["total"].(json.Number).String(); len(d["rows"].([]any)) < 100 {
			require.Equal(s.t, total, fmt.Sprint(len(rows)))
			return rows
		}
	}
}

func TestReports_HaveTheFiguresOfTheTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	day, _ := world.ParseDay("2026-11-14")
	v := world.View{Now: s.Now(), Corrections: world.NewCorrections()}
	for level, dimension := range []string{"account_id", "unit_id", "creative_id"} {
		for _, hourly := range []bool{false, true} {
			dimensions := []string{"date_time", dimension}
			if hourly {
				dimensions = append(dimensions, "hour")
			}
			want, got := map[string]string{}, map[string]string{}
			for _, r := range v.TrueRows(a, world.Scope{Level: world.Level(level), Hourly: hourly, From: day, To: day}) {
				id := r.Object
				if level == 0 {
					id = a.ID
				}
				f := r.Figures
				want[fmt.Sprintln(max(r.Hour, 0), id)] = fmt.Sprintln(f[world.Cost]*1000, f[world.Impressions],
					f[world.Clicks], f[world.Activations], f[world.Pays], f[world.PayAmountD7]*1000)
			}
			for _, x := range s.reported(a, yesterday(dimensions...)) {
				require.Equal(t, "2026-11-14", x["date_time"])
				hour := int64(0)
				if hourly {
					hour = simtest.Number(t, x, "hour")
				}
				key := fmt.Sprintln(hour, x[dimension])
				require.NotContains(t, got, key)
				got[key] = fmt.Sprintln(x["charged_cost_milli"], x["show_count"], x["click_count"],
					x["app_activate_count"], x["pay_count"], x["seven_day_pay_amount_milli"])
			}
			require.NotEmpty(t, want)
			require.Equal(t, want, got, dimensions)
		}
	}
}

func TestReports_LevelsAddUp(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	sum := func(body fields) (sum int64, rows int) {
		list := s.reported(a, body)
		for _, x := range list {
			sum += simtest.Number(t, x, "charged_cost_milli")
		}
		return sum, len(list)
	}
	cost, rows := sum(yesterday("date"))
	require.NotZero(t, cost)
	require.Equal(t, 1, rows)
	counts := map[int]bool{}
	for _, dimensions := range [][]string{
		{"campaign_id"}, {"date", "unit_id"}, {"date", "campaign_id", "unit_id", "creative_id"}, {"creative_id"},
		{"hour"}, {"hour", "campaign_id"}, {"account_id"},
	} {
		got, n := sum(yesterday(dimensions...))
		require.Equal(t, cost, got, dimensions)
		counts[n] = true
	}
	require.Len(t, counts, 6, "only the two reports by creative have as many rows")
}

func TestReports_Filters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	every := s.reported(a, yesterday("campaign_id", "unit_id", "creative_id"))
	for _, name := range []string{"campaign_id", "unit_id", "creative_id"} {
		wanted := every[0][name]
		want := slices.DeleteFunc(slices.Clone(every), func(x fields) bool { return x[name] != wanted })
		filter := fields{"filters": []fields{{"field": name, "operator": "IN", "values": []any{wanted}}}}
		require.Equal(t, want, s.reported(a, with(yesterday("campaign_id", "unit_id", "creative_id"), filter)))
		require.Len(t, s.reported(a, with(yesterday("date"), filter)), 1, "a filter is no dimension")
	}
}

func TestReports_HaveAssumedForms(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	ask := func(body fields) fields { return data(t, s.call(a, report, body)).(fields) }
	s.Assume("report_total", 0)
	require.NotContains(t, ask(yesterday("date")), "total")
	s.Assume("flat_rows", 1)
	row := ask(yesterday("date"))["rows"].([]any)[0].(fields)
	require.Contains(t, row, "date")
	require.Contains(t, row, "show_count")
	s.Assume("day_times", 1)
	first := ask(yesterday("date_time", "hour"))["rows"].([]any)[3].(fields)
	require.Equal(t, fmt.Sprintf("2026-11-14 %02d:00:00", simtest.Number(t, first, "hour")), first["date_time"])
	s.Assume("report_days", 7)
	week := with(yesterday("date"), fields{"start_date": "2026-11-08"})
	require.Len(t, ask(week)["rows"], 7)
	require.Equal(t, 40000, code(t, s.call(a, report, with(week, fields{"end_date": "2026-11-15"}))))

	today := with(yesterday("date"), fields{"start_date": "2026-11-15", "end_date": "2026-11-15"})
	shown := simtest.Number(t, ask(today)["rows"].([]any)[0].(fields), "show_count")
	s.Assume("report_delay", 3600)
	require.Less(t, simtest.Number(t, ask(today)["rows"].([]any)[0].(fields), "show_count"), shown)
	s.Assume("today_reported", 0)
	require.Empty(t, ask(today)["rows"])
}

func TestReports_RefuseBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	filter := func(x fields) fields { return fields{"filters": []fields{x}} }
	for name, body := range map[string]fields{
		"two days":                  {"end_date": "2026-11-15"},
		"the end before the start":  {"end_date": "2026-11-13"},
		"no start":                  {"start_date": ""},
		"no end":                    {"end_date": ""},
		"a time for a day":          {"start_date": "2026-11-14 00:00:00"},
		"no dimensions":             {"dimensions": []string{}},
		"an unknown dimension":      {"dimensions": []string{"date", "gender"}},
		"a text for dimensions":     {"dimensions": "date"},
		"no metrics":                {"metrics": nil},
		"an unknown metric":         {"metrics": []string{"show_count", "cost"}},
		"page 0":                    {"page": 0},
		"101 of a page":             {"size": 101},
		"filters of text":           {"filters": "x"},
		"a filter of a metric":      filter(fields{"field": "show_count", "operator": "IN", "values": []int{1}}),
		"a filter with an operator": filter(fields{"field": "unit_id", "operator": "GT", "values": []int{1}}),
		"a filter without values":   filter(fields{"field": "unit_id", "operator": "IN"}),
		"a filter of 101 values":    filter(fields{"field": "unit_id", "operator": "IN", "values": make([]int, 101)}),
	} {
		w := s.call(a, report, with(yesterday("date"), body))
		require.Equal(t, 40000, code(t, w), name)
		require.Contains(t, simtest.Decoded(t, w), "msg", name)
	}
	require.Equal(t, 0, code(t, s.call(a, report, with(yesterday("date"), fields{"size": 100}))))
	require.Equal(t, 40301, code(t, s.call(a, report, with(yesterday("date"), fields{"account_id": 1}))))
	empty := with(yesterday("date"), fields{"start_date": "2027-01-01", "end_date": "2027-01-01"})
	require.Empty(t, s.reported(a, empty), "a future day has no rows")
}

func TestReports_FieldsComeAndGo(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	s.Order("faults", fields{"kind": "retire_field", "media": "bilibili", "field": "register_count"})
	s.Order("faults", fields{"kind": "add_field", "media": "bilibili", "field": "new_count"})
	ask := func(metrics ...string) *httptest.ResponseRecorder {
		return s.call(a, report, with(yesterday("date"), fields{"metrics": metrics}))
	}
	require.Equal(t, 40000, code(t, ask("show_count", "register_count")))
	rows := data(t, ask("click_count", "new_count")).(fields)["rows"].([]any)
	metrics := rows[0].(fields)["metrics"].(fields)
	require.Equal(t, metrics["click_count"], metrics["new_count"])
}

// unmet are traps that no call of this platform can meet: numbered pages reach all rows, a report has all of its rows,
// no call names several accounts, and all days are China's.
var unmet = []trap.ID{trap.BeyondPages, trap.RowsOverCap, trap.ForbiddenID, trap.OddDay}

func TestTraps_AllStrike(t *testing.T) {
	t.Parallel()
	simtest.Traps(t, bilibili.New, unmet, func(t *testing.T, x *simtest.Sim, id trap.ID) {
		t.Helper()
		s := &sim{x, t}
		a := s.Account(0)
		for page := 1; page <= 3; page++ {
			at := fields{"page": page, "page_size": 60, "size": 20, "status": "ALL"}
			for _, day := range []string{"2026-11-14", "2026-11-15", "2026-11-05"} {
				on := with(at, fields{"start_date": day, "end_date": day})
				s.call(a, report, with(yesterday("date_time", "unit_id"), on))
				s.call(a, report, with(yesterday("date_time", "unit_id", "hour"), on))
				s.call(a, report, with(yesterday("date_time", "hour"), on))
			}
			s.call(a, unitList, at)
			s.call(a, unitList, with(at, fields{"status": ""}))
			s.call(a, videoList, at)
		}
		simtest.Refresh(t, id, func() { s.refresh(s.Credentials().Logins[0].RefreshToken) })
		if id == trap.RefreshCut {
			require.NotEqual(t, 40005, code(t, s.refresh(s.Credentials().Logins[0].RefreshToken)), "the request was lost")
		}
	})
}
