package ledger_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/lease"
	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// followed makes a run whose task has an application.
func followed(t *testing.T, s *store.Store, keys ...task.Key) storetest.Run {
	t.Helper()
	r := storetest.NewRun(t, s, storetest.Moment, keys...)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE run SET application = 'shop' WHERE id = ?", r.ID).Error)
	return r
}

// notices returns all notices that were not deleted, by slot.
func notices(t *testing.T, s *store.Store, l lease.Lease) []ledger.Notice {
	t.Helper()
	var all []ledger.Notice
	for slot := range ledger.NoticeSlots {
		some, err := s.Notices(t.Context(), l, slot, 10_000)
		require.NoError(t, err)
		all = append(all, some...)
	}
	return all
}

// bySubject groups notices, each group in its order.
func bySubject(all []ledger.Notice) map[ledger.Subject][]ledger.Notice {
	groups := map[ledger.Subject][]ledger.Notice{}
	for _, n := range all {
		groups[n.Subject] = append(groups[n.Subject], n)
	}
	return groups
}

func TestNotices_TellEachEndOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	r := followed(t, s, append(storetest.Keys(3), task.Key{AccountID: 1, Part: "e"}, task.Key{Part: "file"})...)
	quiet := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(1)...)

	dead := r.Outcome(2, 1, task.Failed)
	dead.TimedOut, dead.TraceID = true, "4bf92f3577b34da6a3ce929d0e0e4736"
	other, file := r.Outcome(1, 1, task.Succeeded), r.Outcome(0, 1, task.Succeeded)
	other.Part, file.Part = "e", "file"
	file.Files = []task.File{{ID: "9", Subscription: "sales", Revision: 2, Destination: "shelf", Name: "a.csv", Rows: 3,
		Bytes: 70, SHA256: "ab", Incomplete: true}}
	batch := []ledger.Outcome{
		r.Outcome(1, 1, task.Succeeded), dead, r.Outcome(3, 1, task.Deferred), other, file,
		quiet.Outcome(1, 1, task.Succeeded),
	}
	require.Zero(t, storetest.Apply(t, s, batch...))
	require.Equal(t, len(batch)-1, storetest.Apply(t, s, batch...), "only the one that waits is written again")

	oldest, err := s.OldestNotice(t.Context())
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), oldest, time.Hour)
	groups := bySubject(notices(t, s, l))
	require.Len(t, groups, 3)
	first := groups[ledger.Subject{TaskID: 7, AccountID: 1}]
	require.Len(t, first, 2, "an account is one subject, whatever its parts")
	require.Equal(t, []int64{1, 2}, []int64{first[0].Seq, first[1].Seq})
	require.Equal(t, ledger.Notice{
		Subject: ledger.Subject{TaskID: 7, AccountID: 2}, Seq: 1, Application: "shop", TaskName: "report", Media: "acme",
		Handler: "acme.report", RunID: r.ID, Part: "d", PlannedAt: storetest.Moment, State: task.Failed, TimedOut: true,
		Attempt: 1, ErrorClass: "transient", Text: "timeout after 30 s", Rows: 3, Calls: 2,
		TraceID:   "4bf92f3577b34da6a3ce929d0e0e4736",
		StartedAt: storetest.Moment, EndedAt: storetest.Moment.Add(time.Second),
	}, groups[ledger.Subject{TaskID: 7, AccountID: 2}][0])
	require.Equal(t, "7/2", groups[ledger.Subject{TaskID: 7, AccountID: 2}][0].Subject.String())
	of := ledger.Subject{TaskID: 7, Part: "file"}
	require.Len(t, groups[of], 1)
	require.Equal(t, "7/file", of.String())
	require.Equal(t, file.Files, groups[of][0].Files)

	// A later run continues the numbers, also after the notices were deleted.
	require.NoError(t, s.DeleteNotices(t.Context(), notices(t, s, l)))
	require.Empty(t, notices(t, s, l))
	oldest, err = s.OldestNotice(t.Context())
	require.NoError(t, err)
	require.True(t, oldest.IsZero())
	later := followed(t, s, storetest.Keys(1)...)
	require.Zero(t, storetest.Apply(t, s, later.Outcome(1, 1, task.Succeeded)))
	require.Equal(t, int64(3), notices(t, s, l)[0].Seq)
}

// A message that Kafka refuses would block those after it.
func TestNotices_AreBounded(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	r := followed(t, s, task.Key{Part: "file"})
	text := strings.Repeat("\u2028", 100_000) // JSON has six bytes for each
	o := r.Outcome(0, 1, task.Succeeded)
	o.Part = "file"
	for range task.FilesMax + 1 {
		o.Files = append(o.Files, task.File{ID: text, Subscription: text, Destination: text, Name: text, SHA256: text})
	}
	require.Zero(t, storetest.Apply(t, s, o))
	require.Equal(t, text, o.Files[0].Name, "the caller's outcome stays")
	all := notices(t, s, l)
	require.Len(t, all, 1)
	require.Len(t, all[0].Files, task.FilesMax)
	message, err := json.Marshal(all[0])
	require.NoError(t, err)
	require.Less(t, len(message), 1<<18, "a quarter of what Kafka takes")
}

func TestNotices_TheLeadersOutcomesHaveThemToo(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	r := followed(t, s, storetest.Keys(1)...)
	o := r.Outcome(1, 1, task.Cancelled)
	o.StartedAt, o.Reason = time.Time{}, "by ann"
	_, err := s.ApplyLeaderOutcomes(t.Context(), l, []ledger.Outcome{o})
	require.NoError(t, err)
	all := notices(t, s, l)
	require.Len(t, all, 1)
	require.Equal(t, "by ann", all[0].Text)
	require.True(t, all[0].StartedAt.IsZero())

	_, err = s.Notices(t.Context(), lease.Lease{Epoch: l.Epoch - 1, Holder: "z"}, slotOf(t, s, l), 10)
	require.ErrorIs(t, err, lease.ErrStaleLease)
}

// Tasks without an application pay nothing.
func TestNotices_CostThreeStatementsABatch(t *testing.T) {
	t.Parallel()
	took := map[string]int{}
	for _, application := range []string{"", "shop"} {
		s := storetest.New(t)
		r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(25)...)
		require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE run SET application = ?", application).Error)
		var batch []ledger.Outcome
		for account := range int64(25) {
			batch = append(batch, r.Outcome(account+1, 1, task.Succeeded))
		}
		took[application] = sqldbtest.Statements(s.Data, func() { require.Zero(t, storetest.Apply(t, s, batch...)) })
	}
	require.Equal(t, took[""]+3, took["shop"], "their numbers are raised and read, and they are written")
}

// slotOf returns a slot that has a notice.
func slotOf(t *testing.T, s *store.Store, l lease.Lease) int {
	t.Helper()
	for slot := range ledger.NoticeSlots {
		some, err := s.Notices(t.Context(), l, slot, 1)
		require.NoError(t, err)
		if len(some) > 0 {
			return slot
		}
	}
	require.Fail(t, "there is no notice")
	return 0
}

// Consumers end subtasks of the same accounts at the same time, in batches of several runs. A reader sees meanwhile
// the numbers of a subject without a gap.
func TestNotices_AreNumberedWithoutGapsByManyWriters(t *testing.T) {
	t.Parallel()
	const runs, accounts = 12, 20
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	var all []storetest.Run
	for range runs {
		all = append(all, followed(t, s, storetest.Keys(accounts)...))
	}
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for part := range accounts / 5 {
				var batch []ledger.Outcome
				for i := w; i < runs; i += 4 {
					for account := part * 5; account < part*5+5; account++ {
						batch = append(batch, all[i].Outcome(int64(account+1), 1, task.Succeeded))
					}
				}
				_, err := s.ApplyOutcomes(t.Context(), batch)
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		writers.Wait()
		close(done)
	}()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		for of, list := range bySubject(notices(t, s, l)) {
			for i, n := range list {
				require.Equal(t, int64(i+1), n.Seq, "of %s", of)
			}
		}
	}
	groups := bySubject(notices(t, s, l))
	require.Len(t, groups, accounts)
	for of, list := range groups {
		require.Len(t, list, runs, "of %s", of)
	}
}
