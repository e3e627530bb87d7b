package exclusion_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/exclusion"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func hold(key string, k task.Key, delivery int) exclusion.SerialHold {
	return exclusion.SerialHold{SerialKey: key, Key: k, Delivery: delivery}
}

func TestSerialKeys_OneSubtaskHoldsAKey(t *testing.T) {
	t.Parallel()
	s, ctx := storetest.New(t), t.Context()
	a, b := hold("sales", task.Key{RunID: 1, Part: "p"}, 1), hold("sales", task.Key{RunID: 2, Part: "p"}, 1)
	claim := func(want exclusion.SerialHold) exclusion.SerialHold {
		holder, err := s.ClaimSerialKey(ctx, want)
		require.NoError(t, err)
		return holder
	}
	require.Equal(t, a, claim(a))
	require.Equal(t, a, claim(a), "a claim may be repeated")
	require.Equal(t, a, claim(b))
	other := hold("Sales", b.Key, 1)
	require.Equal(t, other, claim(other), "keys differ by case")
	again := hold("sales", a.Key, 2)
	require.Equal(t, again, claim(again), "its next delivery takes the key over")
	require.Equal(t, again, claim(a), "which an earlier one does not")
	require.NoError(t, s.ReleaseSerialKey(ctx, a), "nor does it release it")
	require.Equal(t, again, claim(b))
	require.NoError(t, s.ReleaseSerialKey(ctx, again))
	require.Equal(t, b, claim(b))
}

func TestSerialKeys_ClaimsAtTheSameTimeHaveOneWinner(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	for round := range 5 {
		var won atomic.Int32
		var claiming sync.WaitGroup
		for i := range int64(8) {
			claiming.Go(func() {
				want := hold("k", task.Key{RunID: int64(round)*100 + i + 1, Part: "p"}, 1)
				holder, err := s.ClaimSerialKey(t.Context(), want)
				if err == nil && holder == want {
					won.Add(1)
					err = s.ReleaseSerialKey(t.Context(), want)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		claiming.Wait()
		require.Positive(t, won.Load())
	}
	require.Zero(t, storetest.RowsIn(t, s, "serial_hold"))
}

// The leader frees the keys of subtasks that no longer work, and no others.
func TestReleaseEnded_SerialKeys(t *testing.T) {
	t.Parallel()
	s, ctx := storetest.New(t), t.Context()
	now := time.Now().UTC().Truncate(time.Millisecond)
	run := storetest.NewRun(t, s, now, storetest.Keys(6)...)
	deferred := func(account int64, outside bool) ledger.Outcome {
		o := run.Outcome(account, 1, task.Deferred)
		o.DueAt, o.Outside = now.Add(time.Hour), outside
		return o
	}
	retrying := run.Outcome(3, 1, task.Retrying)
	retrying.DueAt = now.Add(time.Hour)
	storetest.Apply(t, s, run.Outcome(2, 1, task.Succeeded), retrying, deferred(4, false), deferred(5, true))
	for account, key := range []string{1: "waits", 2: "ended", 3: "retries", 4: "deferred", 5: "outside", 6: "waits too"} {
		if account == 0 {
			continue
		}
		_, err := s.ClaimSerialKey(ctx, hold(key, run.Outcome(int64(account), 1, task.Waiting).Key, 1))
		require.NoError(t, err)
	}
	_, err := s.ClaimSerialKey(ctx, hold("gone", task.Key{RunID: 5, Part: "p"}, 1))
	require.NoError(t, err)
	require.NoError(t, s.ReleaseEnded(ctx))
	require.Equal(t, 3, storetest.RowsIn(t, s, "serial_hold"))
	require.Equal(t, 3, storetest.Int(t, s,
		"SELECT COUNT(*) FROM serial_hold WHERE serial_key IN ('waits', 'outside', 'waits too')"))

	due, err := s.DueOf(ctx, []task.Key{deferred(5, true).Key, deferred(4, true).Key})
	require.NoError(t, err)
	l := storetest.Lead(t, s, "leader")
	var list []ledger.Due
	for _, d := range due {
		require.Equal(t, d.AccountID == 5, d.Outside)
		list = append(list, d)
	}
	sent, err := s.NextDeliveries(ctx, l, list, now)
	require.NoError(t, err)
	require.Len(t, sent, 2)
	for _, d := range sent {
		require.Equal(t, d.AccountID == 5, d.Outside, "the next delivery knows that it looks after work outside")
	}
	require.NoError(t, s.ReleaseEnded(ctx))
	require.Equal(t, 3, storetest.RowsIn(t, s, "serial_hold"), "the key stays while the next delivery is on its way")
}
