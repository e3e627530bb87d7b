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

func TestChecker_QuestionsGatherWhileAQueryIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		s := &fakeStore{hold: hold, states: map[task.Key]ledger.SubtaskStatus{}}
		for i := range int64(20) {
			s.states[task.Key{RunID: 1, AccountID: i}] = ledger.SubtaskStatus{State: task.Waiting, Delivery: int(i)}
		}
		c := newChecker(s, noCauses())
		c.start()
		defer c.close()
		got := make([]int, 20)
		for i := range 20 {
			go func() {
				status, found, err := c.ask(t.Context(), task.Key{RunID: 1, AccountID: int64(i)})
				if err == nil && found {
					got[i] = status.Delivery
				}
			}()
			synctest.Wait()
		}
		require.Len(t, s.asked, 1, "the first goes at once")
		close(hold)
		synctest.Wait()
		require.Len(t, s.asked, 2, "the others go together")
		require.Len(t, s.asked[1], 19)
		for i := range 20 {
			require.Equal(t, i, got[i], "each gets its own answer")
		}
		_, found, err := c.ask(t.Context(), task.Key{RunID: 2})
		require.NoError(t, err)
		require.False(t, found)
	})
}

func TestChecker_WaitsOutAStoreThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		key := task.Key{RunID: 1}
		s := &fakeStore{fail: errors.New("connection refused"),
			states: map[task.Key]ledger.SubtaskStatus{key: {State: task.Waiting}}}
		c := newChecker(s, noCauses())
		c.start()
		defer c.close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _, err := c.ask(ctx, key)
		require.ErrorIs(t, err, context.DeadlineExceeded, "only the end of the context is an error")

		time.AfterFunc(time.Hour, func() { s.set(func(f *fakeStore) { f.fail = nil }) })
		status, found, err := c.ask(t.Context(), key)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, task.Waiting, status.State)
	})
}
