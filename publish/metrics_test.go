package publish

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/store/publishing"
	"adsync/media"
)

// exported returns the values of a registry's metrics; of a histogram the sum.
func exported(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			all[f.GetName()] += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
		}
	}
	return all
}

func TestMetrics_LatenessIsThatOfTheFirstPublication(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	r := newRig(t, nil)
	r.deps.Registerer = registry
	r.pull("2026-11-20", 1, settled)
	r.plan()
	late := r.clock.Now().Sub(r.file(1).DueAt)
	require.Positive(t, late)
	r.clock.add(time.Minute)
	require.NoError(t, r.run(part))
	require.InDelta(t, (late + time.Minute).Seconds(), exported(t, registry)["adsync_files_lateness_seconds"], 0.1)

	r.clock.add(time.Hour)
	_, err := r.store.ReopenFile(t.Context(), r.file(1).ID, r.clock.Now())
	require.NoError(t, err)
	require.Equal(t, r.clock.Now(), r.file(1).ReadyAt, "it is not late from its first moment on")
	require.NoError(t, r.run(part))
	require.InDelta(t, (late + time.Minute).Seconds(), exported(t, registry)["adsync_files_lateness_seconds"], 0.1)
}

func TestMetrics_ShowThatThereIsNoRoom(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	r := newRig(t, nil)
	r.deps.Registerer = registry
	var err error
	r.deps.Spool, err = OpenSpool(filepath.Join(t.TempDir(), "small"), 10)
	require.NoError(t, err)
	r.pull("2026-11-20", 1, settled)
	r.plan()
	require.Zero(t, exported(t, registry)["adsync_files_spool_full_total"])
	var later *media.DeferError
	require.ErrorAs(t, r.run(part), &later)
	got := exported(t, registry)
	require.InDelta(t, 1, got["adsync_files_spool_full_total"], 0)
	require.InDelta(t, 10, got["adsync_files_spool_max_bytes"], 0)
	require.Zero(t, got["adsync_files_spool_bytes"], "what was begun is gone")
	require.Equal(t, publishing.Planned, r.file(1).State)
}

func TestPublication_IsReadyUnlessItWaitsForFigures(t *testing.T) {
	t.Parallel()
	of := Period{From: "2026-11-20", To: "2026-11-20"}
	p := checked(t, nil).publication(of, 1, now.Add(-time.Hour), now)
	require.Equal(t, publishing.Planned, p.State)
	require.Equal(t, now, p.ReadyAt)
	waits := func(s *publishing.Subscription) { s.Completeness = `{"when": "complete"}` }
	p = checked(t, waits).publication(of, 1, now.Add(-time.Hour), now)
	require.Equal(t, publishing.Waiting, p.State)
	require.True(t, p.ReadyAt.IsZero())
}
