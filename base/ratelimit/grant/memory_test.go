package grant

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLocal_GrantsAMembersPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory(testSpread, 4)
		k := Key{Media: "m", Endpoint: "x", Scope: ScopePlatform, Period: time.Second, Limit: 40, Share: 1}
		granted := 0
		for range 100 {
			got, err := l.Request(t.Context(), "m", some(50, k))
			require.NoError(t, err)
			granted += len(got.Wants[0].Starts)
			time.Sleep(100 * time.Millisecond)
		}
		require.InDelta(t, 10*10/1.1, granted, 2, "ten a second")
	})
}

// If a limit has fewer calls than there are processes, each gets one in so many periods: all get some, and together
// they keep the limit.
func TestLocal_MembersTakeTurnsWithASingleCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const members, seconds = 4, 60
		for limit := 1; limit < members; limit++ {
			l := NewMemory(testSpread, members)
			k := Key{Media: "m", Endpoint: "x", Scope: ScopePlatform, Period: time.Second, Limit: limit, Share: 1}
			granted := 0
			for range 10 * seconds {
				got, err := l.Request(t.Context(), "m", some(5, k))
				require.NoError(t, err)
				granted += len(got.Wants[0].Starts)
				time.Sleep(100 * time.Millisecond)
			}
			require.InDelta(t, seconds/1.1*float64(limit)/members, granted, 2, "a part of %d a second", limit)
		}
	})
}

func TestLocal_HoldOffHoldsBackAndKeepsPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory(testSpread, 1)
		k := Key{Media: "m", Endpoint: "x", Scope: ScopePlatform, Period: time.Second, Limit: 40, Share: 1}
		point := Key{Media: "m", Scope: ScopePlatform}
		require.NoError(t, l.Pause(t.Context(), point, time.Minute))
		granted := func() int {
			got, err := l.Request(t.Context(), "m", some(1, k))
			require.NoError(t, err)
			require.Equal(t, map[Key]time.Time{point: l.pauses[point]}, got.Pauses)
			return len(got.Wants[0].Starts)
		}
		require.Equal(t, 1, granted())
		l.HoldOff(Horizon)
		require.Zero(t, granted(), "another ledger may have granted up to 2 s ahead")
		time.Sleep(Microseconds(horizon))
		require.Equal(t, 1, granted())
		require.NoError(t, l.Pause(t.Context(), point, time.Second), "a shorter one")
		require.Greater(t, l.InForce()[point], 50*time.Second)
		require.NoError(t, l.Pause(t.Context(), point, 0))
		require.Empty(t, l.InForce())
	})
}

func TestLocal_SyncEndsPausesThatTheOtherLedgerDoesNotHave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory(testSpread, 1)
		here, there, other := Key{Media: "m", Endpoint: "x"}, Key{Media: "m", Endpoint: "y"}, Key{Media: "n", Endpoint: "x"}
		require.NoError(t, l.Pause(t.Context(), other, time.Minute))
		before := l.Pausings()
		require.NoError(t, l.Pause(t.Context(), here, time.Minute))
		reported := map[Key]time.Time{there: time.Now().Add(time.Hour)}
		l.Sync("m", reported, before)
		require.Equal(t, map[Key]time.Duration{here: time.Minute, there: time.Hour, other: time.Minute}, l.InForce(),
			"one was ordered here since")
		l.Sync("m", reported, l.Pausings())
		require.Equal(t, map[Key]time.Duration{there: time.Hour, other: time.Minute}, l.InForce(),
			"no report about the other media")
	})
}
