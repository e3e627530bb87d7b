package timer

import (
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"adsync/base/redis"
	"adsync/base/redis/redistest"
	"adsync/base/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newTimer(t *testing.T, client goredis.UniversalClient, keys redis.Keys) *Timer {
	t.Helper()
	tm := New(client, keys, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	tm.AddTimeout = time.Minute // On a busy machine Redis is slow but not away.
	return tm
}

func entry(account int64, at time.Time) Entry {
	return Entry{Key: task.Key{RunID: 7, AccountID: account, Part: "2026-11-21"}, Delivery: 1, DueAt: at}
}

func TestTimer_ReturnsDueEntriesUntilTheyAreRemoved(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client, keys := redistest.New(t)
	tm, other := newTimer(t, client, keys), newTimer(t, client, keys)
	now, later := entry(1, noon), entry(2, noon.Add(time.Millisecond))
	tm.Add(ctx, []Entry{later, now})
	due := func(at time.Time) []Entry {
		t.Helper()
		list, err := other.Due(ctx, at, 100)
		require.NoError(t, err)
		slices.SortFunc(list, func(a, b Entry) int { return int(a.AccountID - b.AccountID) })
		return list
	}
	require.Empty(t, due(noon.Add(-time.Millisecond)))
	require.Equal(t, []Entry{now}, due(noon))
	require.Equal(t, []Entry{now}, due(noon), "it stays until it is removed: its reader may die")
	require.Equal(t, []Entry{now, later}, due(noon.Add(time.Second)))

	moved := now
	moved.DueAt = noon.Add(time.Hour)
	tm.Add(ctx, []Entry{moved})
	require.Equal(t, []Entry{later}, due(noon.Add(time.Second)), "the last time counts")
	require.NoError(t, other.Remove(ctx, []Entry{later, moved}))
	require.Empty(t, due(noon.Add(2*time.Hour)))
}

func TestTimer_ReturnsAboutAsManyAsRequested(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client, keys := redistest.New(t)
	tm := newTimer(t, client, keys)
	var all []Entry
	for n := range int64(1000) {
		all = append(all, entry(n, noon))
	}
	tm.Add(ctx, all)
	seen := map[int64]bool{}
	for len(seen) < 1000 {
		some, err := tm.Due(ctx, noon, 160)
		require.NoError(t, err)
		require.NotEmpty(t, some)
		require.LessOrEqual(t, len(some), 160)
		for _, e := range some {
			require.False(t, seen[e.AccountID])
			seen[e.AccountID] = true
		}
		require.NoError(t, tm.Remove(ctx, some))
	}
}

func TestTimer_RemovesForeignMembers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client, keys := redistest.New(t)
	tm := newTimer(t, client, keys)
	require.NoError(t, client.ZAdd(ctx, tm.keys[3], goredis.Z{Score: 1, Member: "garbage"}).Err())
	due, err := tm.Due(ctx, noon, 1)
	require.NoError(t, err)
	require.Empty(t, due)
	require.Zero(t, client.ZCard(ctx, tm.keys[3]).Val())
}

// A Redis that accepts connections and never answers costs one short wait every two seconds.
func TestTimer_AHangingRedisDelaysLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hanging := goredis.NewClient(&goredis.Options{
			Dialer: deafDialer, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, ReadTimeout: time.Minute,
			// It resolves a host's name.
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		defer hanging.Close()
		tm := newTimer(t, hanging, redis.NewKeys("x"))
		tm.AddTimeout = addTimeout
		began := time.Now()
		for range 100 {
			tm.Add(t.Context(), []Entry{entry(1, noon)})
		}
		require.Equal(t, addTimeout, time.Since(began))
		require.Equal(t, 100.0, testutil.ToFloat64(tm.dropped))
		time.Sleep(addPause)
		began = time.Now()
		tm.Add(t.Context(), []Entry{entry(1, noon)})
		require.Equal(t, addTimeout, time.Since(began), "it is tried again after a while")
		require.Equal(t, 2.0, testutil.ToFloat64(tm.errors.WithLabelValues("add")))
	})
}

func TestMember_ParsesAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := Entry{
			Key: task.Key{RunID: rapid.Int64().Draw(t, "run"), AccountID: rapid.Int64().Draw(t, "account"),
				Part: rapid.String().Draw(t, "part")},
			Delivery: rapid.IntRange(0, 1<<30).Draw(t, "delivery"),
		}
		got, ok := parse(member(e))
		require.True(t, ok)
		require.Equal(t, e, got)
		require.Less(t, shard(member(e)), shards)
		require.GreaterOrEqual(t, shard(member(e)), 0)
	})
}
