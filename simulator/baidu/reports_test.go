package baidu_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

// The kinds of reports by level, of feed and of search.
var reportTypes = map[bool][4]int{
	false: {2149145, 2276038, 2330652, 2094816}, true: {2208157, 2290316, 2284618, 2665235},
}

var keys = [4]string{"userId", "campaignId", "adGroupId", "ideaId"}

// week is a report of a week by day, of feed adgroups.
var week = fields{"reportType": 2330652, "timeUnit": "DAY", "startDate": "2026-11-08", "endDate": "2026-11-14",
	"columns": []string{"date", "userId", "adGroupId", "adGroupName", "impression", "click", "cost"}, "startRow": 0,
	"rowCount": 1000}

// reported returns the only object of a report's answer.
func reported(t testing.TB, w *httptest.ResponseRecorder) fields {
	t.Helper()
	data := rows(t, w)
	require.Len(t, data, 1, "%s", w.Body)
	return data[0]
}

func (s *sim) report(a *world.Account, body fields) (list []fields) {
	s.t.Helper()
	w := s.call(a, getReport, body)
	require.Zero(s.t, code(s.t, w), "%s", w.Body)
	d := reported(s.t, w)
	for _, x := range d["rows"].([]any) {
		list = append(list, x.(fields))
	}
	require.Equal(s.t, json.Number(fmt.Sprint(len(list))), d["rowCount"])
	return list
}

// busy returns an account with ads, with search campaigns or with feed campaigns.
func (s *sim) busy(isSearch bool) *world.Account {
	index := 0
	if isSearch {
		index = 1
	}
	for ; ; index += 3 {
		if a := s.Account(index); a.Class >= world.ClassSmall && a.Index%3 < 2 {
			return a
		}
	}
}

func TestReports_EqualTheTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	view := world.View{Now: s.Now(), Corrections: world.NewCorrections()}
	from, _ := world.ParseDay("2026-11-14")
	for isSearch, types := range reportTypes {
		a := s.busy(isSearch)
		for l, kind := range types {
			for _, unit := range []string{"DAY", "HOUR"} {
				want, got := map[string]int64{}, map[string]int64{}
				scope := world.Scope{Level: []world.Level{world.LevelAccount, world.LevelAd, world.LevelAd,
					world.LevelCreative}[l], Hourly: unit == "HOUR", From: from, To: from + 1}
				for _, r := range view.TrueRows(a, scope) {
					key := world.FormatDay(r.Day)
					if scope.Hourly {
						key += fmt.Sprintf(" %02d:00", r.Hour)
					}
					id := a.ID
					switch l {
					case 1:
						id = r.Ad.Project
					case 2, 3:
						id = r.Object
					}
					want[fmt.Sprintln(key, id, "cost")] += r.Figures[world.Cost]
					want[fmt.Sprintln(key, id, "impression")] += r.Figures[world.Impressions]
				}
				for _, x := range s.report(a, with(week, "reportType", kind, "timeUnit", unit, "startDate", "2026-11-14",
					"endDate", "2026-11-15", "rowCount", 100_000, "columns", []string{"date", keys[l], "impression", "cost"})) {
					cost, err := x["cost"].(json.Number).Float64()
					require.NoError(t, err)
					key := fmt.Sprint(x["date"], " ", x[keys[l]], " ")
					got[key+"cost\n"] = int64(math.Round(cost * 100))
					got[key+"impression\n"] = simtest.Number(t, x, "impression")
				}
				require.NotEmpty(t, want)
				require.Equal(t, want, got, "%v %d %s", isSearch, kind, unit)
			}
		}
		require.Empty(t, s.report(a, with(week, "reportType", reportTypes[!isSearch][0], "columns", []string{"cost"})))
	}
}

func TestReports_PagesAndSums(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	all := s.report(a, week)
	var got []fields
	for start := 0; start < len(all); start += 70 {
		w := s.call(a, getReport, with(week, "startRow", start, "rowCount", 70, "needSum", true))
		d := reported(t, w)
		require.Equal(t, json.Number(fmt.Sprint(len(all))), d["totalRowCount"])
		for _, x := range d["rows"].([]any) {
			got = append(got, x.(fields))
		}
		var clicks int64
		for _, x := range all {
			clicks += simtest.Number(t, x, "click")
		}
		require.Equal(t, clicks, simtest.Number(t, d["summary"].(fields), "click"))
		require.Len(t, d["summary"], 3)
	}
	require.Equal(t, all, got)
	require.Len(t, reported(t, s.call(a, getReport, with(week, "startRow", 3, "rowCount", 7)))["rows"], 7)
	require.Empty(t, reported(t, s.call(a, getReport, with(week, "startRow", 9999)))["rows"])

	summed := s.report(a, with(week, "timeUnit", "SUMMARY"))
	require.Equal(t, "2026-11-08至2026-11-14", summed[0]["date"])
	var clicks int64
	for _, x := range all {
		if x["adGroupId"] == summed[0]["adGroupId"] {
			clicks += simtest.Number(t, x, "click")
		}
	}
	require.Equal(t, clicks, simtest.Number(t, summed[0], "click"))
}

func TestReports_NameDeletedObjectsWithAMark(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	ask := func(columns ...string) []fields {
		return s.report(a, with(week, "reportType", 2094816, "timeUnit", "SUMMARY", "startDate", "2026-05-01", "rowCount",
			100_000, "columns", append(columns, "cost")))
	}
	marked := 0
	for _, x := range ask("ideaId", "ideaInfo", "adGroupId", "adGroupName", "adGroupNameStatus", "adgroupStatus") {
		info := x["ideaInfo"].(fields)
		require.Equal(t, fmt.Sprint(x["ideaId"]), info["ideaId"])
		path, body := s.ask(false, 2, 3, []any{x["ideaId"]})
		_, codes := status(t, s.call(a, path, body))
		require.Equal(t, len(codes) > 0, strings.HasSuffix(info["ideaTitleStatus"].(string), "[已删除]"))
		require.Equal(t, info["ideaTitle"], strings.TrimSuffix(info["ideaTitleStatus"].(string), "[已删除]"))
		if x["adgroupStatus"] == json.Number("1") {
			marked++
			require.Equal(t, x["adGroupName"].(string)+"[已删除]", x["adGroupNameStatus"])
		} else {
			require.Equal(t, x["adGroupName"], x["adGroupNameStatus"])
		}
	}
	require.Positive(t, marked)
	s.Assume("name_marked", 1)
	for _, x := range ask("adGroupName", "adGroupNameStatus", "ideaInfo") {
		require.Equal(t, x["adGroupNameStatus"], x["adGroupName"])
		require.Equal(t, x["ideaInfo"].(fields)["ideaTitleStatus"], x["ideaInfo"].(fields)["ideaTitle"])
	}
	for _, x := range s.report(a, with(week, "reportType", 2276038, "columns", []string{"campaignName",
		"campaignNameStatus", "campaignStatus", "userName", "cost"})) {
		require.Equal(t, x["campaignNameStatus"], x["campaignName"])
		require.Equal(t, json.Number("0"), x["campaignStatus"])
		require.Equal(t, a.Name(), x["userName"])
	}
}

func TestReports_SeveralAccountsInOneCall(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a, b, c := s.Account(0), s.Account(3), s.Account(6)
	several := with(week, "userIds", []int64{a.ID, b.ID, c.ID}, "rowCount", 100_000)
	one := func(a *world.Account) int { return len(s.report(a, week)) }
	want := one(a) + one(b) + one(c)
	w := s.manage(getReport, several)
	require.Zero(t, code(t, w))
	var together []any
	for _, x := range slices.Concat(s.report(a, week), s.report(b, week), s.report(c, week)) {
		together = append(together, x)
	}
	require.Equal(t, together, reported(t, w)["rows"])
	require.Empty(t, reported(t, s.manage(getReport, week))["rows"], "a manager has no ads")
	require.Zero(t, code(t, s.call(a, getReport, with(week, "userIds", []int64{a.ID}))))

	refused := one(b)
	s.Order("accounts", fields{"media": "baidu", "account": simtest.Text(b.ID), "state": "revoked"})
	w = s.manage(getReport, several)
	state, codes := status(t, w)
	require.Equal(t, int64(1), state)
	require.Equal(t, []int64{8406}, codes)
	failure := simtest.Decoded(t, w)["header"].(fields)["failures"].([]any)[0].(fields)
	require.Equal(t, "userIds[1]", failure["position"])
	require.Equal(t, json.Number(simtest.Text(b.ID)), failure["id"])
	require.Len(t, reported(t, w)["rows"], want-refused, "the good part is in the body")
	for _, x := range reported(t, w)["rows"].([]any) {
		require.NotEqual(t, json.Number(simtest.Text(b.ID)), x.(fields)["userId"])
	}
	require.Equal(t, int64(8406), code(t, s.manage(getReport, with(week, "userIds", []int64{b.ID}))))
	require.Equal(t, int64(8406), code(t, s.call(a, getReport, with(week, "userIds", []int64{c.ID}))))
	s.Order("accounts", fields{"media": "baidu", "account": simtest.Text(b.ID), "state": "frozen"})
	_, codes = status(t, s.manage(getReport, several))
	require.Equal(t, []int64{8303}, codes)
	s.Assume("refused_part", 2)
	require.Equal(t, int64(8303), code(t, s.manage(getReport, several)))
	s.Assume("user_ids", 2)
	require.Equal(t, int64(901_000), code(t, s.manage(getReport, several)))
}

func TestReports_DataMayBeAnObject(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	data := func() any {
		return simtest.Decoded(t, s.call(a, getReport, week))["body"].(fields)["data"]
	}
	usual := data().([]any)[0]
	s.Order("faults", fields{"kind": "other_form", "media": "baidu", "account": simtest.Text(a.ID), "count": 1})
	require.Equal(t, usual, data())
	require.IsType(t, []any{}, data(), "the order was for one call")
	s.Assume("data_object", 1)
	require.Equal(t, usual, data())
}

func TestReports_Sorts(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	all := s.report(a, with(week, "filters", []any{}))
	sorted := s.report(a, with(week, "sorts", []fields{{"column": "date", "sortRule": "DESC"},
		{"column": "click", "sortRule": "ASC"}}))
	require.ElementsMatch(t, all, sorted)
	for i := range sorted[1:] {
		x, y := sorted[i], sorted[i+1]
		require.True(t, x["date"].(string) > y["date"].(string) ||
			x["date"] == y["date"] && simtest.Number(t, x, "click") <= simtest.Number(t, y, "click"))
	}
}

func TestReports_RefuseBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	for name, more := range map[string][]any{
		"another type":               {"reportType", 1},
		"no type":                    {"reportType", nil},
		"another unit":               {"timeUnit", "WEEK"},
		"no unit":                    {"timeUnit", nil},
		"hours of the overall":       {"reportType", 170026, "timeUnit", "HOUR", "columns", []string{"cost"}},
		"no start":                   {"startDate", nil},
		"a start with an hour":       {"startDate", "2026-11-08 00:00"},
		"the end before the start":   {"endDate", "2026-11-07"},
		"732 days":                   {"startDate", "2024-11-13", "endDate", "2026-11-14"},
		"no columns":                 {"columns", nil},
		"an unknown column":          {"columns", []string{"date", "cost", "x"}},
		"no figure":                  {"columns", []string{"date", "adGroupId"}},
		"a column of creatives":      {"columns", []string{"ideaId", "cost"}},
		"a figure of search":         {"columns", []string{"ocpcConversions"}},
		"a figure of feed":           {"reportType", 2284618, "columns", []string{"ocpcTargetTrans"}},
		"columns as a text":          {"columns", "cost"},
		"no first row":               {"startRow", nil},
		"a row below 0":              {"startRow", -1},
		"no size":                    {"rowCount", nil},
		"100001 rows":                {"rowCount", 100_001},
		"a filter":                   {"filters", []fields{{"column": "click", "operator": "GT", "values": []string{"1"}}}},
		"sorts as an object":         {"sorts", fields{}},
		"an order by another column": {"sorts", []fields{{"column": "ctr", "sortRule": "ASC"}}},
		"another order":              {"sorts", []fields{{"column": "click", "sortRule": "UP"}}},
		"three orders": {"sorts", []fields{{"column": "click", "sortRule": "ASC"}, {"column": "cost", "sortRule": "ASC"},
			{"column": "date", "sortRule": "ASC"}}},
		"another sum":     {"needSum", "x"},
		"users as a text": {"userIds", "x"},
		"101 users":       {"userIds", make([]int64, 101)},
	} {
		require.Equal(t, int64(901_000), code(t, s.call(a, getReport, with(week, more...))), name)
	}
	require.Zero(t, code(t, s.call(a, getReport, with(week, "startDate", "2024-11-14", "rowCount", 100_000))), "731 days")
	s.Assume("row_count", 200)
	require.Equal(t, int64(901_000), code(t, s.call(a, getReport, with(week, "rowCount", 201))))
}

func TestReports_ColumnsComeAndGo(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	s.Order("faults", fields{"kind": "add_field", "media": "baidu", "field": "brandNew"})
	for _, x := range s.report(a, with(week, "columns", []string{"click", "brandNew"})) {
		require.Equal(t, x["click"], x["brandNew"])
	}
	s.Order("faults", fields{"kind": "retire_field", "media": "baidu", "field": "click"})
	require.Equal(t, int64(901_000), code(t, s.call(a, getReport, week)))
}

func TestReports_AreLateByAnAssumption(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	today := with(week, "reportType", 2149145, "startDate", "2026-11-15", "endDate", "2026-11-15", "columns",
		[]string{"impression"})
	now := simtest.Number(t, s.report(a, today)[0], "impression")
	s.Assume("report_delay", 3600)
	require.Less(t, simtest.Number(t, s.report(a, today)[0], "impression"), now)
}
