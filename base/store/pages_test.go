package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// Work in pieces must continue after the first piece, where that ended: a page may end between two parts of an
// account. The lists are those of ledger and dead and use one method, so the test is in the package above both.
func TestPages_MayEndBetweenThePartsOfAnAccount(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.New(t)
	var keys []task.Key
	for account := range int64(3) {
		for _, part := range []string{"a", "b", "c"} {
			keys = append(keys, task.Key{AccountID: account + 1, Part: part})
		}
	}
	open := storetest.NewRun(t, s, storetest.Moment, keys...)
	failed := storetest.Died(t, s, 7, storetest.Moment.Add(time.Hour), "it failed", keys...)
	const redrive = 99
	require.NoError(t, s.Data.Writer(ctx).Exec("UPDATE subtask_dead SET dead_at = ?, redrive_run_id = ?",
		sqldb.At(storetest.Moment), redrive).Error)
	waiting := storetest.NewRun(t, s, storetest.Moment.Add(2*time.Hour), keys...)
	outcomes := make([]ledger.Outcome, len(keys))
	for i, k := range keys {
		outcomes[i] = waiting.Outcome(k.AccountID, 1, task.Retrying)
		outcomes[i].Part = k.Part
	}
	storetest.Apply(t, s, outcomes...)

	type page struct {
		keys []task.Key
		more func() page // nil if there is none
	}
	var first func(after ledger.AccountPart, limit int) page
	first = func(after ledger.AccountPart, limit int) (p page) {
		found, err := s.FirstDeliveries(ctx, ledger.RunningRun{ID: open.ID}, after, limit)
		require.NoError(t, err)
		for _, x := range found {
			p.keys = append(p.keys, x.Key)
			p.more = func() page { return first(ledger.AccountPart{AccountID: x.AccountID, Part: x.Part}, limit) }
		}
		return p
	}
	var stopped func(after task.Key, limit int) page
	stopped = func(after task.Key, limit int) (p page) {
		found, err := s.OpenSubtasksOf(ctx, open.ID, after, limit)
		require.NoError(t, err)
		for _, x := range found {
			p.keys = append(p.keys, x.Key)
			p.more = func() page { return stopped(x.Key, limit) }
		}
		return p
	}
	var ofRun func(after ledger.AccountPart, limit int) page
	ofRun = func(after ledger.AccountPart, limit int) (p page) {
		found, next, err := s.RunSubtasks(ctx, open.ID, ledger.SubtaskFilter{}, after, limit)
		require.NoError(t, err)
		for i := range found {
			p.keys = append(p.keys, found[i].Key)
		}
		if next != nil {
			p.more = func() page { return ofRun(*next, limit) }
		}
		return p
	}
	var ofAccount func(account int64, after task.Key, limit int) page
	ofAccount = func(account int64, after task.Key, limit int) (p page) {
		found, next, err := s.AccountSubtasks(ctx, settings.Account{ID: account, Media: "acme"}, ledger.SubtaskFilter{},
			storetest.Moment.Add(-time.Hour), storetest.Moment.Add(time.Minute), after, limit)
		require.NoError(t, err)
		for i := range found {
			p.keys = append(p.keys, found[i].Key)
		}
		switch {
		case next != nil:
			p.more = func() page { return ofAccount(account, *next, limit) }
		case account < 3:
			p.more = func() page { return ofAccount(account+1, task.Key{}, limit) }
		}
		return p
	}
	var wait func(after ledger.WaitingPlace, limit int) page
	wait = func(after ledger.WaitingPlace, limit int) (p page) {
		found, next, err := s.WaitingSubtasks(ctx, ledger.WaitingFilter{}, after, limit)
		require.NoError(t, err)
		for i := range found {
			p.keys = append(p.keys, found[i].Key)
		}
		if next != nil {
			p.more = func() page { return wait(*next, limit) }
		}
		return p
	}
	var dying func(after dead.DeadPlace, limit int) page
	dying = func(after dead.DeadPlace, limit int) (p page) {
		found, _, err := s.ListDead(ctx, task.DeadFilter{}, after, limit)
		require.NoError(t, err)
		for i := range found {
			p.keys = append(p.keys, found[i].Key)
			p.more = func() page { return dying(dead.DeadPlace{At: found[i].DeadAt, Key: found[i].Key}, limit) }
		}
		return p
	}
	var marked func(after int64, limit int) page
	marked = func(after int64, limit int) (p page) {
		found, through, last, err := s.MarkedParts(ctx, redrive, after, limit)
		require.NoError(t, err)
		for _, x := range found {
			p.keys = append(p.keys, task.Key{RunID: failed, AccountID: x.AccountID, Part: x.Part})
		}
		if !last {
			p.more = func() page { return marked(through, limit) }
		}
		return p
	}
	for name, list := range map[string]struct {
		run   int64
		begin func(limit int) page
	}{
		"first deliveries":       {open.ID, func(limit int) page { return first(ledger.AccountPart{AccountID: -1}, limit) }},
		"open subtasks":          {open.ID, func(limit int) page { return stopped(task.Key{AccountID: -1}, limit) }},
		"subtasks of a run":      {open.ID, func(limit int) page { return ofRun(ledger.AccountPart{}, limit) }},
		"subtasks of accounts":   {open.ID, func(limit int) page { return ofAccount(1, task.Key{}, limit) }},
		"subtasks that wait":     {waiting.ID, func(limit int) page { return wait(ledger.WaitingPlace{}, limit) }},
		"dead subtasks":          {failed, func(limit int) page { return dying(dead.DeadPlace{}, limit) }},
		"the parts of a redrive": {failed, func(limit int) page { return marked(0, limit) }},
	} {
		want := make([]task.Key, len(keys))
		for i, k := range keys {
			want[i] = task.Key{RunID: list.run, AccountID: k.AccountID, Part: k.Part}
		}
		for limit := 1; limit <= len(keys)+1; limit++ {
			p := list.begin(limit)
			got := p.keys
			for pages := 0; p.more != nil; pages++ {
				require.Less(t, pages, 2*len(keys), "%s by %d", name, limit)
				p = p.more()
				got = append(got, p.keys...)
			}
			require.ElementsMatch(t, want, got, "%s by %d", name, limit)
		}
	}
}
