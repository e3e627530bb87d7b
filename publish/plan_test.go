package publish

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/publishing"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// ended makes the file's run one whose subtask has ended in a state, or is waiting if it is "", long enough ago.
func (r *rig) ended(state task.State) (runID int64) {
	r.t.Helper()
	key := task.Key{Part: part}
	run := storetest.NewRun(r.t, r.store, now, key)
	r.data("UPDATE publication SET run_id = ?", run.ID)
	if state != "" {
		o := run.Outcome(0, 1, state)
		o.Part = part
		require.Zero(r.t, storetest.Apply(r.t, r.store, o))
	}
	r.clock.add(lostAfter)
	return run.ID
}

func TestReconcile_EndsFilesWhoseSubtasksHaveEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state  task.State
		noted  string
		want   publishing.State
		reason string
	}{
		{task.Failed, "the disk is full", publishing.Failed, "the disk is full"},
		{task.Failed, "", publishing.Failed, "its subtask has failed"},
		{task.Expired, "", publishing.Failed, "its subtask has expired"},
		{task.Cancelled, "the disk is full", publishing.Cancelled, "its subtask was cancelled"},
	} {
		r := newRig(t, nil)
		r.plan()
		r.ended(c.state)
		r.data("UPDATE publication SET error_text = ?", c.noted)
		r.plan()
		require.Equal(t, c.want, r.file(1).State)
		require.Equal(t, c.reason, r.file(1).ErrorText)
	}
}

func TestReconcile_OrdersFilesAgainThatWereTakenOver(t *testing.T) {
	t.Parallel()
	for _, state := range []task.State{task.Superseded, task.Succeeded} {
		r := newRig(t, nil)
		r.plan()
		before := r.ended(state)
		r.data("UPDATE publication SET state = 'visible'")
		r.plan()
		p := r.file(1)
		require.Equal(t, publishing.Visible, p.State, "it may have its name")
		require.NotZero(t, p.RunID)
		require.NotEqual(t, before, p.RunID)
		require.Equal(t, 2, storetest.RowsIn(t, r.store, "manual_order"))
		require.NoError(t, r.run(part))
		require.Equal(t, publishing.Published, r.file(1).State)
	}
}

func TestReconcile_LeavesFilesThatAreStillMade(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.plan()
	r.clock.add(lostAfter)
	r.plan() // The run was not made yet.
	run := r.ended("")
	r.plan() // Its subtask waits.
	require.Equal(t, publishing.Planned, r.file(1).State)
	require.Equal(t, run, r.file(1).RunID)
	r.ended(task.Failed)
	r.data("UPDATE publication SET updated_at = ?", sqldb.At(r.clock.Now().Add(time.Second-lostAfter)))
	r.plan() // Another order's try may be at it.
	require.Equal(t, publishing.Planned, r.file(1).State)
	r.clock.add(time.Second)
	r.plan()
	require.Equal(t, publishing.Failed, r.file(1).State)
}

func TestRelease_FollowsTheSubscription(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		edit string
		want publishing.State
	}{
		{"DELETE FROM subscription", publishing.Cancelled},
		{"UPDATE subscription SET completeness = ''", publishing.Planned},
		{"UPDATE subscription SET cron = 'never'", publishing.Waiting}, // It may be corrected.
		{"UPDATE subscription SET enabled = 0", publishing.Waiting},
	} {
		r := newRig(t, func(s *publishing.Subscription) { s.Completeness = whole })
		r.account(7, "active", "")
		r.plan()
		require.Equal(t, publishing.Waiting, r.file(1).State)
		r.exec(c.edit)
		r.plan()
		require.Equal(t, c.want, r.file(1).State, c.edit)
	}
}

func TestRelease_OfManyFilesOfOneNeed(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *publishing.Subscription) { s.Completeness = whole })
	other := sales()
	other.Name, other.Completeness, other.Since = "other", whole, now.AddDate(0, 0, -1)
	r.put(&other)
	r.account(7, "active", "")
	r.plan()
	require.Len(t, r.files(), 2)
	require.Equal(t, 1, storetest.RowsIn(t, r.store, "publication_need"), "they wait for the same")
	r.pull("2026-11-20", 1_000_000, settled)
	r.plan()
	for _, p := range r.files() {
		require.Equal(t, publishing.Planned, p.State)
	}
	require.Equal(t, 1, storetest.RowsIn(t, r.store, "manual_order"), "one run makes both")
}
