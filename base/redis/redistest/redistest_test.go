package redistest

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNew_TestsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	a, aKeys := New(t)
	b, bKeys := New(t)
	require.NotEqual(t, aKeys.Prefix(), bKeys.Prefix())
	require.NoError(t, a.Set(t.Context(), aKeys.Of("x"), 1, time.Minute).Err())
	require.Zero(t, b.Exists(t.Context(), bKeys.Of("x")).Val())
}

func TestVirtual_UsesTheBubblesClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := NewVirtual(t)
		a, b := v.Client(t), v.Client(t)
		require.NoError(t, a.Set(t.Context(), "x", 1, time.Hour).Err())
		time.Sleep(59 * time.Minute)
		require.EqualValues(t, 1, b.Exists(t.Context(), "x").Val())
		time.Sleep(time.Minute)
		require.Zero(t, b.Exists(t.Context(), "x").Val())
	})
}

// A call that waited for a connection would leave its timer to the next bubble, which ends the program.
func TestVirtual_ManyCallsAtATimeInTwoBubbles(t *testing.T) {
	t.Parallel()
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			client := NewVirtual(t).Client(t)
			var calls sync.WaitGroup
			for range 500 {
				calls.Go(func() { require.NoError(t, client.Ping(t.Context()).Err()) })
			}
			calls.Wait()
		})
	}
}
