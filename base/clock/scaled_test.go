package clock_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
)

func TestScaled_AdvancesAtItsOwnSpeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		c := clock.NewScaled(start, 60, false)
		require.Equal(t, time.Minute, c.Until(start.Add(time.Hour)))
		time.Sleep(time.Minute)
		require.Equal(t, start.Add(time.Hour), c.Now())
		require.LessOrEqual(t, c.Until(start), time.Duration(0))

		still := clock.NewScaled(start, 60, true)
		time.Sleep(time.Minute)
		require.Equal(t, start, still.Now())
		require.EqualValues(t, math.MaxInt64, still.Until(start.Add(time.Second)))
	})
}
