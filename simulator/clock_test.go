package simulator

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/world"
)

func TestClock_RunsFreezesAndIsSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := world.NewClock(noon, 60, false)
		require.Equal(t, noon.UTC(), c.Now())
		time.Sleep(2 * time.Second) // time of the synctest bubble
		require.Equal(t, noon.Add(2*time.Minute).UTC(), c.Now())
		require.Equal(t, 10*time.Second, c.Until(noon.Add(12*time.Minute)))
		require.NoError(t, c.Freeze())
		require.NoError(t, c.Freeze())
		time.Sleep(time.Hour)
		require.Equal(t, noon.Add(2*time.Minute).UTC(), c.Now())
		require.EqualValues(t, math.MaxInt64, c.Until(noon.Add(time.Hour)))
		require.LessOrEqual(t, c.Until(noon), time.Duration(0))
		require.NoError(t, c.Set(noon.AddDate(0, 0, 1)))
		require.NoError(t, c.SetSpeed(0.5))
		time.Sleep(time.Hour)
		require.Equal(t, noon.AddDate(0, 0, 1).UTC(), c.Now(), "still frozen")
		require.NoError(t, c.Resume())
		time.Sleep(time.Hour)
		require.Equal(t, noon.AddDate(0, 0, 1).Add(30*time.Minute).UTC(), c.Now())
		for _, bad := range []time.Time{world.FirstMoment.Add(-time.Second), world.LastMoment} {
			require.Error(t, c.Set(bad))
		}
		for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			require.Error(t, c.SetSpeed(bad))
		}
		require.NoError(t, c.Set(world.LastMoment.Add(-time.Minute)))
		time.Sleep(time.Hour)
		require.Equal(t, world.LastMoment.UTC(), c.Now(), "the world ends there")
	})
}

func TestClock_ContinuesAfterARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := world.NewClock(noon, 1, false).State()
		fast := world.NewClock(noon, 60, false).State()
		still := world.NewClock(noon, 1, false)
		require.NoError(t, still.Freeze())
		frozen := still.State()
		time.Sleep(3 * time.Hour)
		require.Equal(t, noon.Add(3*time.Hour).UTC(), world.RestoreClock(kept).Now(),
			"the clock includes the time without the program")
		require.Equal(t, noon.UTC(), world.RestoreClock(fast).Now(), "a faster clock does not")
		require.Equal(t, noon.UTC(), world.RestoreClock(frozen).Now())
		require.True(t, world.RestoreClock(frozen).Frozen())
	})
}
