package watch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/publishing"
	"adsync/base/task"
)

func TestPass_ShowsWhereFilesAre(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.Pass(t.Context(), nil))
	require.NotContains(t, b.exported(), "adsync_files_held shelf", "there is no destination")

	for _, name := range []string{"shelf", "idle"} {
		row := publishing.Destination{Name: name, Kind: "dir", Address: "/srv", Enabled: true}
		require.NoError(t, b.store.Config.Writer(t.Context()).Create(&row).Error)
	}
	bytes := int64(700)
	var all []publishing.Publication
	add := func(on day.Day, state publishing.State, change func(*publishing.Publication)) {
		p := publishing.Publication{ID: task.NewRunID(now), Subscription: "sales", FromDay: on, ToDay: on, Revision: 1,
			Sequence: 1, Destination: "shelf", Name: "x", State: state, PlannedAt: now.Add(-2 * time.Hour), UpdatedAt: now}
		if change != nil {
			change(&p)
		}
		all = append(all, p)
	}
	waits := func(latest time.Duration) func(*publishing.Publication) {
		return func(p *publishing.Publication) { p.LatestAt = now.Add(latest) }
	}
	add("2026-11-01", publishing.Waiting, waits(0))
	add("2026-11-02", publishing.Waiting, waits(time.Second))
	add("2026-11-03", publishing.Waiting, nil)
	add("2026-11-04", publishing.Published, waits(-time.Hour))
	add("2026-11-05", publishing.Planned, func(p *publishing.Publication) { p.ReadyAt = now.Add(-10 * time.Minute) })
	add("2026-11-06", publishing.Uploaded, func(p *publishing.Publication) {
		p.DueAt, p.ReadyAt, p.ByteSize = now.Add(-9*time.Hour), now.Add(-20*time.Minute), &bytes
	})
	add("2026-11-07", publishing.Failed, nil)
	add("2026-11-08", publishing.Failed, func(p *publishing.Publication) { p.PlannedAt = now.Add(-25 * time.Hour) })
	_, err := b.store.PlanFiles(t.Context(), all)
	require.NoError(t, err)
	require.NoError(t, b.store.DestinationFailed(t.Context(), "idle", "refused", now, now.Add(time.Minute)))
	require.NoError(t, b.store.DestinationWorked(t.Context(), "shelf", now.Add(-time.Hour)))
	require.NoError(t, b.Pass(t.Context(), nil))

	got := b.exported()
	for name, want := range map[string]float64{
		"adsync_files shelf waiting": 3, "adsync_files shelf planned": 1, "adsync_files shelf uploaded": 1,
		"adsync_files shelf published": 1, "adsync_files shelf failed": 1, "adsync_files_bytes shelf uploaded": 700,
		"adsync_files_held shelf": 1, "adsync_files_held idle": 0,
		"adsync_files_oldest_seconds shelf": 1200, "adsync_files_oldest_seconds idle": 0,
		"adsync_destination_down shelf": 0, "adsync_destination_down idle": 1,
		"adsync_destination_success_age_seconds shelf": 3600,
	} {
		value, there := got[name]
		require.True(t, there, name)
		require.InDelta(t, want, value, 0, name)
	}
	require.NotContains(t, got, "adsync_destination_success_age_seconds idle")
}
