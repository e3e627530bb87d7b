package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/httpapi"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/base/telemetry"
	"adsync/client"
	"adsync/media"
	"adsync/media/mediatest/invented"
	"adsync/media/pull"
	"adsync/producer"
	"adsync/producer/api"
)

// leader is a producer with one task, which makes the run of an order at once, and whose run succeeds at once.
type leader struct {
	t     *testing.T
	store *store.Store
}

const taskName = "tulip.report_daily.account"

func (*leader) Tasks() []producer.Task {
	return []producer.Task{{Usable: true, Task: task.Task{
		ID: 1, Name: taskName, Media: invented.Tulip, Handler: "tulip.report_daily", Timezone: "UTC", Enabled: true,
		Settings: task.Settings{Lane: "normal", Scope: "active", Params: json.RawMessage(`{"level": "account", "days": 1}`)},
	}}}
}

func (*leader) Reload(context.Context) error { return nil }

func (*leader) CheckTask(context.Context, int64, []settings.TaskRow, []settings.Lane) ([]*config.FieldError, error) {
	return nil, nil
}

func (l *leader) Wake() {
	now := sqldb.At(time.Now())
	err := l.store.Data.Writer(l.t.Context()).Exec(`INSERT INTO run (id, task_id, task_name, media, handler, lane,
  task_revision, settings, kind, planned_at, state, epoch, total, succeeded, created_at, fanned_out_at, ended_at)
SELECT run_id, task_id, ?, 'tulip', 'tulip.report_daily', 'normal', 1, '{}', 'order', ?, 'succeeded', 1, 3, 3, ?, ?, ?
FROM manual_order`,
		taskName, now, now, now, now).Error
	require.NoError(l.t, err)
}

// The example runs against the true routes.
func TestExample_PullsDaysAgain(t *testing.T) {
	t.Parallel()
	l := &leader{t, storetest.New(t)}
	err := l.store.Config.Writer(t.Context()).Exec(
		"INSERT INTO media_account (media, external_id, name, token_id, tier, timezone) " +
			"VALUES ('tulip', '9001', 'shop', 1, 'active', 'UTC')").Error
	require.NoError(t, err)
	platform := invented.New()
	handlers := media.NewRegistry(pull.Handlers(platform, pull.Deps{Registerer: prometheus.NewRegistry()})...)
	server, err := httpapi.New(httpapi.DefaultConfig(), telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	server.Register(api.Routes(api.Deps{
		Store: l.store, Now: l.store.Data.Now, Producer: l, Registry: handlers, Platforms: []media.Platform{platform},
		Clock: clock.System{},
	})...)
	require.NoError(t, server.Gate().Start(t.Context()))
	listening := httptest.NewServer(server.Handler())
	t.Cleanup(listening.Close)

	var out bytes.Buffer
	yesterday := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	order := client.OrderRequest{Accounts: []string{"9001"}, From: yesterday, To: yesterday}
	require.NoError(t, pullDays(t.Context(), client.New(listening.URL, ""), taskName, order, &out))
	require.Equal(t, taskName+": 1 subtasks\n"+taskName+": 3 succeeded\n", out.String())

	order.Accounts = []string{"9002"}
	err = pullDays(t.Context(), client.New(listening.URL, ""), taskName, order, &out)
	var problem *client.Problem
	require.ErrorAs(t, err, &problem)
	require.Equal(t, []client.FieldError{{Field: "accounts", Detail: `"9002" is not a known account of tulip`}},
		problem.Errors)
}
