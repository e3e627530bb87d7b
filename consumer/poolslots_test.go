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
		s := newSlots(1, func(int) {})
		require.NoError(t, s.acquire(t.Context(), 0))
		got := make(chan int, 3)
		for i := range 3 {
			go func() {
				_ = s.acquire(t.Context(), 0)
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
		s := newSlots(1, func(int) {})
		require.NoError(t, s.acquire(t.Context(), 0))
		ctx, cancel := context.WithCancel(t.Context())
		var impatient, patient error = nil, context.Canceled
		go func() { impatient = s.acquire(ctx, 0) }()
		synctest.Wait()
		go func() { patient = s.acquire(t.Context(), 0) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.ErrorIs(t, impatient, context.Canceled)
		require.ErrorIs(t, s.acquire(ctx, 0), context.Canceled, "also when asked too late")
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
		s := newSlots(1, func(int) {})
		var running atomic.Int32
		for range 5 {
			go func() {
				_ = s.acquire(t.Context(), 0)
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

// A slot is granted at the moment when its waiter gives up. The slot is not lost.
func TestSlots_WhatIsGivenToOneThatGivesUpGoesToTheNext(t *testing.T) {
	t.Parallel()
	for name, give := range map[string]func(s *slots){
		"a slot is released":   func(s *slots) { s.used-- },
		"a slot is lent":       func(s *slots) { s.lent++ },
		"there are more slots": func(s *slots) { s.size++ },
	} {
		for _, isNext := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newSlots(1, func(int) {})
				require.NoError(t, s.acquire(t.Context(), 0))
				ctx, cancel := context.WithCancel(t.Context())
				var impatient error
				go func() { impatient = s.acquire(ctx, 0) }()
				synctest.Wait()
				begun := false
				if isNext {
					go func() { begun = s.acquire(t.Context(), 0) == nil }()
					synctest.Wait()
				}
				before := s.used
				// Its context ends first, and it is granted the slot before it leaves the queue.
				s.mu.Lock()
				cancel()
				give(s)
				held := s.used - before
				s.give()
				s.mu.Unlock()
				synctest.Wait()
				require.ErrorIs(t, impatient, context.Canceled)
				require.Equal(t, isNext, begun, name)
				require.Empty(t, s.waiters)
				want := before + held
				if isNext {
					want++
				}
				used, _ := s.state()
				require.Equal(t, want, used, name)
			})
		}
	}
}

// A key is released at the moment when its waiter gives up. The waiter begins or gives up, never both and never
// neither.
func TestTurns_OneThatGivesUpAsItsTurnComesEndsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			keys := newSerialKeys()
			require.True(t, keys.acquire(t.Context(), "k", nil, nil))
			ctx, cancel := context.WithCancel(t.Context())
			var begun, gaveUp atomic.Int32
			require.False(t, keys.acquire(ctx, "k", func() { begun.Add(1) }, func() { gaveUp.Add(1) }))
			cancel()
			keys.release("k")
			synctest.Wait()
			require.EqualValues(t, 1, begun.Load()+gaveUp.Load())
			if begun.Load() == 1 {
				keys.release("k")
			}
			require.Empty(t, keys.keys, "the key is free")
		}
	})
}
