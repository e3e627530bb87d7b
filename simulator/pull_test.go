package simulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/world"
)

// The client here is written from the platforms' documents and shares no code with the simulator, so that both do not
// have the same mistake about a unit.

// wireMetrics holds the platforms' names of the truth's metrics. Amounts are marked by a leading $.
var wireMetrics = map[string]map[string]string{
	"tencent": {
		"cost": "$cost", "impressions": "view_count", "clicks": "valid_click_count", "downloads": "download_count",
		"installs": "install_count", "activations": "activated_count", "registrations": "reg_pv",
		"conversions": "conversions_count", "deep_conversions": "deep_conversions_count", "first_pays": "first_pay_count",
		"pays": "purchase_pv", "pay_amount": "$purchase_amount", "pay_amount_d1": "$first_day_pay_amount",
		"pay_amount_d3": "$payment_amount_activated_d3", "pay_amount_d7": "$payment_amount_activated_d7",
		"next_day_retained": "retention_count", "pays_d1": "first_day_pay_count", "orders": "order_pv",
		"order_amount": "$order_amount",
	},
	"oceanengine": {
		"cost": "$stat_cost", "impressions": "show_cnt", "clicks": "click_cnt", "downloads": "download_finish_cnt",
		"installs": "install_finish_cnt", "activations": "active", "registrations": "active_register",
		"conversions":      "convert_cnt",
		"deep_conversions": "deep_convert_cnt", "first_pays": "active_pay", "pays": "game_pay_count",
		"pay_amount_d1": "$attribution_game_in_app_ltv_1day", "pay_amount_d3": "$attribution_game_in_app_ltv_3days",
		"pay_amount_d7": "$attribution_game_in_app_ltv_7days", "next_day_retained": "attribution_next_day_open_cnt",
		"download_starts": "click_start_cnt", "key_actions": "game_addiction", "orders": "in_app_order",
		"order_amount": "$in_app_order_gmv",
	},
}

func wireNames(media string) (names []string) {
	for _, name := range wireMetrics[media] {
		names = append(names, strings.TrimPrefix(name, "$"))
	}
	return names
}

func jsonText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// table holds rows by key. The rest of a row is text, so that rows can be compared.
type table map[string]string

func (x table) add(t testing.TB, k, row string) {
	t.Helper()
	if _, double := x[k]; double {
		t.Fatalf("%s came twice", k)
	}
	x[k] = row
}

// differences returns how many rows differ or are only on one side.
func (x table) differences(y table) (n int) {
	for k, row := range x {
		if y[k] != row {
			n++
		}
	}
	for k := range y {
		if _, ok := x[k]; !ok {
			n++
		}
	}
	return n
}

// yuan converts an amount in yuan to micro-units, exactly.
func yuan(t testing.TB, text string) int64 {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok || !r.Mul(r, big.NewRat(1_000_000, 1)).IsInt() {
		t.Fatalf("%q is not an amount", text)
	}
	return r.Num().Int64()
}

var twoDigits = regexp.MustCompile(`^\d+\.\d\d$`)

func fen(t testing.TB, n any) int64 {
	t.Helper()
	v, err := n.(json.Number).Int64()
	require.NoError(t, err)
	return v * 10_000
}

// metricsText returns a row's figures, without those that are null, absent or an empty text.
func metricsText(t testing.TB, media string, row fields) string {
	t.Helper()
	all := map[string]int64{}
	for name, wire := range wireMetrics[media] {
		wire, money := strings.CutPrefix(wire, "$")
		if row[wire] == nil || row[wire] == "" {
			continue
		}
		switch v := row[wire].(type) {
		case json.Number:
			n, err := v.Int64()
			if err != nil {
				t.Fatalf("%s: %v", wire, err)
			}
			if money {
				n *= 10_000
			}
			all[name] = n
		case string:
			if money {
				if !twoDigits.MatchString(v) {
					t.Fatalf("%s is %q, not yuan with two digits", wire, v)
				}
				all[name] = yuan(t, v)
				continue
			}
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", wire, err)
			}
			all[name] = n
		default:
			t.Fatalf("%s is %v", wire, v)
		}
	}
	return jsonText(all)
}

// truthTable returns the table of the truth.
func (s *sim) truthTable(kind string, pairs ...string) table {
	rows := table{}
	for _, line := range s.truthLines(append([]string{"kind", kind}, pairs...)...) {
		var r struct {
			Account string
			Day     string
			Hour    *int
			Object  string
			Metrics map[string]int64
		}
		require.NoError(s.t, json.Unmarshal([]byte(line), &r))
		if r.Metrics == nil {
			rows.add(s.t, r.Account+"/"+r.Object, line)
			continue
		}
		hour := -1
		if r.Hour != nil {
			hour = *r.Hour
		}
		rows.add(s.t, fmt.Sprintf("%s/%s/%d/%s", r.Account, r.Day, hour, r.Object), jsonText(r.Metrics))
	}
	return rows
}

// pages calls get for each page until the last, and checks that all have the same total.
func pages(t testing.TB, size int, get func(page int) (rows []any, info fields)) (all []any) {
	t.Helper()
	for page := 1; ; page++ {
		rows, info := get(page)
		all = append(all, rows...)
		total, err := info["total_number"].(json.Number).Int64()
		require.NoError(t, err)
		if page*size >= int(total) {
			require.Len(t, all, int(total))
			require.Equal(t, json.Number(fmt.Sprint((int(total)+size-1)/size)), info["total_page"])
			return all
		}
		require.Len(t, rows, size)
	}
}

// pullReport fetches a report as a client would, in the form of the truth.
func (s *sim) pullReport(media string, accounts []*world.Account, level string, hourly bool, from, to string) table {
	rows := table{}
	for _, a := range accounts {
		if media == "tencent" {
			s.pullTencent(rows, a, level, hourly, from, to)
		} else {
			s.pullOcean(rows, a, level, hourly, from, to)
		}
	}
	return rows
}

func (s *sim) pullTencent(into table, a *world.Account, level string, hourly bool, from, to string) {
	first, err := time.Parse(time.DateOnly, from)
	require.NoError(s.t, err)
	last, err := time.Parse(time.DateOnly, to)
	require.NoError(s.t, err)
	path, group := "daily_reports/get", []string{"date"}
	ranges := [][2]string{{from, to}}
	if hourly {
		path, group, ranges = "hourly_reports/get", []string{"hour"}, nil
		for d := first; !d.After(last); d = d.AddDate(0, 0, 1) {
			ranges = append(ranges, [2]string{d.Format(time.DateOnly), d.Format(time.DateOnly)})
		}
	}
	name := "REPORT_LEVEL_ADVERTISER"
	wanted := append(wireNames("tencent"), "date")
	if hourly {
		wanted = append(wanted, "hour")
	}
	if level == "ad" {
		name, group, wanted = "REPORT_LEVEL_ADGROUP", append(group, "adgroup_id"), append(wanted, "adgroup_id")
	}
	for _, days := range ranges {
		list := pages(s.t, 150, func(page int) ([]any, fields) {
			d := data(s.t, s.tencentCall(a, path, "level", name, "group_by", jsonText(group), "fields", jsonText(wanted),
				"date_range", jsonText(map[string]string{"start_date": days[0], "end_date": days[1]}),
				"page", fmt.Sprint(page), "page_size", "150"))
			return d["list"].([]any), d["page_info"].(fields)
		})
		for _, x := range list {
			r := x.(fields)
			hour, object := "-1", ""
			if hourly {
				hour = r["hour"].(json.Number).String()
			}
			if level == "ad" {
				object = r["adgroup_id"].(json.Number).String()
			}
			into.add(s.t, fmt.Sprintf("%d/%s/%s/%s", a.ID, r["date"], hour, object), metricsText(s.t, "tencent", r))
		}
	}
}

func (s *sim) pullOcean(into table, a *world.Account, level string, hourly bool, from, to string) {
	dimensions := []string{"stat_time_day"}
	if hourly {
		dimensions = []string{"stat_time_hour"}
	}
	orders := []map[string]string{{"field": dimensions[0], "type": "ASC"}}
	if level == "ad" {
		dimensions = append(dimensions, "cdp_promotion_id")
		orders = append(orders, map[string]string{"field": "cdp_promotion_id", "type": "DESC"})
	}
	totals := map[string]int64{}
	var last fields
	list := pages(s.t, 100, func(page int) ([]any, fields) {
		d := data(s.t, s.oceanCall(a, "v3.0/report/custom/get/", "dimensions", jsonText(dimensions),
			"metrics", jsonText(wireNames("oceanengine")), "filters", "[]", "order_by", jsonText(orders),
			"start_time", from+" 00:00:00", "end_time", to+" 23:59:59", "page", fmt.Sprint(page), "page_size", "100"))
		last = d["total_metrics"].(fields)
		return d["rows"].([]any), d["page_info"].(fields)
	})
	for _, x := range list {
		dims, metrics := x.(fields)["dimensions"].(fields), x.(fields)["metrics"].(fields)
		day, hour, object := dims[dimensions[0]].(string), -1, ""
		if hourly {
			h, _, _ := strings.Cut(day, ":")
			_, err := fmt.Sscanf(h, "%10s %d", &day, &hour)
			require.NoError(s.t, err)
			require.Equal(s.t, fmt.Sprintf("%s %02d:00 - %02d:59", day, hour, hour), dims["stat_time_hour"])
		}
		if level == "ad" {
			object = dims["cdp_promotion_id"].(string)
		}
		into.add(s.t, fmt.Sprintf("%d/%s/%d/%s", a.ID, day, hour, object), metricsText(s.t, "oceanengine", metrics))
		var sums map[string]int64
		require.NoError(s.t, json.Unmarshal([]byte(metricsText(s.t, "oceanengine", metrics)), &sums))
		for m, n := range sums {
			totals[m] += n
		}
	}
	if len(list) > 0 {
		require.Equal(s.t, jsonText(totals), metricsText(s.t, "oceanengine", last), "totals are those of all pages")
	}
}

// pullConfig fetches the lowest level of the configuration, in the form of the truth.
func (s *sim) pullConfig(media string, accounts []*world.Account) table {
	rows := table{}
	for _, a := range accounts {
		if media == "tencent" {
			s.pullAdgroups(rows, a)
		} else {
			s.pullPromotions(rows, a)
		}
	}
	return rows
}

func (s *sim) pullAdgroups(into table, a *world.Account) {
	for _, deleted := range []bool{false, true} {
		list := pages(s.t, 100, func(page int) ([]any, fields) {
			d := data(s.t, s.tencentCall(a, "adgroups/get", "is_deleted", fmt.Sprint(deleted), "page", fmt.Sprint(page),
				"page_size", "100",
				"fields",
				`["adgroup_id","adgroup_name","configured_status","created_time","last_modified_time","is_deleted","daily_budget",`+
					`"bid_amount"]`))
			return d["list"].([]any), d["page_info"].(fields)
		})
		for _, x := range list {
			r := x.(fields)
			require.Equal(s.t, deleted, r["is_deleted"])
			status := map[any]string{"AD_STATUS_NORMAL": "active", "AD_STATUS_SUSPEND": "paused"}[r["configured_status"]]
			if deleted {
				status = "deleted"
			}
			object := r["adgroup_id"].(json.Number).String()
			into.add(s.t, fmt.Sprintf("%d/%s", a.ID, object), fmt.Sprintf(
				`{"account":"%d","object":"%s","name":%s,"parent":"","status":"%s","daily_budget":%d,"bid":%d,"created":%s,`+
					`"modified":%s,"deleted":%t}`,
				a.ID, object, jsonText(r["adgroup_name"]), status, fen(s.t, r["daily_budget"]), fen(s.t, r["bid_amount"]),
				r["created_time"],
				r["last_modified_time"], deleted))
		}
	}
}

func chinaTime(t testing.TB, text any) int64 {
	t.Helper()
	v, err := time.ParseInLocation(time.DateTime, text.(string), time.FixedZone("", 8*3600))
	require.NoError(t, err)
	return v.Unix()
}

func (s *sim) pullPromotions(into table, a *world.Account) {
	cursor := json.Number("0")
	for {
		d := data(s.t, s.oceanCall(a, "v3.0/promotion/list/", "filtering", `{"status_first":"PROMOTION_STATUS_ALL"}`,
			"cursor", cursor.String(), "count", "20"))
		for _, x := range d["list"].([]any) {
			r := x.(fields)
			status := map[any]string{"PROMOTION_STATUS_ENABLE": "active", "PROMOTION_STATUS_DISABLE": "paused",
				"PROMOTION_STATUS_DELETED": "deleted"}[r["status_first"]]
			require.Equal(s.t, status == "active", r["opt_status"] == "ENABLE")
			object := r["promotion_id"].(json.Number).String()
			budget := yuan(s.t, r["budget"].(json.Number).String())
			require.Equal(s.t, budget == 0, r["budget_mode"] == "BUDGET_MODE_INFINITE")
			into.add(s.t, fmt.Sprintf("%d/%s", a.ID, object), fmt.Sprintf(
				`{"account":"%d","object":"%s","name":%s,"parent":"%s","status":"%s","daily_budget":%d,"bid":%d,"created":%d,`+
					`"modified":%d,"deleted":%t}`,
				a.ID, object, jsonText(r["promotion_name"]), r["project_id"], status, budget,
				yuan(s.t, r["cpa_bid"].(json.Number).String()),
				chinaTime(s.t, r["promotion_create_time"]), chinaTime(s.t, r["promotion_modify_time"]), status == "deleted"))
		}
		info := d["cursor_info"].(fields)
		if info["has_more"] != true {
			return
		}
		cursor = info["cursor"].(json.Number)
	}
}

// set is one of the tables of a platform that a client keeps.
type set struct {
	kind, level string
	hourly      bool
	from, to    string
}

// sets returns the tables from which alterations are chosen at noon.
func sets(media string) []set {
	object := map[string]string{"tencent": "adgroup", "oceanengine": "promotion"}[media]
	return []set{
		{kind: object},
		{kind: "report_daily", level: "account", from: "2026-11-09", to: "2026-11-15"},
		{kind: "report_daily", level: "ad", from: "2026-11-09", to: "2026-11-15"},
		{kind: "report_hourly", level: "account", hourly: true, from: "2026-11-14", to: "2026-11-15"},
		{kind: "report_hourly", level: "ad", hourly: true, from: "2026-11-14", to: "2026-11-15"},
	}
}

func (s *sim) all(media string) (list []*world.Account) {
	for i := range s.sim.World.Count(s.spec(media)) {
		list = append(list, s.account(media, i))
	}
	return list
}

func (s *sim) pull(media string, x set, accounts ...*world.Account) table {
	if len(accounts) == 0 {
		accounts = s.all(media)
	}
	if x.level == "" {
		return s.pullConfig(media, accounts)
	}
	return s.pullReport(media, accounts, x.level, x.hourly, x.from, x.to)
}

func (s *sim) truthOf(media string, x set, accounts ...*world.Account) table {
	pairs := []string{"media", media}
	if x.level != "" {
		pairs = append(pairs, "level", x.level, "from", x.from, "to", x.to)
	}
	if len(accounts) == 0 {
		return s.truthTable(x.kind, pairs...)
	}
	rows := table{}
	for _, a := range accounts {
		maps.Copy(rows, s.truthTable(x.kind, append(pairs, "account", idText(a.ID))...))
	}
	return rows
}

func TestWire_AClientThatPullsAllHasTheTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{Accounts: ofEach(20)}).unlimited()
	for _, media := range clients {
		for _, x := range sets(media) {
			got, want := s.pull(media, x), s.truthOf(media, x)
			require.Greater(t, len(want), 50, "%s %+v", media, x)
			require.Equal(t, want, got, "%s %+v", media, x)
		}
	}
}
