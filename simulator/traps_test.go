package simulator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/fault"
	"adsync/simulator/fault/trap"
	"adsync/simulator/world"
)

// flowing returns a world with one trap whose clock runs from a moment of 2026-11-15.
func flowing(t *testing.T, trap string, hour, minute int) *sim {
	t.Helper()
	s := newSim(t, Config{Start: time.Date(2026, 11, 15, hour, minute, 0, 0, world.Zone)}).unlimited()
	s.set(trap)
	return s
}

// standing returns a world with one trap whose clock is frozen at noon.
func standing(t *testing.T, trap string) *sim {
	t.Helper()
	s := newSim(t, Config{}).unlimited()
	s.set(trap)
	return s
}

func (s *sim) set(trap string) {
	s.t.Helper()
	w := s.control(http.MethodPost, "traps", fields{"name": trap, "on": true})
	require.Equal(s.t, http.StatusOK, w.Code, "%s", w.Body)
}

func (s *sim) trap(name string) trap.Trap {
	s.t.Helper()
	var list []trap.Trap
	require.NoError(s.t, json.Unmarshal(s.control(http.MethodGet, "traps", nil).Body.Bytes(), &list))
	at := slices.IndexFunc(list, func(x trap.Trap) bool { return x.Name == name })
	require.GreaterOrEqual(s.t, at, 0, name)
	return list[at]
}

// promotionPage returns a page of the promotions of a large account, which has several pages.
func (s *sim) promotionPage(page string) (ids []string, total string) {
	s.t.Helper()
	d := data(s.t, s.oceanCall(s.account("oceanengine", 0), "v3.0/promotion/list/", "page", page, "page_size", "20",
		"fields", `["promotion_id"]`))
	for _, row := range d["list"].([]any) {
		ids = append(ids, row.(map[string]any)["promotion_id"].(json.Number).String())
	}
	return ids, d["page_info"].(map[string]any)["total_number"].(json.Number).String()
}

func TestTraps_AreListedByNameAndSwitched(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	var list []trap.Trap
	w := s.control(http.MethodGet, "traps", nil)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &list))
	require.Len(t, list, int(trap.Count)-3, "there are no odd days in China, and no giant")
	require.True(t, slices.IsSortedFunc(list, func(a, b trap.Trap) int { return strings.Compare(a.Name, b.Name) }))
	for i, x := range list {
		require.NotEmpty(t, x.Name)
		require.NotEmpty(t, x.What, x.Name)
		require.NotEmpty(t, x.Survived, x.Name)
		require.False(t, x.On, "a trap is off unless it is ordered: %s", x.Name)
		require.True(t, i == 0 || list[i-1].Name != x.Name, "%s is listed twice", x.Name)
	}
	s.set("page_short")
	require.True(t, s.trap("page_short").On)
	require.False(t, s.trap("page_empty").On)
	require.Equal(t, http.StatusOK, s.control(http.MethodPost, "traps", fields{"on": false}).Code)
	require.False(t, s.trap("page_short").On)
	for _, order := range []any{fields{"name": "page_short"}, fields{"name": "pit", "on": true},
		fields{"on": true, "of": "x"}} {
		require.Equal(t, http.StatusBadRequest, s.control(http.MethodPost, "traps", order).Code)
	}
	require.True(t, newSim(t, Config{Traps: true}).trap("page_short").On)
}

// In a world with traps from the start only the seed decides, and few queries meet one.
func TestTraps_AreRareAndSeeded(t *testing.T) {
	t.Parallel()
	met := func(seed int64) (accounts []int) {
		s := newSim(t, Config{Accounts: ofEach(800), Seed: seed, Traps: true}).unlimited()
		for i := range 800 {
			if w := s.oceanCall(s.account("oceanengine", i), "v3.0/project/list/"); !isGood(w.Body.Bytes()) {
				accounts = append(accounts, i)
			}
		}
		return accounts
	}
	one := met(1)
	require.NotEmpty(t, one)
	require.Less(t, len(one), 40)
	require.Equal(t, one, met(1))
	require.NotEqual(t, one, met(2))
}

func TestTraps_MovePagesOfAListOnce(t *testing.T) {
	t.Parallel()
	whole := newSim(t, Config{}).unlimited()
	first, total := whole.promotionPage("1")
	second, _ := whole.promotionPage("2")
	third, _ := whole.promotionPage("3")
	require.Len(t, third, 20, "the list is long enough")
	for name, test := range map[string]func(s *sim){
		"page_row_twice": func(s *sim) {
			ids, said := s.promotionPage("2")
			require.Equal(t, slices.Concat(first[19:], second[:19]), ids)
			require.Equal(t, total, said)
		},
		"page_row_lost": func(s *sim) {
			ids, said := s.promotionPage("2")
			require.Equal(t, slices.Concat(second[1:], third[:1]), ids)
			require.Equal(t, total, said)
		},
		"page_total_moved": func(s *sim) {
			ids, said := s.promotionPage("2")
			require.Equal(t, second, ids)
			require.NotEqual(t, total, said)
		},
		"page_short": func(s *sim) {
			ids, _ := s.promotionPage("1")
			require.Equal(t, first[:19], ids)
		},
		"page_empty": func(s *sim) {
			ids, said := s.promotionPage("1")
			require.Empty(t, ids)
			require.Equal(t, total, said)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := standing(t, name)
			test(s)
			require.EqualValues(t, 1, s.trap(name).Met)
			for page, want := range map[string][]string{"1": first, "2": second} {
				ids, said := s.promotionPage(page)
				require.Equal(t, want, ids, "a repeated query gets the right answer")
				require.Equal(t, total, said)
			}
			require.EqualValues(t, 1, s.trap(name).Met)
			require.Positive(t, s.askLedger().Totals.Inject)
		})
	}
}

// An empty page by cursor leads to the rows that it omitted, with another cursor than its own.
func TestTraps_EmptyPagesByCursorHaveANext(t *testing.T) {
	t.Parallel()
	s := standing(t, "page_empty")
	a := s.account("tencent", 0)
	ask := func(cursor string) (rows int, next string) {
		d := data(t, s.tencentCall(a, "adgroups/get", "pagination_mode", "PAGINATION_MODE_CURSOR", "page_size", "100",
			"cursor", cursor))
		return len(d["list"].([]any)), d["cursor_page_info"].(map[string]any)["next_cursor"].(string)
	}
	rows, next := ask("")
	require.Zero(t, rows)
	require.NotEmpty(t, next)
	again, _ := ask(next)
	all, _ := ask("")
	require.Positive(t, all)
	require.Equal(t, all, again)

	s = standing(t, "page_empty")
	a = s.account("oceanengine", 0)
	ocean := func(cursor string) (list []any, info map[string]any) {
		d := data(t, s.oceanCall(a, "v3.0/promotion/list/", "cursor", cursor, "count", "20", "fields", `["promotion_id"]`))
		return d["list"].([]any), d["cursor_info"].(map[string]any)
	}
	list, info := ocean("0")
	require.Empty(t, list)
	require.Equal(t, true, info["has_more"])
	list, _ = ocean(info["cursor"].(json.Number).String())
	want, _ := ocean("0")
	require.Equal(t, want, list)
	require.EqualValues(t, 1, s.trap("page_empty").Met)
}

func TestTraps_DisturbAQueryOnce(t *testing.T) {
	t.Parallel()
	for name, spoilt := range map[string]func(t *testing.T, w *httptest.ResponseRecorder, media string){
		"answer_html": func(t *testing.T, w *httptest.ResponseRecorder, _ string) {
			t.Helper()
			require.Equal(t, http.StatusOK, w.Code)
			require.False(t, json.Valid(w.Body.Bytes()))
		},
		"answer_unknown_code": func(t *testing.T, w *httptest.ResponseRecorder, _ string) {
			t.Helper()
			require.Equal(t, fault.UnknownCode, code(t, w))
		},
		"account_over_limit": func(t *testing.T, w *httptest.ResponseRecorder, media string) {
			t.Helper()
			require.Equal(t, map[string]int{"tencent": 11019, "oceanengine": 40130}[media], code(t, w))
		},
		"app_over_limit": func(t *testing.T, w *httptest.ResponseRecorder, media string) {
			t.Helper()
			require.Equal(t, map[string]int{"tencent": 11016, "oceanengine": 40110}[media], code(t, w))
		},
		"platform_busy": func(t *testing.T, w *httptest.ResponseRecorder, media string) {
			t.Helper()
			require.Equal(t, map[string]int{"tencent": 30021, "oceanengine": 40100}[media], code(t, w))
		},
	} {
		for _, media := range clients {
			t.Run(name+" of "+media, func(t *testing.T) {
				t.Parallel()
				s := flowing(t, name, 12, 1)
				a := s.account(media, 0)
				ask := func() *httptest.ResponseRecorder { return s.ads(a) }
				spoilt(t, ask(), media)
				require.Equal(t, 0, code(t, ask()))
				require.EqualValues(t, 1, s.trap(name).Met)
				require.EqualValues(t, 1, s.askLedger().Totals.Inject)
				require.Zero(t, s.askLedger().Totals.Refused, "the client kept to its limits")
			})
		}
	}
}

func TestTraps_ShutAnEndpointForAWhileOfTheWorld(t *testing.T) {
	t.Parallel()
	s := flowing(t, "endpoint_shut", 12, 0)
	a, b := s.account("oceanengine", 0), s.account("oceanengine", 1)
	require.NoError(t, s.sim.Clock.SetSpeed(100))
	w := s.oceanCall(a, "v3.0/promotion/list/")
	require.Equal(t, 40110, code(t, w))
	require.Equal(t, "4", w.Header().Get("X-RateLimit-RetryIn"), "five minutes of a world at 100 times real time")
	require.Equal(t, 40110, code(t, s.oceanCall(b, "v3.0/promotion/list/")), "it is shut for the app")
	require.Equal(t, 0, code(t, s.oceanCall(a, "v3.0/project/list/")), "other endpoints are open")
	require.NoError(t, s.sim.Clock.Set(s.sim.Clock.Now().Add(5*time.Minute)))
	require.Equal(t, 0, code(t, s.oceanCall(a, "v3.0/promotion/list/")))

	s = flowing(t, "endpoint_shut", 12, 0)
	a = s.account("tencent", 0)
	require.Equal(t, 11017, code(t, s.tencentCall(a, "adgroups/get")))
	require.NoError(t, s.sim.Clock.Freeze())
	require.Equal(t, 0, code(t, s.tencentCall(a, "adgroups/get")), "a frozen clock would never open it")

	s = flowing(t, "reports_shut", 12, 0)
	a = s.account("tencent", 0)
	ask := func() int {
		return code(t, s.tencentCall(a, "daily_reports/get", "level", "REPORT_LEVEL_ADVERTISER", "group_by", `["date"]`,
			"fields", `["date","cost"]`,
			"date_range", `{"start_date":"2026-11-15","end_date":"2026-11-15"}`))
	}
	require.Equal(t, 0, code(t, s.tencentCall(a, "adgroups/get")), "lists are not reports")
	require.Equal(t, 51001, ask())
	require.Equal(t, 51001, ask())
	require.NoError(t, s.sim.Clock.Set(s.sim.Clock.Now().Add(20*time.Second)))
	require.Equal(t, 0, ask())
	require.EqualValues(t, 1, s.trap("reports_shut").Met)
}

func TestTraps_EndTokensAndCutRefreshes(t *testing.T) {
	t.Parallel()
	s := standing(t, "token_ended")
	a := s.account("tencent", 0)
	require.Equal(t, 11000, code(t, s.tencentCall(a, "adgroups/get")))
	login := s.credentials("tencent").Logins[0]
	data(t, s.tencentOAuth("grant_type", "refresh_token", "refresh_token", login.RefreshToken))
	require.Equal(t, 0, code(t, s.tencentCall(a, "adgroups/get")), "a refresh fixes it")

	s = standing(t, "refresh_cut")
	login = s.credentials("tencent").Logins[0]
	before := s.sim.Vault.All()[0].Access
	require.PanicsWithError(t, http.ErrAbortHandler.Error(), func() {
		s.tencentOAuth("grant_type", "refresh_token", "refresh_token", login.RefreshToken)
	})
	require.NotEqual(t, before, s.sim.Vault.All()[0].Access, "only the answer was lost")
	data(t, s.tencentOAuth("grant_type", "refresh_token", "refresh_token", login.RefreshToken))
	require.EqualValues(t, 1, s.trap("refresh_cut").Met)
}
