package ledger_test

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
	records, err := s.Read(t.Context())
	require.NoError(t, err)
	require.Empty(t, records.Reached, "no process has reached it yet")
	require.NoError(t, s.Reached(t.Context(), "a", []string{"tulip", "orchid"}))
	require.NoError(t, s.Reached(t.Context(), "b", []string{"tulip"}))
	require.NoError(t, s.Reached(t.Context(), "b", []string{"tulip"}), "it is recorded repeatedly")
	// A process of the previous release records no media.
	now, err := s.Data.Now(t.Context())
	require.NoError(t, err)
	at := func(ago time.Duration) string { return now.Add(-ago).Format("2006-01-02 15:04:05.000") }
	db := s.Data.Writer(t.Context())
	require.NoError(t, db.Exec("INSERT INTO redis_reached (process, seen_at) VALUES (?, ?)", "old",
		at(30*time.Minute)).Error)
	require.NoError(t, db.Exec("INSERT INTO redis_reached (process, seen_at) VALUES (?, ?)", "gone",
		at(61*time.Minute)).Error)
	_, err = s.Read(t.Context())
	require.NoError(t, err)
	records, err = s.Read(t.Context())
	require.NoError(t, err)
	ago := map[ratelimit.Reach]time.Duration{}
	for _, r := range records.Reached {
		d := r.Ago
		r.Ago = 0
		ago[r] = d
	}
	require.Len(t, ago, 4, "one that reached Redis over an hour ago is deleted")
	require.InDelta(t, 30*time.Minute, ago[ratelimit.Reach{Process: "old"}], float64(time.Minute))
	for _, r := range []ratelimit.Reach{{Process: "a", Media: "tulip"}, {Process: "a", Media: "orchid"},
		{Process: "b", Media: "tulip"}} {
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
		{"tulip", "", "a", "a", true},
		{"tulip", "", "b", "a", false}, // another was first
		{"orchid", "", "b", "b", true},
		{"tulip", "a", "b", "b", true},
		{"tulip", "a", "b", "b", false}, // another was first with the same change
		{"tulip", "a", "c", "b", false},
		{"tulip", "b", "a", "a", true}, // and back
	} {
		server, moved, err := s.Move(t.Context(), x.media, x.from, x.to)
		require.NoError(t, err)
		require.Equal(t, x.server, server, "%+v", x)
		require.Equal(t, x.moved, moved, "%+v", x)
	}
	records, err := s.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"tulip": "a", "orchid": "b"}, records.Servers)
}
