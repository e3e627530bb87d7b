package simulator

import (
	"fmt"
	"net/http"
	"testing"

	"adsync/simulator/world"
)

// discard is a ResponseWriter that discards answers.
type discard struct{ header http.Header }

func (n *discard) Header() http.Header         { return n.header }
func (n *discard) Write(b []byte) (int, error) { return len(b), nil }
func (n *discard) WriteHeader(int)             {}

// benchmarkCalls serves calls to all accounts of a platform in turn.
func benchmarkCalls(b *testing.B, media string, request func(s *sim, a *world.Account, n int) *http.Request) {
	b.Helper()
	s := newSim(b, Config{Accounts: 2000}).unlimited()
	accounts := make([]*world.Account, s.sim.World.Count(s.spec(media)))
	for i := range accounts {
		accounts[i] = s.account(media, i)
	}
	w := &discard{http.Header{}}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		b.StopTimer()
		r := request(s, accounts[n%len(accounts)], n)
		b.StartTimer()
		s.ServeHTTP(w, r)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

func BenchmarkTencentDailyReport(b *testing.B) {
	benchmarkCalls(b, "tencent", func(s *sim, a *world.Account, _ int) *http.Request {
		return s.tencentRequest(s.token(a), "daily_reports/get",
			query("account_id", idText(a.ID), "level", "REPORT_LEVEL_ADGROUP",
				"group_by", `["date","adgroup_id"]`, "fields", jsonText(append(wireNames("tencent"), "date", "adgroup_id")),
				"date_range", `{"start_date":"2026-11-09","end_date":"2026-11-15"}`, "page_size", "2000"))
	})
}

func BenchmarkTencentHourlyReport(b *testing.B) {
	benchmarkCalls(b, "tencent", func(s *sim, a *world.Account, _ int) *http.Request {
		return s.tencentRequest(s.token(a), "hourly_reports/get",
			query("account_id", idText(a.ID), "level", "REPORT_LEVEL_ADGROUP",
				"group_by", `["hour","adgroup_id"]`, "fields", jsonText(append(wireNames("tencent"), "hour", "adgroup_id")),
				"date_range", `{"start_date":"2026-11-14","end_date":"2026-11-14"}`, "page_size", "2000"))
	})
}

func BenchmarkTencentHourlyReportOfCreatives(b *testing.B) {
	benchmarkCalls(b, "tencent", func(s *sim, a *world.Account, _ int) *http.Request {
		return s.tencentRequest(s.token(a), "hourly_reports/get",
			query("account_id", idText(a.ID), "level", "REPORT_LEVEL_DYNAMIC_CREATIVE",
				"group_by", `["hour","dynamic_creative_id"]`, "fields",
				jsonText(append(wireNames("tencent"), "hour", "dynamic_creative_id")),
				"date_range", `{"start_date":"2026-11-14","end_date":"2026-11-14"}`, "page_size", "2000"))
	})
}

func BenchmarkTencentCreatives(b *testing.B) {
	benchmarkCalls(b, "tencent", func(s *sim, a *world.Account, _ int) *http.Request {
		return s.tencentRequest(s.token(a), "dynamic_creatives/get", query("account_id", idText(a.ID), "page_size", "100"))
	})
}

// One page of an account with 50,000 creatives.
func BenchmarkTencentCreativesOfAGiant(b *testing.B) {
	s := newSim(b, Config{Accounts: 2, Giant: 50_000}).unlimited()
	a := s.account("tencent", 0)
	w := &discard{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		s.ServeHTTP(w, s.tencentRequest(s.token(a), "dynamic_creatives/get",
			query("account_id", idText(a.ID), "page_size", "100", "pagination_mode", "PAGINATION_MODE_CURSOR")))
	}
}

func BenchmarkTencentAdgroups(b *testing.B) {
	benchmarkCalls(b, "tencent", func(s *sim, a *world.Account, _ int) *http.Request {
		return s.tencentRequest(s.token(a), "adgroups/get", query("account_id", idText(a.ID), "page_size", "100"))
	})
}

func BenchmarkOceanEngineHourlyReport(b *testing.B) {
	benchmarkCalls(b, "oceanengine", func(s *sim, a *world.Account, n int) *http.Request {
		return s.oceanRequest(s.token(a), "v3.0/report/custom/get/", query("advertiser_id", idText(a.ID),
			"dimensions", `["stat_time_hour","cdp_promotion_id"]`, "metrics", jsonText(wireNames("oceanengine")), "filters",
			"[]",
			"order_by", `[{"field":"stat_time_hour","type":"ASC"},{"field":"cdp_promotion_id","type":"ASC"}]`,
			"start_time", "2026-11-14 00:00:00", "end_time", "2026-11-14 23:59:59", "page", fmt.Sprint(1+n%3), "page_size",
			"100"))
	})
}

func BenchmarkOceanEnginePromotions(b *testing.B) {
	benchmarkCalls(b, "oceanengine", func(s *sim, a *world.Account, _ int) *http.Request {
		return s.oceanRequest(s.token(a), "v3.0/promotion/list/", query("advertiser_id", idText(a.ID), "page_size", "20"))
	})
}

func BenchmarkTruth(b *testing.B) {
	s := newSim(b, Config{Accounts: 2000})
	w := &discard{http.Header{}}
	r, err := http.NewRequest(http.MethodGet,
		"/_sim/truth?media=tencent&kind=report_hourly&level=ad&from=2026-11-14&to=2026-11-14", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.ServeHTTP(w, r)
	}
}
