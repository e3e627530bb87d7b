package simulator

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/world"
)

func TestFaults_ReplaceAnswersAndEnd(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	ten, oce := s.account("tencent", 0), s.account("oceanengine", 0)
	id := s.order("faults", fields{"kind": "status", "status": 502, "media": "tencent", "endpoint": "adgroups/get",
		"count": 2})["id"].(string)
	for range 2 {
		w := s.tencentCall(ten, "adgroups/get")
		require.Equal(t, 502, w.Code)
		require.NotContains(t, w.Body.String(), `"code"`)
	}
	require.Equal(t, 0, code(t, s.tencentCall(ten, "adgroups/get")), "its count is used up")
	require.EqualValues(t, 2, s.askLedger("answer", "502").Totals.Inject)
	require.EqualValues(t, 2, s.faults.All()[0].Met)
	require.Equal(t, 200, s.control(http.MethodDelete, "faults/"+id, nil).Code)
	require.Equal(t, 404, s.control(http.MethodDelete, "faults/"+id, nil).Code)

	s.order("faults", fields{"kind": "over_limit", "account": idText(oce.ID)})
	require.Equal(t, 40110, code(t, s.oceanCall(oce, "v3.0/promotion/list/")))
	require.Equal(t, 0, code(t, s.oceanCall(s.account("oceanengine", 1), "v3.0/promotion/list/")),
		"another account is not affected")
	require.Equal(t, 0, code(t, s.tencentCall(ten, "adgroups/get")))
	require.EqualValues(t, 1, s.askLedger("account", idText(oce.ID), "answer", "40110").Totals.Inject)
	s.order("faults", fields{"kind": "over_limit", "media": "tencent"})
	require.Equal(t, 11016, code(t, s.tencentCall(ten, "adgroups/get")))
	require.Equal(t, 200, s.control(http.MethodDelete, "faults", nil).Code)
	require.Equal(t, 0, code(t, s.oceanCall(oce, "v3.0/promotion/list/")))
	require.Empty(t, s.faults.All())
}

func TestFaults_EndWithTheirTime(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	s.order("faults", fields{"kind": "status", "for_seconds": 1000})
	a := s.account(clients[0], 0)
	require.Equal(t, 500, s.ads(a).Code)
	kept := s.faults.All()
	kept[0].Until = time.Now().Add(-time.Nanosecond)
	s.faults.Remove("")
	s.faults.Restore(kept, 1)
	require.Equal(t, 0, code(t, s.ads(a)))
}

func TestFaults_CutConnections(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	a := s.account(clients[0], 0)
	get := func(ctx context.Context) ([]byte, error) {
		r := s.adsRequest(a)
		out, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+r.URL.RequestURI(), nil)
		require.NoError(t, err)
		out.Header = r.Header
		resp, err := client.Do(out)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		return io.ReadAll(resp.Body)
	}
	s.order("faults", fields{"kind": "half_body", "count": 1})
	half, err := get(t.Context())
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NotEmpty(t, half)
	require.False(t, json.Valid(half))

	id := s.order("faults", fields{"kind": "hang"})["id"].(string)
	ended := make(chan error)
	hang := func(ctx context.Context, met int64) {
		go func() {
			_, err := get(ctx)
			ended <- err
		}()
		require.Eventually(t, func() bool { return s.faults.All()[1].Met == met }, time.Minute, time.Millisecond)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	hang(ctx, 1)
	giveUp()
	require.ErrorIs(t, <-ended, context.Canceled)
	hang(t.Context(), 2) // removing the fault releases a call that hangs
	require.Equal(t, 200, s.control(http.MethodDelete, "faults/"+id, nil).Code)
	require.Error(t, <-ended, "the connection is cut without an answer")
	require.Eventually(t, func() bool { return s.askLedger("answer", "-1").Totals.Inject == 3 }, time.Minute,
		time.Millisecond)
}

func TestFaults_LatencyDelaysAndCloseReleases(t *testing.T) {
	t.Parallel()
	c := newSim(t, Config{Accounts: 8})
	s, a := c.Simulator, c.account(clients[0], 0)
	c.order("faults", fields{"kind": "latency", "ms": 1})
	require.Equal(t, 0, code(t, c.ads(a)), "late, but right")
	require.EqualValues(t, 1, c.askLedger().Totals.Inject)
	c.order("faults", fields{"kind": "latency", "ms": 3_600_000, "media": clients[0]})
	require.Equal(t, 200, c.control(http.MethodDelete, "faults/f1", nil).Code)
	done := make(chan *httptest.ResponseRecorder)
	go func() { done <- c.ads(a) }()
	require.Eventually(t, func() bool { return s.faults.All()[0].Met == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, s.Close())
	require.Equal(t, 0, code(t, <-done))
}

// A platform counts a call on arrival, even if it is answered late or its caller has gone.
func TestFaults_LatencyCountsACallOnArrival(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{Accounts: 8}).unlimited()
	s.spec("tencent")
	s.order("limits",
		fields{"rules": []fields{{"media": "tencent", "endpoint": "adgroups/get", "scope": "app", "period_seconds": 60,
			"limit": 1}}})
	s.order("faults", fields{"kind": "latency", "ms": 3_600_000, "count": 1})
	a := s.account("tencent", 0)
	late := make(chan *httptest.ResponseRecorder)
	go func() { late <- s.tencentCall(a, "adgroups/get") }()
	require.Eventually(t, func() bool {
		app := s.credentials("tencent").AppID
		return s.sim.Limits.Left("tencent", "adgroups/get", app) == 0
	}, time.Minute, time.Millisecond)
	require.Equal(t, 11017, code(t, s.tencentCall(a, "adgroups/get")), "the limit is used up")
	require.Equal(t, 200, s.control(http.MethodDelete, "faults", nil).Code)
	require.Equal(t, 0, code(t, <-late))
}

func TestFaults_TokenDeath(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{Accounts: ofEach(200)}).unlimited()
	a, b := s.account("tencent", 0), s.account("tencent", 199)
	old := s.credentials("tencent").Logins[0]
	use := func(a *world.Account, token string) int {
		return code(t, s.do(s.tencentRequest(token, "adgroups/get", query("account_id", idText(a.ID)))))
	}
	s.order("faults", fields{"kind": "token_death", "media": "tencent", "account": idText(a.ID)})
	require.Equal(t, 11000, use(a, old.AccessToken))
	require.Equal(t, 0, use(b, s.token(b)), "another login is not affected")
	d := data(t, s.tencentOAuth("grant_type", "refresh_token", "refresh_token", old.RefreshToken))
	require.Equal(t, 0, use(a, d["access_token"].(string)), "a refresh fixes it")

	oce := s.credentials("oceanengine").Logins[0]
	s.order("faults", fields{"kind": "token_death", "media": "oceanengine", "token": "pair"})
	require.Equal(t, 40104, code(t, s.do(s.oceanRequest(oce.AccessToken, "v3.0/promotion/list/", nil))))
	require.Equal(t, 40107, code(t, s.oceanOAuth("refresh_token", fields{"refresh_token": oce.RefreshToken})))
	c := s.order("codes", fields{"media": "oceanengine", "login": "oceanengine-login-1"})["code"]
	data(t, s.oceanOAuth("access_token", fields{"auth_code": c}))
}

func TestFaults_RefuseInvalidOrders(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	for name, order := range map[string]any{
		"no kind":                   fields{},
		"an unknown kind":           fields{"kind": "meteor"},
		"latency without ms":        fields{"kind": "latency"},
		"a status that is none":     fields{"kind": "status", "status": 404},
		"an unknown platform":       fields{"kind": "hang", "media": "x"},
		"a mistyped selector":       fields{"kind": "hang", "endpiont": "x"},
		"an alteration's selector":  fields{"kind": "hang", "level": "ad"},
		"a death without a medium":  fields{"kind": "token_death"},
		"a death of a strange kind": fields{"kind": "token_death", "media": "tencent", "token": "soul"},
		"a death of nobody":         fields{"kind": "token_death", "media": "tencent", "account": "1"},
		"a negative count":          fields{"kind": "hang", "count": -1},
		"a field of every platform": fields{"kind": "retire_field", "field": "cost"},
		"no field to add":           fields{"kind": "add_field", "media": "tencent"},
		"a field of a pause":        fields{"kind": "hang", "field": "cost"},
		"an alteration for once":    fields{"kind": "alter", "what": "value", "once": true},
		"a new field for once":      fields{"kind": "add_field", "media": "tencent", "field": "x", "once": true},
		"something else":            "hang",
	} {
		w := s.control(http.MethodPost, "faults", order)
		require.Equal(t, 400, w.Code, "%s: %s", name, w.Body)
	}
	require.Equal(t, 400, s.do(httptest.NewRequest(http.MethodPost, "/_sim/faults", nil)).Code)
	require.Empty(t, s.faults.All())
}

func TestFaults_LostRow(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{Accounts: 40}).unlimited()
	for _, name := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := s.account(name, 0)
			ask := func() (rows, total int) {
				var answer struct {
					Data struct {
						List     []json.RawMessage `json:"list"`
						PageInfo struct {
							TotalNumber int `json:"total_number"`
							TotalNum    int `json:"total_num"`
						} `json:"page_info"`
					} `json:"data"`
				}
				w := s.ads(a)
				require.Equal(t, 0, code(t, w))
				require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
				return len(answer.Data.List), max(answer.Data.PageInfo.TotalNumber, answer.Data.PageInfo.TotalNum)
			}
			before, all := ask()
			require.Positive(t, before)
			s.order("faults", fields{"kind": "lost_row", "count": 1, "media": name})
			rows, total := ask()
			require.Equal(t, before-1, rows)
			require.Equal(t, all, total, "the total counts it")
			rows, _ = ask()
			require.Equal(t, before, rows)
		})
	}
}

func TestFaults_WaitForAnAnswerThatTheyCanChange(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{Accounts: 40}).unlimited()
	a := s.account("tencent", 0)
	rows := func(from, to string) int {
		w := s.tencentCall(a, "daily_reports/get", "level", "REPORT_LEVEL_ADVERTISER", "group_by", `["date"]`, "fields",
			`["date","cost"]`,
			"date_range", jsonText(map[string]string{"start_date": from, "end_date": to}))
		require.Equal(t, 0, code(t, w))
		return len(data(t, w)["list"].([]any))
	}
	met := func() int64 { return s.faults.All()[0].Met }
	all := rows("2026-11-08", "2026-11-14")
	require.Positive(t, all)
	s.order("faults", fields{"kind": "lost_row", "media": "tencent", "once": true})
	require.Zero(t, rows("2027-01-01", "2027-01-02"), "future days have no rows")
	require.NotZero(t, code(t, s.tencentCall(a, "daily_reports/get")))
	require.Zero(t, met())

	require.Equal(t, all-1, rows("2026-11-08", "2026-11-14"))
	require.Equal(t, all, rows("2026-11-08", "2026-11-14"), "a repeated query gets the right answer")
	require.Equal(t, all-2, rows("2026-11-08", "2026-11-13"), "another query")
	require.EqualValues(t, 2, met())
}

// oceanWeek returns a week's report of an account, with its sums.
func (s *sim) oceanWeek(t *testing.T, a *world.Account) fields {
	t.Helper()
	return data(t, s.oceanCall(a, "v3.0/report/custom/get/", "dimensions", `["stat_time_day"]`, "metrics",
		`["stat_cost","show_cnt"]`, "filters", "[]",
		"order_by", `[{"field":"stat_time_day","type":"ASC"}]`, "start_time", "2026-11-08 00:00:00", "end_time",
		"2026-11-14 23:59:59"))
}

func TestFaults_WrongSumLeavesTheRowsAndTheMoney(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	a := s.account("oceanengine", 0)
	ask := func() fields { return s.oceanWeek(t, a) }
	before := ask()
	s.order("faults", fields{"kind": "wrong_sum", "count": 1, "media": "oceanengine"})
	lied := ask()
	require.Equal(t, before["rows"], lied["rows"])
	was, is := before["total_metrics"].(fields), lied["total_metrics"].(fields)
	require.Equal(t, was["stat_cost"], is["stat_cost"])
	shown, err := strconv.Atoi(was["show_cnt"].(string))
	require.NoError(t, err)
	require.Positive(t, shown)
	require.Equal(t, strconv.Itoa(shown+1), is["show_cnt"])
	require.Equal(t, before, ask())
}

func TestFaults_WrongRowLeavesTheSums(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	a := s.account("oceanengine", 0)
	ask := func() fields { return s.oceanWeek(t, a) }
	first := func(d fields) fields { return d["rows"].([]any)[0].(fields)["metrics"].(fields) }
	before := ask()
	s.order("faults", fields{"kind": "wrong_row", "count": 1, "media": "oceanengine"})
	lied := ask()
	require.Equal(t, before["total_metrics"], lied["total_metrics"])
	require.Equal(t, before["rows"].([]any)[1:], lied["rows"].([]any)[1:])
	require.Equal(t, first(before)["stat_cost"], first(lied)["stat_cost"])
	shown, err := strconv.Atoi(first(before)["show_cnt"].(string))
	require.NoError(t, err)
	require.Positive(t, shown)
	require.Equal(t, strconv.Itoa(shown-1), first(lied)["show_cnt"])
	require.Equal(t, before, ask())
}

func TestFaults_AddAndRetireFieldsOfReports(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{Accounts: 40}).unlimited()
	ten, oce := s.account("tencent", 0), s.account("oceanengine", 0)
	day := map[string]string{"start_date": "2026-11-14", "end_date": "2026-11-14"}
	tencentAsk := func(a *world.Account, names ...string) *httptest.ResponseRecorder {
		return s.tencentCall(a, "daily_reports/get", "level", "REPORT_LEVEL_ADVERTISER", "group_by", `["date"]`, "date_range",
			jsonText(day), "fields", jsonText(names))
	}
	oceanAsk := func(names ...string) *httptest.ResponseRecorder {
		return s.oceanCall(oce, "v3.0/report/custom/get/", "dimensions", `["stat_time_day"]`, "metrics", jsonText(names),
			"filters", "[]",
			"order_by", `[{"field":"stat_time_day","type":"ASC"}]`, "start_time", "2026-11-14 00:00:00", "end_time",
			"2026-11-14 23:59:59")
	}
	require.Equal(t, 12009, code(t, tencentAsk(ten, "cost", "brand_new")))
	require.Equal(t, 40000, code(t, oceanAsk("stat_cost", "brand_new")))
	for _, name := range clients {
		s.order("faults", fields{"kind": "add_field", "media": name, "field": "brand_new"})
	}
	row := data(t, tencentAsk(ten, "brand_new", "valid_click_count"))["list"].([]any)[0].(fields)
	require.Equal(t, row["valid_click_count"], row["brand_new"])
	require.Len(t, row, 2)
	row = data(t, oceanAsk("brand_new", "click_cnt"))["rows"].([]any)[0].(fields)["metrics"].(fields)
	require.Equal(t, row["click_cnt"], row["brand_new"])

	s.order("faults", fields{"kind": "retire_field", "media": "tencent", "account": idText(ten.ID), "field": "reg_pv"})
	w := tencentAsk(ten, "cost", "reg_pv")
	require.Equal(t, 12009, code(t, w))
	require.Contains(t, w.Body.String(), "reg_pv")
	require.Equal(t, 0, code(t, tencentAsk(ten, "cost")))
	require.Equal(t, 0, code(t, tencentAsk(s.account("tencent", 1), "cost", "reg_pv")), "for another account")
	require.EqualValues(t, 1, s.faults.All()[2].Met)
	id := s.order("faults", fields{"kind": "retire_field", "media": "oceanengine", "field": "active"})["id"].(string)
	require.Equal(t, 40000, code(t, oceanAsk("stat_cost", "active")))
	require.Equal(t, 200, s.control(http.MethodDelete, "faults/"+id, nil).Code)
	require.Equal(t, 0, code(t, oceanAsk("stat_cost", "active")))
}
