package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/client"
)

const (
	lanesPath  = "/api/v1/lanes"
	normalLane = lanesPath + "/*/normal"
	tulipLane  = lanesPath + "/tulip/normal"
)

func (b *bench) lane(method, path, body string) (l client.Lane) {
	b.t.Helper()
	w := b.call(method, path, body, adminToken)
	require.Equal(b.t, http.StatusOK, w.Code, w.Body.String())
	decode(b.t, w.Body.String(), &l)
	return l
}

func TestLanes_AreShownWithTheirTasks(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	var list client.LaneList
	decode(t, b.get(lanesPath), &list)
	require.Len(t, list.Lanes, 5)
	normal := client.Lane{
		Media: "*", Name: "normal", PoolSize: 32, InForce: client.LaneRule{BacklogMax: 50_000, LateSeconds: 600,
			Importance: 20},
		Tasks: []string{"tulip.report_daily.account"},
	}
	require.Equal(t, normal, list.Lanes[1])
	require.Equal(t, normal, b.lane(http.MethodGet, normalLane, ""))
	for _, path := range []string{tulipLane, lanesPath + "/*/Normal"} {
		w := b.call(http.MethodGet, path, "", viewerToken)
		require.Equal(t, http.StatusNotFound, w.Code)
		require.Contains(t, b.problem(w).Detail, "want one in the list of lanes")
	}
}

func TestLane_IsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	made := b.lane(http.MethodPut, tulipLane, `{"pool_size": 7, "workers_max": 2, "importance": 25}`)
	require.Equal(t, client.Lane{
		Media: "tulip", Name: "normal", PoolSize: 7, WorkersMax: 2, Importance: 25,
		InForce: client.LaneRule{BacklogMax: 50_000, LateSeconds: 600, Importance: 25},
		Tasks:   []string{"tulip.report_daily.account"},
	}, made)
	require.Empty(t, b.lane(http.MethodGet, normalLane, "").Tasks, "they now use the platform's own lane")
	require.EqualValues(t, 9, b.lane(http.MethodPut, tulipLane, `{"pool_size": 9}`).PoolSize)
	same := b.lane(http.MethodPut, tulipLane, `{}`)
	require.EqualValues(t, 25, same.Importance, "a field that is left out stays")
	require.EqualValues(t, 9, b.lane(http.MethodDelete, tulipLane, "").PoolSize)
	const others = `,"partitions":0,"backlog_max":0,"late_seconds":0,"importance":25,"workers_max":2}`
	require.Equal(t, []string{
		`ada lane.put lane/tulip/normal  > {"pool_size":7` + others,
		`ada lane.put lane/tulip/normal {"pool_size":7} > {"pool_size":9}`,
		`ada lane.delete lane/tulip/normal {"pool_size":9` + others + ` >`,
	}, b.auditText())
	require.Equal(t, http.StatusNotFound, b.call(http.MethodDelete, tulipLane, "", adminToken).Code)
}

func TestLane_ThatASubscriptionNamesIsNotDeleted(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	b.put(depotPath, `{"kind": "dir", "address": "/srv"}`)
	b.put(spendPath, with(`{"lane": "large_files"}`))
	const path = lanesPath + "/system/large_files"
	require.Contains(t, b.conflict(http.MethodDelete, path, ""), "Subscriptions use this lane: spend.")
	b.put(lanesPath+"/*/large_files", `{"pool_size": 1}`)
	b.put(path, `{"pool_size": 1}`)
	require.Equal(t, http.StatusOK, b.call(http.MethodDelete, path, "", adminToken).Code, "the one of all platforms stays")
	require.Contains(t, b.conflict(http.MethodDelete, lanesPath+"/*/large_files", ""), "Subscriptions use this lane")
}

// No consumer reads the messages of a lane without a row.
func TestLane_ThatIsInUseIsNotDeleted(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	w := b.call(http.MethodDelete, normalLane, "", adminToken)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Equal(t,
		"Tasks use this lane: tulip.report_daily.account. Give them another lane first, or delete them.",
		b.problem(w).Detail)

	b.addRun(ledger.Run{ID: 100, TaskID: 1, TaskName: "t", State: task.RunRunning, Total: new(int64(5)),
		Settings: task.Settings{Lane: "offline"}, PlannedAt: now, CreatedAt: now})
	offline := lanesPath + "/*/offline"
	w = b.call(http.MethodDelete, offline, "", adminToken)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Equal(t, "The run 100 of the task t uses this lane and is still open: wait for its end, or cancel it.",
		b.problem(w).Detail)
	b.lane(http.MethodPut, lanesPath+"/tulip/offline", `{"pool_size": 1}`)
	b.lane(http.MethodDelete, offline, "")
	w = b.call(http.MethodDelete, lanesPath+"/tulip/offline", "", adminToken)
	require.Equal(t, http.StatusConflict, w.Code, "the run has no other lane now")
	require.Len(t, b.auditText(), 2)
}

func TestLane_ARefusalNamesEachWrongField(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	for _, test := range []struct {
		path, body string
		want       []fieldError
	}{
		{lanesPath + "/nowhere/Fast", `{"pool_size": 1}`, []fieldError{
			{Field: "media", Detail: `"nowhere" is refused: want one of *, system, tulip`},
			{Field: "lane",
				Detail: `"Fast" is refused: want up to 32 lower-case letters, digits, dashes and underscores, a letter first`},
		}},
		{tulipLane, `{"pool_size": -1, "workers_max": 100001, "partitions": 10001, "backlog_max": -1, "late_seconds": 2678401,
			"importance": 1001}`,
			[]fieldError{
				{Field: "pool_size", Detail: "-1 is refused: want 0 to 100000"},
				{Field: "workers_max", Detail: "100001 is refused: want 0 to 100000"},
				{Field: "partitions", Detail: "10001 is refused: want 0 to 10000"},
				{Field: "backlog_max", Detail: "-1 is refused: want 0 to 9007199254740992"},
				{Field: "late_seconds", Detail: "2678401 is refused: want 0 to 2678400"},
				{Field: "importance", Detail: "1001 is refused: want 0 to 1000"},
			}},
		{tulipLane, `{"importance": 5}`, []fieldError{{Field: "pool_size",
			Detail: "is missing: want how many subtasks of the new lane one consumer does at a time"}}},
	} {
		require.Equal(t, test.want, b.refused(http.MethodPut, test.path, test.body), test.body)
	}
	require.Empty(t, b.auditText())
}
