package kuaishou_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/media"
	"adsync/media/kuaishou"
	"adsync/media/wire"
)

func reportOf(t *testing.T, name, level string) media.Report {
	t.Helper()
	for _, r := range kuaishou.New().Reports() {
		if r.Name == name && r.Level == level {
			return r
		}
	}
	require.Fail(t, "no report", "%s of %s", name, level)
	return media.Report{}
}

func requireMetrics(t *testing.T, want map[string]int64, got metric.Values) {
	t.Helper()
	for i, m := range metric.All {
		value, set := got.Get(i)
		expected, has := want[m.Name]
		require.Equal(t, has, set, m.Name)
		require.Equal(t, expected, value, m.Name)
	}
}

// The row of document 2609.
const reportRow = `{"charge":76.0,"show":10,"aclick":20,"bclick":10,"share":3,"activation":10,"submit":20,` +
	`"download_started":0,"download_completed":0,"stat_date":"2019-08-23","stat_hour":0,"photo_click":5,` +
	`"photo_click_ratio":0.5,"impression_1k_cost":7600.0,"photo_click_cost":15.2,"action_cost":7.6,` +
	`"event_pay_first_day":3,"event_pay_purchase_amount_first_day":50.0,"event_pay_first_day_roi":0.6578947368421053,` +
	`"event_pay":6,"event_pay_purchase_amount":100.0,"event_register":8,"event_order_paid":6,` +
	`"event_order_paid_purchase_amount":100.05,"event_order_paid_cost":12.666666666666666,"form_count":20,` +
	`"unit_id":2960851,"unit_name":"zj-MAPI激活66818","campaign_id":2343304,"campaign_name":"MAPI-ZJ",` +
	`"creative_id":42353334,"creative_name":"MAPI-CT-ZJ"}`

func TestReports_RequestEachLevelAndReadTheSample(t *testing.T) {
	t.Parallel()
	q := media.ReportQuery{From: "2019-08-23", To: "2019-08-29"}
	for _, c := range []struct{ level, variant, endpoint, object string }{
		{"account", "", "v1/report/account_report", ""},
		{"campaign", "", "v1/report/campaign_report", "2343304"},
		{"adgroup", "", "v1/report/unit_report", "2960851"},
		{"creative", "custom", "v1/report/creative_report", "42353334"},
		{"creative", "program", "v1/report/program_creative_report", "42353334"},
	} {
		for name, granularity := range map[string]string{"report_daily": "DAILY", "report_hourly": "HOURLY"} {
			s := answering(t, rows(reportRow))
			q.Variant = c.variant
			page, err := reportOf(t, name, c.level).Page(t.Context(), s, q, "")
			require.NoError(t, err)
			require.Equal(t, []string{c.endpoint + ` {"advertiser_id":20000681,"end_date":"2019-08-29","page":1,` +
				`"page_size":2000,"start_date":"2019-08-23","temporal_granularity":"` + granularity + `"}`}, s.asked)
			row := page.Rows[0]
			require.Equal(t, day.Day("2019-08-23"), row.Day)
			require.Zero(t, row.Hour)
			require.Equal(t, c.object, row.Object)
			require.Empty(t, row.Faults)
			require.JSONEq(t, reportRow, string(row.JSON))
			requireMetrics(t, map[string]int64{"cost": 76_000_000, "clicks": 10, "activations": 10, "download_starts": 0,
				"downloads": 0, "pays_d1": 3, "pay_amount_d1": 50_000_000, "pays": 6, "pay_amount": 100_000_000,
				"registrations": 8, "orders": 6, "order_amount": 100_050_000, "forms": 20}, row.Metrics)
		}
	}
}

func TestReports_AreDescribed(t *testing.T) {
	t.Parallel()
	keys := map[string][]string{"account": nil, "campaign": {"campaign_id"}, "adgroup": {"unit_id"},
		"creative": {"creative_id"}}
	all := kuaishou.New().Reports()
	require.Len(t, all, 2*len(keys))
	for _, r := range all {
		want := slices.Concat([]string{"stat_date"}, keys[r.Level])
		if r.Hourly {
			want = slices.Concat([]string{"stat_date", "stat_hour"}, keys[r.Level])
		}
		require.Equal(t, want, r.Keys, r.Level)
		require.Equal(t, map[bool]int{false: 7, true: 1}[r.Hourly], r.MaxDays)
		require.Equal(t, map[bool]string{false: "report_daily", true: "report_hourly"}[r.Hourly], r.Name)
		require.Equal(t, r.Level == "adgroup" || r.Level == "creative", r.Overlaps, "some material is left out")
		require.False(t, r.HasSums)
		require.Equal(t, 180, r.LookBack)
		require.Equal(t, 6, r.Files.PageDays, "with today, pages have seven days")
		if r.Level == "creative" {
			require.Equal(t, []string{"custom", "program"}, r.Variants)
		} else {
			require.Empty(t, r.Variants)
		}
	}
}

// Each figure has its own number here. Money is in yuan, with two decimals at most.
func TestReports_HaveAllFiguresInTheirUnits(t *testing.T) {
	t.Parallel()
	counts := []struct{ field, metric string }{
		{"ad_show", "impressions"}, {"bclick", "clicks"}, {"download_completed", "downloads"},
		{"download_installed", "installs"}, {"activation", "activations"}, {"event_register", "registrations"},
		{"conversion_num_by_impression_7d", "conversions"}, {"conversion_num", "conversions_event"},
		{"event_new_user_pay", "first_pays"}, {"event_pay", "pays"}, {"event_next_day_stay", "next_day_retained"},
		{"download_started", "download_starts"}, {"key_action", "key_actions"}, {"event_pay_first_day", "pays_d1"},
		{"event_order_paid", "orders"}, {"form_count", "forms"},
	}
	amounts := []struct{ field, metric string }{
		{"charge", "cost"}, {"event_pay_purchase_amount", "pay_amount"},
		{"event_pay_purchase_amount_first_day", "pay_amount_d1"},
		{"event_pay_purchase_amount_three_day_by_conversion", "pay_amount_d3"},
		{"event_pay_purchase_amount_week_by_conversion", "pay_amount_d7"},
		{"event_order_paid_purchase_amount", "order_amount"},
	}
	want, kept := map[string]int64{}, map[string]any{}
	fields := []string{`"stat_date":"2026-11-20"`}
	for i, f := range counts {
		n := int64(1001 + i)
		want[f.metric], kept[f.field] = n, n
		// ad_show is a Double in the documents.
		fields = append(fields, fmt.Sprintf(`%q:%d.0`, f.field, n))
	}
	for i, f := range amounts {
		fen := int64(1_234_501 + i)
		want[f.metric], kept[f.field+"_fen"] = fen*10_000, fen
		fields = append(fields, fmt.Sprintf(`%q:%d.%02d`, f.field, fen/100, fen%100))
	}
	for _, name := range []string{"report_daily", "report_hourly"} {
		r := reportOf(t, name, "account")
		if r.Hourly { // What hours have in this field is not documented, and is not read.
			delete(want, "next_day_retained")
			delete(kept, "event_next_day_stay")
		}
		row := `{"stat_hour":23,` + strings.Join(fields, ",") + `}`
		page, err := r.Page(t.Context(), answering(t, rows(row)), media.ReportQuery{}, "")
		require.NoError(t, err)
		require.Empty(t, page.Rows[0].Faults)
		requireMetrics(t, want, page.Rows[0].Metrics)
		got := map[string]any{}
		for i, c := range r.Table.Columns {
			got[c.Name] = page.Rows[0].Raw[i]
		}
		require.Equal(t, kept, got)
		require.Equal(t, map[bool]int{false: 0, true: 23}[r.Hourly], page.Rows[0].Hour)
	}
}

// NULL is not 0: a figure that cannot be read is not set, and its day is not whole.
func TestReports_OfBrokenFigures(t *testing.T) {
	t.Parallel()
	r := reportOf(t, "report_daily", "campaign")
	ask := func(fields string) media.Row {
		page, err := r.Page(t.Context(), answering(t, rows(`{"stat_date":"2026-11-20","campaign_id":609161,`+fields+`}`)),
			media.ReportQuery{}, "")
		require.NoError(t, err)
		require.False(t, page.Rows[0].Lost, fields)
		return page.Rows[0]
	}
	for fields, field := range map[string]string{
		`"charge":"much","bclick":4`: "charge", `"charge":1e30,"bclick":4`: "charge", `"charge":true,"bclick":4`: "charge",
		`"charge":[7],"bclick":4`: "charge", `"charge":0.0000001,"bclick":4`: "charge", `"ad_show":0.5,"bclick":4`: "ad_show",
	} {
		row := ask(fields)
		require.Len(t, row.Faults, 1, fields)
		require.Equal(t, field, row.Faults[0].Field, fields)
		require.Equal(t, wire.FigureFault, row.Faults[0].Kind, fields)
		requireMetrics(t, map[string]int64{"clicks": 4}, row.Metrics)
	}
	for _, fields := range []string{`"charge":null,"bclick":4`, `"charge":"-","bclick":"4"`, `"bclick":4`,
		`"charge":"","bclick":4`} {
		row := ask(fields)
		require.Empty(t, row.Faults, fields)
		requireMetrics(t, map[string]int64{"clicks": 4}, row.Metrics)
	}
	row := ask(`"charge":0.125`)
	requireMetrics(t, map[string]int64{"cost": 125_000}, row.Metrics)
	require.Nil(t, row.Raw[0], "the column holds fen")
	require.Equal(t, wire.AttributeFault, row.Faults[0].Kind)
}

func TestReports_OfBrokenKeys(t *testing.T) {
	t.Parallel()
	r := reportOf(t, "report_hourly", "adgroup")
	for _, broken := range []string{`null`, `5`, `{}`, `{"stat_date":"2026-11-20","stat_hour":9}`,
		`{"stat_date":"2026-11-20","stat_hour":24,"unit_id":7}`, `{"stat_date":"2026-11-20","stat_hour":-1,"unit_id":7}`,
		`{"stat_date":"2026-11-20","unit_id":7}`, `{"stat_date":"2026-11-20","stat_hour":9,"unit_id":0}`,
		`{"stat_date":"2026-11-20","stat_hour":9,"unit_id":"x"}`, `{"stat_date":"2026-13-20","stat_hour":9,"unit_id":7}`,
		`{"stat_date":null,"stat_hour":9,"unit_id":7}`, `{"stat_date":20261120,"stat_hour":9,"unit_id":7}`} {
		page, err := r.Page(t.Context(), answering(t, rows(`{"stat_date":"2026-11-20","stat_hour":9,"unit_id":8}`, broken)),
			media.ReportQuery{}, "")
		require.NoError(t, err)
		require.False(t, page.Rows[0].Lost)
		require.Equal(t, 9, page.Rows[0].Hour)
		require.True(t, page.Rows[1].Lost, broken)
		require.NotEmpty(t, page.Rows[1].Faults, broken)
	}
	for _, answer := range []string{envelope(`null`), envelope(`[]`), envelope(`{"details":[]}`),
		envelope(`{"total_count":1,"details":{}}`), `<html>`} {
		_, err := r.Page(t.Context(), answering(t, answer), media.ReportQuery{}, "")
		requireClass(t, media.Transient, err)
	}
}

// The platform returns all figures. Those that a query leaves out are not set, and others stay in the JSON.
func TestReports_LeaveOutFigures(t *testing.T) {
	t.Parallel()
	s := answering(t, rowsOf(2001, reportRow))
	q := media.ReportQuery{From: "2019-08-23", To: "2019-08-23", Extra: []string{"share"}, Without: []string{"charge"}}
	page, err := reportOf(t, "report_daily", "account").Page(t.Context(), s, q, "2")
	require.NoError(t, err)
	require.Contains(t, s.asked[0], `"page":2`)
	require.NotContains(t, s.asked[0], "share")
	require.Empty(t, page.Moved)
	require.Empty(t, page.Next)
	_, set := page.Rows[0].Metrics.Get(metric.Index("cost"))
	require.False(t, set)
	require.Contains(t, string(page.Rows[0].JSON), `"share":3`)
	values, err := reportOf(t, "report_daily", "account").Values(page.Rows[0].JSON)
	require.NoError(t, err)
	require.JSONEq(t, "3", string(values["share"]))
	_, err = reportOf(t, "report_daily", "account").Values([]byte("5"))
	require.Error(t, err)
}
