package consumer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/timer"
)

// heardTimer keeps what was stored in the timer.
type heardTimer struct {
	entries []timer.Entry
	message *fakeMessage
	done    []int64 // how many messages were finished at each call
}

func (t *heardTimer) Add(_ context.Context, entries []timer.Entry) {
	t.entries = append(t.entries, entries...)
	t.done = append(t.done, int64(t.message.done.Load()))
}

func TestOutcomes_TellTheTimerWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newTestOutcomes(t, 3)
		var m fakeMessage
		heard := &heardTimer{message: &m}
		o.timer = heard
		o.start()
		due := time.Now().Add(time.Minute)
		for account, state := range map[int64]task.State{1: task.Succeeded, 2: task.Retrying, 3: task.Failed} {
			f := outcomeOf(account, &m)
			f.outcome.State, f.outcome.Delivery = state, 4
			if state == task.Retrying {
				f.outcome.DueAt = due
			}
			o.add(t.Context(), f)
		}
		o.close()
		require.Equal(t, []int{3}, s.sizes())
		require.Equal(t, []timer.Entry{{Key: task.Key{RunID: 1, AccountID: 2}, Delivery: 4, DueAt: due}}, heard.entries)
		require.Equal(t, []int64{3}, heard.done, "after the rows say so, and holding up no message")
	})
}

// staleStore reports every outcome as older than its row.
type staleStore struct{ *fakeStore }

func (s staleStore) ApplyOutcomes(ctx context.Context, outcomes []ledger.Outcome) (int, error) {
	_, err := s.fakeStore.ApplyOutcomes(ctx, outcomes)
	return len(outcomes), err
}

func TestOutcomes_LateOnesAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newTestOutcomes(t, 3)
		o.store = staleStore{s}
		o.start()
		var m fakeMessage
		o.add(t.Context(), outcomeOf(1, &m))
		o.add(t.Context(), outcomeOf(2, &m))
		o.close()
		require.Equal(t, 2.0, testutil.ToFloat64(o.metrics.stale))
		require.EqualValues(t, 2, m.done.Load(), "their messages are finished like any other")
	})
}
