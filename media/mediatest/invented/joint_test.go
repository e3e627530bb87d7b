package invented_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/ratelimit"
	"adsync/media"
)

const jointDay = day.Day("2026-11-20")

// newJointWorld has four accounts of one login in China, as many as one query covers, with spend of 1 to 4.
func newJointWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, `{"id":901,"name":"A"}`, `{"id":902,"name":"B"}`, `{"id":903,"name":"C"}`, `{"id":904,"name":"D"}`)
	for id := 901; id <= 904; id++ {
		w.rows[fmt.Sprint("report_daily ", id)] = []string{jointRow(id, fmt.Sprint(id-900))}
	}
	return w
}

func jointRow(account int, spend string) string {
	return fmt.Sprintf(`{"account":%d,"date":%q,"figures":{"spend":%s}}`, account, jointDay, spend)
}

// pullAll pulls the day of all accounts at once, and returns the error of each and the accounts of each query.
func (w *world) pullAll() (failed map[int64]error, asked []string) {
	var mu sync.Mutex
	var pulls sync.WaitGroup
	failed = map[int64]error{}
	for id := range w.accounts {
		pulls.Go(func() {
			err := w.pull(id, "report_daily", jointDay)
			mu.Lock()
			defer mu.Unlock()
			failed[id] = err
		})
	}
	pulls.Wait()
	return failed, w.asked[1:] // The first call was for the list of accounts.
}

// whole are the costs of all accounts when each was pulled.
var whole = []string{"1 1000000", "2 2000000", "3 3000000", "4 4000000"}

func (w *world) costs() []string {
	w.t.Helper()
	return w.query("SELECT account_id, cost FROM report_daily ORDER BY account_id")
}

// laterBy returns when d has passed in the database's time, and returns that time.
func (w *world) laterBy(d time.Duration) (now time.Time) {
	began, err := w.Data.Now(w.t.Context())
	require.NoError(w.t, err)
	require.Eventually(w.t, func() bool {
		now, err = w.Data.Now(w.t.Context())
		return err == nil && now.After(began.Add(d))
	}, time.Minute, time.Millisecond)
	return now
}

func TestJoint_OneQueryReadsAllAccountsAndEachHasItsRows(t *testing.T) {
	t.Parallel()
	w := newJointWorld(t)
	failed, asked := w.pullAll()
	for id := range w.accounts {
		require.NoError(t, failed[id])
		coverage, err := w.ReadCoverage(t.Context(), id, jointDay, jointDay)
		require.NoError(t, err)
		require.NotZero(t, coverage[0].CompleteVersion)
	}
	require.Equal(t, []string{"901,902,903,904"}, asked)
	require.Equal(t, 1, w.calls, "the call counts for one subtask")
	require.Equal(t, whole, w.costs())
}

func TestJoint_ARefusedAccountLeavesTheOthersWhole(t *testing.T) {
	t.Parallel()
	w := newJointWorld(t)
	refusal := &media.Error{Class: media.Invalid, Code: "46", Message: "not yours", Parks: media.Revoked}
	w.answer = func(_ context.Context, ids, rows []string) ([]string, error) {
		if slices.Contains(ids, "903") {
			return nil, refusal
		}
		return rows, nil
	}
	failed, asked := w.pullAll()
	require.ErrorIs(t, failed[3], refusal)
	for _, id := range []int64{1, 2, 4} {
		require.NoError(t, failed[id])
	}
	sizes := make([]int, 0, len(asked))
	for _, ids := range asked {
		sizes = append(sizes, len(strings.Split(ids, ",")))
	}
	require.ElementsMatch(t, []int{4, 2, 2, 1, 1}, sizes, "all, each half, and the accounts of the refused half")
	require.Equal(t, slices.Delete(slices.Clone(whole), 2, 3), w.costs())
}

// A platform's answer to a joint query, and how many calls are made.
func TestJoint_AnAnswerThatIsInDoubtIsReadAgainForEachAccountAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer func(rows []string) ([]string, error)
		calls  int
	}{
		"an account is left out": {func(rows []string) ([]string, error) { return rows[1:], nil }, 2},
		"another account's row": {func(rows []string) ([]string, error) { return append(rows, jointRow(905, "7")), nil },
			5},
		"a row without its account": {func(rows []string) ([]string, error) {
			return append(rows, `{"date":"2026-11-20","figures":{"spend":5}}`), nil
		}, 5},
		"a row that came twice, in each of three readings": {func(rows []string) ([]string, error) {
			return append(rows, rows[0]), nil
		}, 7},
		"a failure": {func([]string) ([]string, error) {
			return nil, &media.Error{Class: media.Transient, Message: "busy"}
		}, 5},
		"the end of the subtask that calls": {func([]string) ([]string, error) { return nil, context.Canceled }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newJointWorld(t)
			w.answer = func(_ context.Context, ids, rows []string) ([]string, error) {
				if len(ids) == 1 {
					return rows, nil
				}
				return test.answer(rows)
			}
			failed, asked := w.pullAll()
			for id, err := range failed {
				require.NoError(t, err, "account %d", id)
			}
			require.Len(t, asked, test.calls)
			require.Equal(t, test.calls, w.calls)
			require.Equal(t, whole, w.costs())
		})
	}
}

// Limits, the token and retired fields concern all accounts of the login.
func TestJoint_AnErrorOfTheLoginIsTheAnswerOfAll(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{&media.Error{Class: media.Quota}, &media.Error{Class: media.Auth},
		&media.Error{Class: media.Bug, Field: "clicks"}, &media.DeferError{After: time.Minute, Reason: "a limit"}} {
		w := newJointWorld(t)
		w.answer = func(context.Context, []string, []string) ([]string, error) { return nil, refusal }
		failed, asked := w.pullAll()
		for id := range w.accounts {
			require.ErrorIs(t, failed[id], refusal)
		}
		require.Len(t, asked, 1)
	}
}

func TestJoint_AnAccountWhoseFenceIsLostLosesOnlyItsRows(t *testing.T) {
	t.Parallel()
	w := newJointWorld(t)
	w.answer = func(_ context.Context, ids, rows []string) ([]string, error) {
		if len(ids) == 1 {
			return []string{jointRow(902, "20")}, nil
		}
		// A newer pull of the second account is whole before the joint query is answered.
		w.laterBy(2 * time.Millisecond)
		return rows, w.try(2, "report_daily", jointDay, 1)
	}
	failed, _ := w.pullAll()
	require.ErrorIs(t, failed[2], media.ErrSuperseded)
	for _, id := range []int64{1, 3, 4} {
		require.NoError(t, failed[id])
	}
	require.Equal(t, []string{"1 1000000", "2 20000000", "3 3000000", "4 4000000"}, w.costs())
}

// The figures of every account are as new as the call, whichever subtask made it.
func TestJoint_AllClaimsGetTheVersionOfTheCall(t *testing.T) {
	t.Parallel()
	w := newJointWorld(t)
	var granted int64
	w.answer = func(ctx context.Context, _, rows []string) ([]string, error) {
		granted = w.laterBy(time.Second).UnixMicro()
		ratelimit.Granted(ctx)
		return rows, nil
	}
	_, asked := w.pullAll()
	require.Len(t, asked, 1)
	var oldest int64
	require.NoError(t, w.Data.Writer(t.Context()).Raw("SELECT MIN(claimed_version) FROM coverage").Row().Scan(&oldest))
	require.Greater(t, oldest, granted-500_000, "not of a second before")
}

func TestJoint_OnlyAccountsOfOneLoginZoneAndCurrencyAreAskedTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{"id":901,"name":"A"}`, `{"id":902,"name":"B","timezone":"Asia/Tokyo"}`,
		`{"id":903,"name":"C","currency":"USD"}`, `{"id":904,"name":"D"}`)
	other := w.accounts[4]
	other.TokenID = 2
	w.accounts[4] = other
	failed, asked := w.pullAll()
	require.NoError(t, errors.Join(failed[1], failed[2], failed[3], failed[4]))
	require.ElementsMatch(t, []string{"901", "902", "903", "904"}, asked)
}

// An important subtask does not wait for the call of a less important one.
func TestJoint_OnlyAccountsOfOneImportanceAreAskedTogether(t *testing.T) {
	t.Parallel()
	w := newJointWorld(t)
	w.terms = func(account int64) ratelimit.Terms { return ratelimit.Terms{Importance: int(account)} }
	_, asked := w.pullAll()
	require.ElementsMatch(t, []string{"901", "902", "903", "904"}, asked)
}

func TestJoint_SubtasksThatWaitForAnAnswerAreKnownToWait(t *testing.T) {
	t.Parallel()
	w := newJointWorld(t)
	var waits, ends atomic.Int32
	w.terms = func(int64) ratelimit.Terms {
		return ratelimit.Terms{AroundWait: func() (after func()) {
			waits.Add(1)
			return func() { ends.Add(1) }
		}}
	}
	w.answer = func(_ context.Context, _, rows []string) ([]string, error) {
		require.Zero(t, ends.Load())
		require.Eventually(t, func() bool { return waits.Load() == 3 }, time.Minute, time.Millisecond)
		return rows, nil
	}
	_, asked := w.pullAll()
	require.Len(t, asked, 1)
	require.EqualValues(t, 3, ends.Load(), "the one that calls waits for its grant only")
}
