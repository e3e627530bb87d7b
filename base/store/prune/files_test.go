package prune_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store"
	"adsync/base/store/publishing"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func keptFiles(t *testing.T, s *store.Store) (names []string) {
	t.Helper()
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT name FROM publication ORDER BY name").Scan(&names).Error)
	return names
}

func TestFiles_KeepsWhatIsInUse(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	before := now.AddDate(0, 0, -400)
	var all []publishing.Publication
	add := func(name, subscription string, planned time.Time, change func(*publishing.Publication)) {
		on := day.Day("2024-01-01").Add(len(all))
		p := publishing.Publication{ID: task.FirstRunIDAt(planned) + int64(len(all)), Subscription: subscription, FromDay: on,
			ToDay: on, Revision: 1, Sequence: 1, Destination: "shelf", Name: name, State: publishing.Published,
			PlannedAt: planned, UpdatedAt: planned}
		if change != nil {
			change(&p)
		}
		all = append(all, p)
	}
	old, sum := before.Add(-time.Minute), func(n int) string { return fmt.Sprintf("%064d", n) }
	state := func(state publishing.State) func(*publishing.Publication) {
		return func(p *publishing.Publication) { p.State = state }
	}
	add("gone published", "sales", old, func(p *publishing.Publication) {
		p.DueAt, p.Need, p.CorrectUntil = old, sum(1), now
	})
	for _, ended := range []publishing.State{publishing.Failed, publishing.Cancelled, publishing.Superseded,
		publishing.Empty} {
		add("gone "+string(ended), "sales", old, state(ended))
	}
	for _, open := range []publishing.State{publishing.Waiting, publishing.Planned, publishing.Rendered,
		publishing.Uploaded, publishing.Verified, publishing.Visible} {
		add("kept "+string(open), "sales", old, state(open))
	}
	add("kept, may be corrected", "sales", old, func(p *publishing.Publication) {
		p.CorrectUntil, p.Need = now.Add(time.Second), sum(2)
	})
	add("kept, is young", "sales", before.Add(time.Second), func(p *publishing.Publication) {
		p.DueAt, p.Sequence, p.Need = before, 9, sum(3)
	})
	add("gone of another", "other", old.Add(-time.Hour), func(p *publishing.Publication) { p.DueAt = old.Add(-time.Hour) })
	add("kept, newest moment", "other", old, func(p *publishing.Publication) { p.DueAt, p.Sequence = old, 2 })
	add("kept, highest number", "other", old, func(p *publishing.Publication) { p.Sequence = 3 })
	_, err := s.PlanFiles(t.Context(), all)
	require.NoError(t, err)
	for n, used := range []time.Time{1: old, 2: old, 3: before, 4: old} {
		if n > 0 {
			row := publishing.Need{SHA256: sum(n), Need: "{}", UsedAt: used}
			require.NoError(t, s.Data.Writer(t.Context()).Create(&row).Error)
		}
	}
	place := publishing.Destination{Name: "shelf", Kind: "dir", Address: "/srv", Enabled: true}
	require.NoError(t, s.Config.Writer(t.Context()).Create(&place).Error)
	for _, name := range []string{"shelf", "deleted"} {
		require.NoError(t, s.DestinationWorked(t.Context(), name, now))
		_, err := s.TakeConnection(t.Context(), name, 2, 1, old, map[string]time.Time{"shelf": before, "deleted": old}[name])
		require.NoError(t, err)
	}
	progress, err := s.FileProgress(t.Context())
	require.NoError(t, err)

	gone, err := s.Pruner(time.Minute).Files(t.Context(), before, now)
	require.NoError(t, err)
	var want []string
	for _, p := range all {
		if strings.HasPrefix(p.Name, "kept") {
			want = append(want, p.Name)
		}
	}
	require.ElementsMatch(t, want, keptFiles(t, s))
	for n, kept := range map[int]int{1: 0, 2: 1, 3: 1, 4: 0} {
		require.Equal(t, kept, storetest.Int(t, s, "SELECT COUNT(*) FROM publication_need WHERE sha256 = ?", sum(n)), n)
	}
	require.Equal(t, 1, storetest.RowsIn(t, s, "destination_state"))
	require.Equal(t, 1, storetest.RowsIn(t, s, "destination_slot"))
	require.EqualValues(t, len(all)-len(want)+2+2, gone)
	after, err := s.FileProgress(t.Context())
	require.NoError(t, err)
	require.Equal(t, progress, after, "planning continues as before")

	gone, err = s.Pruner(time.Minute).Files(t.Context(), before, now)
	require.NoError(t, err)
	require.Zero(t, gone)
}
