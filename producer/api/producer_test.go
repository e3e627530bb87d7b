package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/store/settings"
	"adsync/producer"
)

// memoryBroker stores the messages that are sent.
type memoryBroker struct {
	mu   sync.Mutex
	sent []broker.Message
}

func (m *memoryBroker) Write(_ context.Context, messages []broker.Message) ([]broker.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	positions := make([]broker.Position, len(messages))
	for i, message := range messages {
		m.sent = append(m.sent, message)
		positions[i] = broker.Position{Topic: message.Topic, Offset: int64(len(m.sent) - 1)}
	}
	return positions, nil
}

func (*memoryBroker) EnsureTopics(context.Context, []broker.Topic) error { return nil }

func (*memoryBroker) TopicName(media, lane string) string { return media + "." + lane }

func (*memoryBroker) OutcomesTopic() string { return "outcomes" }

func (*memoryBroker) GroupName(media, lane string) string { return media + "." + lane }

func (*memoryBroker) Offsets(context.Context, string, ...string) ([]broker.PartitionOffsets, error) {
	return nil, broker.ErrUnknownTopic
}

// setupLive returns a bench over a real producer, with one task and two accounts. The task's next tick is far away.
func setupLive(t *testing.T) *bench {
	t.Helper()
	b := setup(t)
	handlers := registry(b.store)
	_, err := b.store.SeedTasks(t.Context(), []settings.NewTask{
		{Name: "tulip.report_daily.account", Media: "tulip", Handler: "tulip.report_daily", Cron: "0 0 1 1 *",
			Timezone: "Asia/Shanghai", Params: `{"level":"account"}`},
	})
	require.NoError(t, err)
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	b.account("tulip", "9002", "active", "Asia/Shanghai", "")
	b.topics = &memoryBroker{}
	b.another = func() *producer.Producer {
		p, err := producer.New(producer.DefaultConfig(), producer.Deps{
			Store: b.store, Registry: handlers, Broker: b.topics, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler),
			Registerer: prometheus.NewRegistry(),
		})
		require.NoError(t, err)
		require.NoError(t, p.Start(t.Context()))
		t.Cleanup(p.Stop)
		return p
	}
	b.first = b.another()
	b.serve(b.first, handlers, clock.System{})
	return b
}

// The routes over a real producer: a table with a bad row, a reload, and a rerun of three past days of one account.
func TestRoutes_OverAProducer(t *testing.T) {
	t.Parallel()
	b := setupLive(t)
	found, err := b.store.FindAccounts(t.Context(), "tulip", []string{"9001"})
	require.NoError(t, err)
	account := found["9001"].ID

	err = b.store.Config.Writer(t.Context()).Exec(
		"INSERT INTO cron_task (name, media, handler, cron, timezone, lane) VALUES ('bad.one', 'tulip', 'tulip.adgroup', " +
			"'garbage', 'UTC', 'fast')").Error
	require.NoError(t, err)
	w := b.post("/api/v1/tasks/reload", "")
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	var reloaded struct {
		Bad []struct {
			Name, Status string
			Errors       []struct{ Field, Value string }
		}
	}
	decode(t, w.Body.String(), &reloaded)
	require.Len(t, reloaded.Bad, 1)
	require.Equal(t, "bad.one", reloaded.Bad[0].Name)
	require.Equal(t, "unusable", reloaded.Bad[0].Status)
	var fields []string
	for _, e := range reloaded.Bad[0].Errors {
		fields = append(fields, e.Field)
	}
	require.ElementsMatch(t, []string{"cron", "lane"}, fields, "all errors of the row at once")

	shanghai, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	today := time.Now().In(shanghai)
	var days []string
	for back := 3; back >= 1; back-- {
		days = append(days, today.AddDate(0, 0, -back).Format(time.DateOnly))
	}
	w = b.post(dailyRun, `{"accounts": ["9001"], "from": "`+days[0]+`", "to": "`+days[2]+`"}`)
	require.Equal(t, http.StatusAccepted, w.Code, w.Body.String())

	var run struct {
		State  string
		Counts struct{ Total, Waiting int64 }
	}
	require.Eventually(t, func() bool {
		decode(t, b.get(w.Header().Get("Location")), &run)
		return run.State == "running"
	}, 30*time.Second, 20*time.Millisecond, "the leader makes the run and fans it out")
	require.Equal(t, run.Counts.Total, run.Counts.Waiting)
	b.topics.mu.Lock()
	defer b.topics.mu.Unlock()
	require.Len(t, b.topics.sent, int(run.Counts.Total))
	var parts []string
	for _, m := range b.topics.sent {
		for _, h := range m.Headers {
			switch h.Key {
			case "account":
				require.Equal(t, id(account), string(h.Value), "only this account is pulled")
			case "part":
				parts = append(parts, string(h.Value))
			}
		}
	}
	require.Contains(t, []string{strings.Join(days, " "), days[0] + ".." + days[2]}, strings.Join(parts, " "),
		"only the ordered days")
}
