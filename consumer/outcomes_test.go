package consumer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/task"
)

func newTestOutcomes(t *testing.T, size int) (*outcomes, *fakeStore) {
	t.Helper()
	c, s, _ := newFaked(t)
	cfg := DefaultConfig()
	cfg.OutcomeBatch = size
	return newOutcomes(cfg, s, c.recent, c.metrics, noCauses()), s
}

func outcomeOf(account int64, m ending) finished {
	return finished{outcome: ledger.Outcome{Key: task.Key{RunID: 1, AccountID: account}, Delivery: 1,
		State: task.Succeeded}, message: m}
}

func TestOutcomes_WaitForOthersAndThenFinishTheirMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newTestOutcomes(t, 3)
		o.start()
		defer o.close()
		var m fakeMessage
		o.add(t.Context(), outcomeOf(1, &m))
		time.Sleep(49 * time.Millisecond)
		synctest.Wait()
		require.Empty(t, s.sizes(), "it waits for company")
		o.add(t.Context(), outcomeOf(2, &m))
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(t, []int{2}, s.sizes(), "but not longer than the interval")
		require.EqualValues(t, 2, m.done.Load())
		for i := range int64(7) {
			o.add(t.Context(), outcomeOf(10+i, &m))
		}
		synctest.Wait()
		require.Equal(t, []int{2, 3, 3}, s.sizes(), "full batches do not wait at all")
		require.True(t, o.recent.has(sent{Key: task.Key{RunID: 1, AccountID: 2}, delivery: 1}))
	})
}

func TestOutcomes_AreWrittenInTheEndHoweverOftenTheStoreFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newTestOutcomes(t, 3)
		o.start()
		defer o.close()
		s.set(func(f *fakeStore) { f.fail = errors.New("connection refused") })
		var m fakeMessage
		o.add(t.Context(), outcomeOf(1, &m))
		time.Sleep(time.Hour)
		require.Zero(t, m.done.Load(), "a message is not finished before its outcome is written")
		require.ErrorContains(t, o.problem(), "connection refused")
		s.set(func(f *fakeStore) { f.fail = nil })
		time.Sleep(storePauseMax)
		synctest.Wait()
		require.EqualValues(t, 1, m.done.Load())
		require.NoError(t, o.problem())
	})
}

func TestOutcomes_ASlowStoreHoldsTheWorkersBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newTestOutcomes(t, 2)
		hold := make(chan struct{})
		s.set(func(f *fakeStore) { f.hold = hold })
		o.start()
		var m fakeMessage
		added := 0
		go func() {
			for i := range int64(100) {
				o.add(t.Context(), outcomeOf(i, &m))
				added++
			}
		}()
		synctest.Wait()
		require.Equal(t, outcomeWriters*2+outcomeQueue*2, added, "batches are being written and the queue is full")
		close(hold)
		synctest.Wait()
		require.Equal(t, 100, added)
		o.close()
		require.EqualValues(t, 100, m.done.Load(), "closing writes what is left")
	})
}

func TestOutcomes_CloseGivesUpOnAStoreThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newTestOutcomes(t, 2)
		s.set(func(f *fakeStore) { f.hold = make(chan struct{}) })
		o.start()
		var m fakeMessage
		for i := range int64(5) {
			o.add(t.Context(), outcomeOf(i, &m))
		}
		began := time.Now()
		o.close()
		require.Equal(t, flushGrace, time.Since(began))
		require.Zero(t, m.done.Load())
		require.EqualValues(t, 5, m.abandoned.Load(), "they come again")
		o.add(t.Context(), outcomeOf(9, &m))
		require.EqualValues(t, 6, m.abandoned.Load(), "what comes too late is not taken")
	})
}

func TestOutcomes_AddGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, _ := newTestOutcomes(t, 1)
		var m fakeMessage
		for i := range int64(outcomeQueue) {
			o.queue <- outcomeOf(i, &m)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		o.add(ctx, outcomeOf(9, &m))
		require.EqualValues(t, 1, m.abandoned.Load())
	})
}
