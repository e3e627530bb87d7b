package producer

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/producer/tasklist"
)

func TestTroubles_TellsWhatLasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := &troubles{}
		require.NoError(t, tr.problem())
		tr.set("plan", errors.New("deadlock"))
		require.NoError(t, tr.problem(), "what the next turn fixes is no news")
		time.Sleep(troubleAfter)
		tr.set("plan", errors.New("connection refused"))
		tr.set("due", errors.New("connection refused"))
		require.EqualError(t, tr.problem(), `the leader's loop "plan" has failed for 5s: connection refused`)
		time.Sleep(troubleAfter)
		require.ErrorContains(t, tr.problem(), `the leader's loop "due" has failed for 5s`)
		require.ErrorContains(t, tr.problem(), `the leader's loop "plan" has failed for 10s`)
		tr.set("plan", nil)
		require.EqualError(t, tr.problem(), `the leader's loop "due" has failed for 5s: connection refused`)
		tr.clear()
		require.NoError(t, tr.problem())
	})
}

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
