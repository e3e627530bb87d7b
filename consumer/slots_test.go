package consumer

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestSlots_AreGivenInTheOrderOfAsking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		require.NoError(t, s.acquire(t.Context()))
		got := make(chan int, 3)
		for i := range 3 {
			go func() {
				_ = s.acquire(t.Context())
				got <- i
			}()
			synctest.Wait()
		}
		require.Empty(t, got, "the one slot is taken")
		for i := range 3 {
			s.release()
			synctest.Wait()
			require.Equal(t, i, <-got)
		}
	})
}

func TestSlots_WhoGivesUpTakesNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		require.NoError(t, s.acquire(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		var impatient, patient error = nil, context.Canceled
		go func() { impatient = s.acquire(ctx) }()
		synctest.Wait()
		go func() { patient = s.acquire(t.Context()) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.ErrorIs(t, impatient, context.Canceled)
		require.ErrorIs(t, s.acquire(ctx), context.Canceled, "also when asked too late")
		s.release()
		synctest.Wait()
		require.NoError(t, patient)
		used, _ := s.state()
		require.Equal(t, 1, used)
	})
}

func TestSlots_Resize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		var running atomic.Int32
		for range 5 {
			go func() {
				_ = s.acquire(t.Context())
				running.Add(1)
			}()
		}
		synctest.Wait()
		require.EqualValues(t, 1, running.Load())
		s.resize(4)
		synctest.Wait()
		require.EqualValues(t, 4, running.Load(), "those who wait get the new slots at once")
		s.resize(2)
		for range 2 {
			s.release()
		}
		synctest.Wait()
		require.EqualValues(t, 4, running.Load(), "nothing begins before what runs is below the new size")
		s.release()
		synctest.Wait()
		require.EqualValues(t, 5, running.Load())
	})
}
