package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestReleaseEach_MakesDueOnlyWhatWaitsForItsOwnRef(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(7)...)
	now, far := storetest.Moment, storetest.Moment.Add(24*time.Hour)
	wait := func(account int64, ref string, due time.Time) {
		o := r.Outcome(account, 1, task.Deferred)
		o.DueAt, o.WaitsFor = due, ref
		storetest.Apply(t, s, o)
	}
	wait(1, task.JobRef("A"), far)
	wait(2, task.JobRef("B"), far)
	wait(3, task.JobRef("C"), now.Add(-time.Hour))
	wait(4, task.JobRef("D"), far)
	wait(5, "", far)
	wait(6, task.JobRef("F"), far)
	storetest.Apply(t, s, r.Outcome(6, 1, task.Succeeded))
	key := func(account int64) task.Key { return r.Outcome(account, 1, task.Deferred).Key }
	refs := map[task.Key]string{
		key(1): task.JobRef("A"),
		key(2): task.JobRef("an earlier one"),
		key(3): task.JobRef("C"),
		key(5): task.JobRef("E"), // It waits for its time.
		key(6): task.JobRef("F"), // It has ended.
		key(7): task.JobRef("G"), // It waits for nothing.
	}
	dueOf := func(all []ledger.Due) map[int64]time.Time {
		byAccount := map[int64]time.Time{}
		for _, d := range all {
			byAccount[d.AccountID] = d.DueAt.UTC()
			require.Equal(t, key(d.AccountID), d.Key)
			require.Equal(t, task.Deferred, d.State)
			require.Equal(t, 1, d.Delivery)
		}
		return byAccount
	}

	released, err := s.ReleaseEach(t.Context(), refs, now)
	require.NoError(t, err)
	require.Equal(t, map[int64]time.Time{1: now.UTC(), 3: now.Add(-time.Hour).UTC()}, dueOf(released))
	require.ElementsMatch(t, []int64{1, 3}, dueAt(t, s, now))
	require.ElementsMatch(t, []int64{1, 2, 3, 4, 5}, dueAt(t, s, far), "none is lost")

	released, err = s.ReleaseEach(t.Context(), refs, now)
	require.NoError(t, err)
	require.Empty(t, released, "they no longer wait for their refs")
	require.ElementsMatch(t, []int64{1, 3}, dueAt(t, s, now))

	released, err = s.ReleaseEach(t.Context(), nil, now)
	require.NoError(t, err)
	require.Empty(t, released)
}
