package producer

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/producer/tasklist"
)

// noTasks is a store without tasks.
type noTasks struct{ tasklist.Store }

func (noTasks) TaskRows(context.Context) ([]settings.TaskRow, error) { return nil, nil }

func (noTasks) Lanes(context.Context) ([]settings.Lane, error) { return nil, nil }

func TestReady_TellsOfTasksThatAreNotLoaded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tasks := tasklist.NewSet(noTasks{}, handlers(), slog.New(slog.DiscardHandler),
			prometheus.NewGauge(prometheus.GaugeOpts{}), prometheus.NewGauge(prometheus.GaugeOpts{}))
		require.NoError(t, tasks.Reload(t.Context()))
		p := &Producer{cfg: DefaultConfig(), tasks: tasks}
		time.Sleep(3 * p.cfg.ReloadInterval)
		require.NoError(t, p.Ready(t.Context()), "what the next reload fixes is no news")
		time.Sleep(time.Second)
		require.ErrorContains(t, p.Ready(t.Context()), "the tasks were last loaded ")
	})
}
