package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit"
	"adsync/base/store/storetest"
)

func TestReached_IsSeenByAllForEachMedia(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	sight, err := s.Look(t.Context())
	require.NoError(t, err)
	require.Empty(t, sight.Reached, "nobody ever did")
	require.NoError(t, s.Reached(t.Context(), "a", []string{"tencent", "oceanengine"}))
	require.NoError(t, s.Reached(t.Context(), "b", []string{"tencent"}))
	require.NoError(t, s.Reached(t.Context(), "b", []string{"tencent"}), "it is recorded again and again")
	// A process of the release before records no media.
	now, err := s.Data.Now(t.Context())
	require.NoError(t, err)
	at := func(ago time.Duration) string { return now.Add(-ago).Format("2006-01-02 15:04:05.000") }
	db := s.Data.Writer(t.Context())
	require.NoError(t, db.Exec("INSERT INTO redis_reached (process, seen_at) VALUES (?, ?)", "old", at(30*time.Minute)).Error)
	require.NoError(t, db.Exec("INSERT INTO redis_reached (process, seen_at) VALUES (?, ?)", "gone", at(61*time.Minute)).Error)
	_, err = s.Look(t.Context())
	require.NoError(t, err)
	sight, err = s.Look(t.Context())
	require.NoError(t, err)
	ago := map[ratelimit.Reach]time.Duration{}
	for _, r := range sight.Reached {
		d := r.Ago
		r.Ago = 0
		ago[r] = d
	}
	require.Len(t, ago, 4, "one that reached Redis an hour ago is forgotten")
	require.InDelta(t, 30*time.Minute, ago[ratelimit.Reach{Process: "old"}], float64(time.Minute))
	for _, r := range []ratelimit.Reach{{Process: "a", Media: "tencent"}, {Process: "a", Media: "oceanengine"}, {Process: "b", Media: "tencent"}} {
		require.Contains(t, ago, r)
		require.Less(t, ago[r], time.Minute)
	}
}

func TestMove_OneOfManyChangesTheServer(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	for _, x := range []struct {
		media, from, to, server string
		moved                   bool
	}{
		{"tencent", "", "a", "a", true},
		{"tencent", "", "b", "a", false}, // another was first
		{"oceanengine", "", "b", "b", true},
		{"tencent", "a", "b", "b", true},
		{"tencent", "a", "b", "b", false}, // another was first, and did the same
		{"tencent", "a", "c", "b", false},
		{"tencent", "b", "a", "a", true}, // and back
	} {
		server, moved, err := s.Move(t.Context(), x.media, x.from, x.to)
		require.NoError(t, err)
		require.Equal(t, x.server, server, "%+v", x)
		require.Equal(t, x.moved, moved, "%+v", x)
	}
	sight, err := s.Look(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"tencent": "a", "oceanengine": "b"}, sight.Servers)
}
