package story

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/simulator"
	simworld "adsync/simulator/world"
)

// evening is where the worlds of these tests begin.
var evening = time.Date(2026, 11, 15, 23, 40, 0, 0, simworld.Zone)

func newTestPace(t *testing.T) *pace {
	t.Helper()
	sim, err := simulator.New(simulator.Config{Accounts: 1, Start: evening, Speed: 60, Frozen: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sim.Close()) })
	return newPace(sim.Clock(), 60)
}

func TestPace_TellsMomentsAsTimesOfTheWorld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTestPace(t)
		began := time.Now()
		time.Sleep(10 * time.Second)
		set := time.Now()
		// Keeping the new time takes the simulator a moment.
		require.NoError(t, p.change(0, func() error {
			time.Sleep(time.Second)
			defer time.Sleep(time.Second)
			return p.world.Set(evening.Add(time.Hour))
		}))
		time.Sleep(time.Second)
		run := time.Now()
		require.NoError(t, p.change(60, p.world.Resume))
		time.Sleep(2 * time.Second)
		frozen := time.Now()
		require.NoError(t, p.change(0, p.world.Freeze))
		time.Sleep(time.Minute)

		type span struct{ from, to time.Duration } // after the beginning
		at := func(moment time.Time) span {
			earliest, latest := p.worldAt(moment)
			return span{earliest.Sub(evening), latest.Sub(evening)}
		}
		require.Equal(t, span{0, 0}, at(began.Add(-time.Hour)), "before anything was done")
		require.Equal(t, span{0, 0}, at(set.Add(-time.Millisecond)))
		require.Equal(t, span{0, time.Hour}, at(set.Add(time.Millisecond)), "while it is set it may be the one or the other")
		require.Equal(t, span{time.Hour, time.Hour}, at(run.Add(-time.Millisecond)))
		require.Equal(t, span{time.Hour + time.Minute - paceSlack, time.Hour + time.Minute + paceSlack},
			at(run.Add(time.Second)))
		require.Equal(t, span{time.Hour, time.Hour + paceSlack}, at(run), "never before it was let go")
		require.Equal(t, span{time.Hour + 2*time.Minute, time.Hour + 2*time.Minute}, at(frozen.Add(time.Second)))
		require.Equal(t, span{time.Hour + 2*time.Minute, time.Hour + 2*time.Minute}, at(time.Now()))
	})
}

func TestPace_WhatWaitsGoesOnWhileTheWorldStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newTestPace(t)
		begin := p.Now()
		require.Equal(t, evening.UTC(), begin)
		time.Sleep(time.Second)
		require.Equal(t, time.Minute, p.Now().Sub(begin))
		require.Equal(t, time.Second, p.Until(begin.Add(2*time.Minute)))
		require.Equal(t, -time.Minute, p.Until(begin))

		require.NoError(t, p.change(0, func() error { return p.world.Set(evening.Add(time.Hour)) }))
		require.Equal(t, time.Hour, p.Now().Sub(begin), "it is never behind the world")
		time.Sleep(time.Second)
		require.Equal(t, time.Hour+time.Minute, p.Now().Sub(begin))

		p.slow()
		time.Sleep(time.Second)
		require.Equal(t, time.Hour+time.Minute+time.Second, p.Now().Sub(begin))
		require.Equal(t, 59*time.Second, p.Until(begin.Add(time.Hour+2*time.Minute)))
	})
}

func TestClockAhead_IsNothingOrMoreThanTheAnswerTook(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{0, 3 * time.Second, -3 * time.Second} {
		ahead, err := clockAhead(t.Context(), func(context.Context) (time.Time, error) {
			return clock.Mark().Add(by).Truncate(time.Millisecond), nil
		})
		require.NoError(t, err)
		require.InDelta(t, by.Seconds(), ahead.Seconds(), 0.1)
		require.Equal(t, by == 0, ahead == 0, "a clock that is the same is not corrected")
	}
	_, err := clockAhead(t.Context(), func(context.Context) (time.Time, error) { return time.Time{}, context.Canceled })
	require.ErrorIs(t, err, context.Canceled)
}
