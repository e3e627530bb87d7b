package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"adsync/base/store/ledger"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/task"
)

type holes struct {
	Holes, Subtasks, Waiting, Ordered int
	Calls                             *int64 `json:"estimated_calls"`
	Seconds                           *int64 `json:"estimated_seconds"`
	Tasks                             []struct {
		Task, Media, Report, Level, From, To        string
		Holes, Subtasks, Accounts, Waiting, Ordered int
		RunIDs                                      []string `json:"run_ids"`
	}
}

func TestHoles_AreListedAndOrdered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.store.SeedTasks(t.Context(), []settings.NewTask{
		{Name: "tulip.back", Media: "tulip", Handler: "tulip.report_daily", Cron: "@daily", Lane: "offline", Scope: "all",
			Params: `{"level":"account","days":4}`},
	})
	require.NoError(t, err)
	account := b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	b.account("tulip", "9002", "active", "Asia/Shanghai", "revoked")
	b.addCoverage(account, "report_daily", "account", "2026-11-19", results.Complete, nil)
	err = b.store.Data.Writer(t.Context()).Exec("UPDATE coverage SET run_id = ?", task.FirstRunIDAt(now)).Error
	require.NoError(t, err)

	var got holes
	decode(t, b.get("/api/v1/coverage/holes"), &got)
	require.Equal(t, []int{2, 2, 0, 0}, []int{got.Holes, got.Subtasks, got.Waiting, got.Ordered})
	require.Nil(t, got.Calls, "the cost of the task is unknown")
	require.Len(t, got.Tasks, 1)
	require.Equal(t, "tulip.back 2026-11-18 2026-11-20", got.Tasks[0].Task+" "+got.Tasks[0].From+" "+got.Tasks[0].To)
	decode(t, b.get("/api/v1/coverage/holes?media=orchid"), &got)
	require.Zero(t, got.Holes)
	require.Zero(t, *got.Calls, "without subtasks there are no calls")
	require.Zero(t, b.count(b.store.Data, "manual_order"))

	w := b.post("/api/v1/coverage/fill", `{"media":"tulip","max_subtasks":1}`)
	require.Equal(t, http.StatusAccepted, w.Code, w.Body.String())
	decode(t, w.Body.String(), &got)
	require.Equal(t, 1, got.Ordered)
	require.Equal(t, "2026-11-18", orderOf(t, b).Request.From.String(), "the older day")
	require.Equal(t, task.Order{Accounts: []int64{account}, From: "2026-11-18", To: "2026-11-18", By: "otto"},
		orderOf(t, b).Request)
	require.Equal(t, []string{id(orderOf(t, b).RunID)}, got.Tasks[0].RunIDs)
	require.Equal(t, 1, b.producer.woken)
	require.Equal(t, 1, b.count(b.store.Config, "audit_log"))
	require.Equal(t, http.StatusOK, b.post("/api/v1/coverage/fill", `{"media":"orchid"}`).Code)
	require.Equal(t, 1, b.count(b.store.Config, "audit_log"), "nothing was ordered")

	looks := 0
	err = b.store.Data.Writer(t.Context()).Callback().Row().Before("gorm:row").Register("looks", func(tx *gorm.DB) {
		if strings.Contains(tx.Statement.SQL.String(), "FROM manual_order WHERE taken = 0") {
			looks++
		}
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, b.post("/api/v1/coverage/fill", `{"media":"tulip","max_subtasks":1}`).Code)
	require.Equal(t, 1, looks, "an order looks for holes once")
	require.Equal(t, 2, b.count(b.store.Config, "audit_log"))
	require.Contains(t, b.audit()[0].After, `"ordered":1`)
	require.NoError(t, b.store.Data.Writer(t.Context()).Callback().Row().Remove("looks"))

	decode(t, b.get("/api/v1/coverage/holes"), &got)
	require.Equal(t, []int{0, 2}, []int{got.Holes, got.Waiting})
}

func TestHoles_OfOnePlatformAreOrderedWhenAnotherFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var tasks []settings.NewTask
	for _, name := range []string{"tulip", "orchid"} {
		tasks = append(tasks, settings.NewTask{
			Name: name + ".back", Media: name, Handler: name + ".report_daily", Cron: "@daily", Lane: "offline", Scope: "all",
			Params: `{"level":"account","days":2}`,
		})
	}
	_, err := b.store.SeedTasks(t.Context(), tasks)
	require.NoError(t, err)
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	var broken int64
	require.NoError(t,
		b.store.Config.Writer(t.Context()).Raw("SELECT id FROM cron_task WHERE name = 'orchid.back'").Row().Scan(&broken))
	b.addRun(ledger.Run{ID: task.FirstRunIDAt(now), TaskID: broken, State: task.RunRunning, PlannedAt: now,
		CreatedAt: now})
	require.NoError(t, b.store.Data.Writer(t.Context()).Exec("UPDATE run SET settings = 'no JSON'").Error)

	require.Equal(t, http.StatusInternalServerError, b.post("/api/v1/coverage/fill", `{"scope":"all"}`).Code)
	require.Equal(t, 1, b.producer.woken, "the order does not wait for the next round")
	entry := b.audit()[0]
	require.Contains(t, entry.After, `"run_ids":["`+id(orderOf(t, b).RunID)+`"]`)
	require.Contains(t, entry.Error, "its outcome is unknown: see request")
}

func orderOf(t *testing.T, b *bench) ledger.RunOrder {
	t.Helper()
	orders, err := b.store.OpenOrders(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, orders, 1)
	return orders[0]
}

func TestHoles_RefuseWrongParameters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, []fieldError{{Field: "media", Detail: `"facebook" is refused: want tulip or orchid`}},
		b.refused(http.MethodGet, "/api/v1/coverage/holes?media=facebook", ""))
	require.Equal(t, []fieldError{{Field: "max_subtasks", Detail: `-1 is refused: want 1 to 100000, or none for 2000`}},
		b.refused(http.MethodPost, "/api/v1/coverage/fill", `{"scope":"all","max_subtasks":-1}`))
	require.Equal(t, http.StatusForbidden, b.call(http.MethodPost, "/api/v1/coverage/fill", "{}", viewerToken).Code)
}
