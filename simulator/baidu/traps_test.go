package baidu_test

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/baidu"
	"adsync/simulator/fault/trap"
	"adsync/simulator/simtest"
)

// unmet are traps that no call of this platform can meet: pages reach all rows, a report has all of its rows, and all
// days are China's.
var unmet = []trap.ID{trap.BeyondPages, trap.RowsOverCap, trap.OddDay}

func TestTraps_AllStrike(t *testing.T) {
	t.Parallel()
	simtest.Traps(t, baidu.New, unmet, func(t *testing.T, x *simtest.Sim, id trap.ID) {
		t.Helper()
		s := &sim{x, t}
		a, b := s.Account(0), s.Account(3)
		var campaigns []any
		for _, x := range a.Projects(s.Now()) {
			campaigns = append(campaigns, x.ID)
		}
		s.Assume("task_polls", 0)
		both := with(week, "startDate", "2026-11-14", "endDate", "2026-11-15", "rowCount", 20, "columns",
			[]string{"date", "cost", "impression", "registerUv", "consumeUv", "retentions", "ocpcDeepTargetTrans"})
		for page := range 3 {
			s.call(a, getReport, with(both, "startRow", page*20))
			s.call(a, getReport, with(both, "startRow", page*20, "timeUnit", "HOUR"))
			s.call(a, getReport, with(both, "startRow", page*20, "timeUnit", "HOUR", "reportType", 2149145))
			path, body := s.ask(false, 1, 1, campaigns, "adgroupFeedFields", []string{"adgroupFeedId", "status", "bid",
				"adgroupFeedName"})
			s.call(a, path, body)
			s.call(a, feed+"VideoFeedService/getVideoFeed", fields{"page": page + 1, "pageSize": 500})
		}
		s.manage(getReport, with(both, "userIds", []int64{a.ID, b.ID}))
		w := s.call(a, createTask, with(both, "startDate", "2026-10-01"))
		if data, ok := simtest.Decoded(t, w)["body"].(fields)["data"].([]any); ok && len(data) == 1 {
			for _, x := range rows(t, s.call(a, getTask, fields{"taskId": data[0].(fields)["taskId"]})) {
				s.get(x["fileUrl"])
			}
		}
		simtest.Refresh(t, id, func() {
			s.oauth("refreshToken", fields{"refreshToken": s.Credentials().Logins[0].RefreshToken})
		})
	})
}

// A trap that a query of several accounts meets changes the figures of one of them, and on the pages after the first no
// other account's: what it changed is recorded.
func TestTraps_OfAJointQueryAreOfOneAccount(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	s.Order("clock", fields{"now": time.Date(2026, 11, 15, 4, 10, 0, 0, time.UTC), "speed": 1, "frozen": false})
	a, b := s.Account(0), s.Account(3)
	hours := with(week, "startDate", "2026-11-15", "endDate", "2026-11-15", "timeUnit", "HOUR", "userIds",
		[]int64{a.ID, b.ID}, "rowCount", 20)
	read := func() map[any]int64 {
		costs := map[any]int64{}
		for start := 0; ; start += 20 {
			d := reported(t, s.manage(getReport, with(hours, "startRow", start)))
			for _, row := range d["rows"].([]any) {
				x := row.(fields)
				cost, err := x["cost"].(json.Number).Float64()
				require.NoError(t, err)
				costs[x["userId"]] += int64(math.Round(cost * 100))
			}
			if int64(start+20) >= simtest.Number(t, d, "totalRowCount") {
				require.Positive(t, start, "there are several pages")
				return costs
			}
		}
	}
	s.Order("traps", fields{"name": "hour_late", "on": true})
	late, whole := read(), read()
	require.Len(t, whole, 2)
	changed := 0
	for user, cost := range whole {
		if late[user] != cost {
			changed++
		}
	}
	require.Equal(t, 1, changed, "%v, and then %v", late, whole)
}

func TestFaults_AReportLosesARow(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	all := len(s.report(a, week))
	s.Order("faults", fields{"kind": "lost_row", "media": "baidu", "count": 1})
	w := s.call(a, adgroups, fields{"adgroupFeedFields": []string{"adgroupFeedId"}, "idType": 1,
		"ids": []int64{a.Projects(s.Now())[0].ID}})
	require.Zero(t, code(t, w), "a list has no total that would show the loss")
	d := reported(t, s.call(a, getReport, week))
	require.Len(t, d["rows"], all-1)
	require.Equal(t, int64(all), simtest.Number(t, d, "totalRowCount"))
	require.Len(t, s.report(a, week), all)
}

func TestNight_OrdersAreAccepted(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	for _, x := range baidu.New().Night().Events {
		if x.Order != nil {
			x.Order["media"] = "baidu"
			s.Order("faults", x.Order)
		}
	}
	r, err := baidu.New().CheapCall(t.Context(), "http://127.0.0.1", s.Token(s.Account(0)))
	require.NoError(t, err)
	require.Equal(t, int64(8406), code(t, s.Do(r)), "it counts, and is refused")
}

func TestWorld_HasTextsAndNoBudgets(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	lines := s.Do(httptest.NewRequest(http.MethodGet, "/_sim/truth?media=baidu&kind=creative&account="+
		simtest.Text(s.busy(true).ID), nil)).Body.String()
	require.Contains(t, lines, `"kind":"text","assets":null`)
	require.NotContains(t, lines, `"kind":"video"`)
	alter := func(field string) int {
		return s.Do(httptest.NewRequest(http.MethodPost, "/_sim/faults", strings.NewReader(simtest.JSON(fields{
			"kind": "alter", "what": "value", "seed": 1, "media": "baidu", "field": field})))).Code
	}
	require.Equal(t, http.StatusBadRequest, alter("budget"))
	require.Equal(t, http.StatusCreated, alter("bid"))
}

func TestTruth_DeletedObjectsAreInNoList(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	for _, kind := range []string{"adgroup", "creative"} {
		lines := s.Do(httptest.NewRequest(http.MethodGet, "/_sim/truth?media=baidu&kind="+kind, nil)).Body.String()
		require.Contains(t, lines, `"deleted":true`)
		for line := range strings.Lines(lines) {
			require.Equal(t, strings.Contains(line, `"deleted":true`), strings.Contains(line, `"unlisted":true`), line)
		}
	}
}
