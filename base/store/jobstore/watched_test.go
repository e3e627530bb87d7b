package jobstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/jobstore"
)

// watched returns the job of a subtask and the subtask.
func watched(at time.Time, name string) (jobstore.Job, jobstore.Subtask) {
	j := job(at, name)
	j.ID, j.TTR = jobstore.WatchedID(at, name), 10*time.Minute
	return j, jobstore.Subtask{RunID: 71, AccountID: 3, Part: name, Attempt: 2, TaskID: 5, Media: "tulip"}
}

// publishWatched publishes the job of a subtask and returns what is known of it.
func (b bench) publishWatched(name string, now time.Time) jobstore.Watched {
	b.t.Helper()
	j, of := watched(noon, name)
	w, err := b.PublishWatched(b.t.Context(), j, of, now)
	require.NoError(b.t, err)
	return w
}

// due returns the watched jobs that are to be looked at, by their parts.
func (b bench) due(now time.Time) map[string]jobstore.Watched {
	b.t.Helper()
	all, err := b.WatchedDue(b.t.Context(), 100, now)
	require.NoError(b.t, err)
	byPart := map[string]jobstore.Watched{}
	for _, w := range all {
		byPart[w.Part] = w
	}
	return byPart
}

func TestNewID_IsOfAWatchedJobOnlyIfItIsMadeSo(t *testing.T) {
	t.Parallel()
	for i := range 500 {
		at := noon.Add(time.Duration(i) * time.Millisecond)
		require.False(t, jobstore.NewID(at, i%2 == 0).Watched())
		require.True(t, jobstore.WatchedID(at, fmt.Sprint(i)).Watched())
	}
	again := jobstore.WatchedID(noon, "a")
	require.Equal(t, again, jobstore.WatchedID(noon, "a"))
	require.NotEqual(t, jobstore.WatchedID(noon, "a"), jobstore.WatchedID(noon, "b"))
	require.NotEqual(t, jobstore.WatchedID(noon, "a"), jobstore.WatchedID(noon.Add(time.Millisecond), "a"))
	require.Equal(t, noon, jobstore.WatchedID(noon, "a").Published())
}

func TestPublishWatched_MakesOneJobAlsoAfterItsEnd(t *testing.T) {
	b := setup(t)
	first := b.publishWatched("a", noon)
	require.Equal(t, jobstore.NotEnded, first.End)
	require.Equal(t, first, b.publishWatched("a", noon.Add(time.Second)))
	got := b.claim(noon, 10, time.Minute)
	require.Equal(t, []string{"a"}, bodies(got))
	require.Equal(t, noon.Add(10*time.Minute), got[0].ReadyAt, "its own time to run holds")
	require.Empty(t, b.claim(noon.Add(9*time.Minute), 10, time.Minute))

	require.NoError(t, b.AckRows(t.Context(), []jobstore.Key{first.Key}, 17, noon.Add(time.Minute)))
	require.NoError(t, b.Ack(t.Context(), []jobstore.Key{first.Key}, noon.Add(2*time.Minute)), "repeated")
	again := b.publishWatched("a", noon.Add(3*time.Minute))
	require.Equal(t, jobstore.Succeeded, again.End)
	require.EqualValues(t, 17, again.Rows)
	require.Equal(t, noon.Add(time.Minute), again.EndedAt)
	require.Equal(t, first.Subtask, again.Subtask)
	require.Empty(t, b.claim(noon.Add(time.Hour-time.Second), 10, time.Minute))

	require.NoError(t, b.Forget(t.Context(), []jobstore.Key{first.Key}))
	require.Equal(t, jobstore.NotEnded, b.publishWatched("a", noon).End, "nothing is known of it")
	require.NoError(t, b.Forget(t.Context(), []jobstore.Key{first.Key}), "one that has not ended is not forgotten")
	require.NotEmpty(t, b.due(noon.Add(time.Hour)))
}

// Each statement that ends a job notes how, and makes no dead letter of it.
func TestWatched_EndsAreNoted(t *testing.T) {
	b := setup(t)
	later := noon.Add(20 * time.Minute)
	names := []string{"acked", "nacked", "lapsed", "expired", "republished", "destroyed", "withdrawn", "open"}
	keys := map[string]jobstore.Key{}
	for _, name := range names {
		w := b.publishWatched(name, noon)
		keys[name] = w.Key
	}
	j, of := watched(noon, "late")
	j.Queue = orders + 1
	j.ExpiresAt = noon.Add(15 * time.Minute)
	_, err := b.PublishWatched(t.Context(), j, of, noon)
	require.NoError(t, err)
	keys["late"] = j.Key()

	require.NoError(t, b.Hold(t.Context(), []jobstore.Key{keys["destroyed"], keys["expired"], keys["open"],
		keys["withdrawn"]}, true, noon))
	claims := map[string]int64{}
	for _, got := range b.claim(noon, 20, time.Minute) {
		claims[string(got.Body)] = got.Claims
	}
	require.Len(t, claims, 4, "held jobs are not claimed")
	_, err = b.Claim(t.Context(), jobstore.Shelf{Queue: orders + 1, Table: "job_kept",
		Band: jobstore.PriorityMax - jobstore.PriorityDefault}, 1, time.Time{}, noon, noon.Add(time.Minute))
	require.NoError(t, err)

	require.NoError(t, b.Ack(t.Context(), []jobstore.Key{keys["acked"]}, noon))
	o, err := b.Nack(t.Context(), keys["nacked"], claims["nacked"], 0, "the cube is locked", noon)
	require.NoError(t, err)
	require.Equal(t, jobstore.Done, o, "it is no dead letter")
	require.NoError(t, b.Republish(t.Context(), keys["republished"], 4, job(later.Add(time.Hour), "next"), noon))
	require.NoError(t, b.Hold(t.Context(), []jobstore.Key{keys["destroyed"]}, false, noon))
	require.NoError(t, b.Destroy(t.Context(), orders, noon))
	require.NoError(t, b.Withdraw(t.Context(), []jobstore.Key{keys["withdrawn"]}, "its subtask has ended", noon))
	require.NotZero(t, b.bury(later))
	require.NoError(t, b.Hold(t.Context(), []jobstore.Key{keys["expired"]}, false, later))
	require.Empty(t, b.claim(noon.Add(time.Hour), 1, time.Minute))

	due := b.due(noon.Add(3 * time.Hour))
	for name, want := range map[string]struct {
		end  jobstore.End
		text string
		rows int64
	}{
		"acked":       {jobstore.Succeeded, "", 0},
		"nacked":      {jobstore.Failed, "the cube is locked", 0},
		"lapsed":      {jobstore.Failed, "its time to run ended without an acknowledgement", 0},
		"late":        {jobstore.Expired, "", 0},
		"expired":     {jobstore.Expired, "", 0},
		"republished": {jobstore.Succeeded, "", 4},
		"destroyed":   {jobstore.Withdrawn, "the ready jobs of its queue were deleted", 0},
		"withdrawn":   {jobstore.Withdrawn, "its subtask has ended", 0},
		"open":        {jobstore.NotEnded, "", 0},
	} {
		require.Equal(t, want.end, due[name].End, name)
		require.Equal(t, want.text, due[name].Error, name)
		require.Equal(t, want.rows, due[name].Rows, name)
	}
	dead, err := b.ListDead(t.Context(), orders, time.Time{}, jobstore.ID{}, 10)
	require.NoError(t, err)
	require.Empty(t, dead)
}

func TestWatched_AnEndStaysAsItWas(t *testing.T) {
	b := setup(t)
	w := b.publishWatched("a", noon)
	got := b.claim(noon, 1, time.Minute)
	require.Len(t, got, 1)
	_, err := b.Nack(t.Context(), w.Key, got[0].Claims, 0, "no", noon)
	require.NoError(t, err)
	require.NoError(t, b.Ack(t.Context(), []jobstore.Key{w.Key}, noon.Add(time.Minute)), "too late")
	require.NoError(t, b.Withdraw(t.Context(), []jobstore.Key{w.Key}, "", noon.Add(time.Minute)))
	require.Equal(t, jobstore.Failed, b.publishWatched("a", noon.Add(time.Minute)).End)
	require.Equal(t, noon, b.publishWatched("a", noon.Add(time.Minute)).EndedAt)
}

func TestLookAgain_NeverPutsOffAnEndThatWasNotRead(t *testing.T) {
	b := setup(t)
	b.publishWatched("a", noon)
	require.Empty(t, b.due(noon.Add(29*time.Second)))
	open := b.due(noon.Add(30 * time.Second))["a"]
	require.Equal(t, jobstore.NotEnded, open.End)
	require.NoError(t, b.LookAgain(t.Context(), []jobstore.Watched{open}, noon.Add(time.Hour)))
	require.Empty(t, b.due(noon.Add(30*time.Minute)))

	require.NoError(t, b.Ack(t.Context(), []jobstore.Key{open.Key}, noon.Add(time.Second)))
	require.NoError(t, b.LookAgain(t.Context(), []jobstore.Watched{open}, noon.Add(time.Hour)),
		"it was read before its end")
	ended := b.due(noon.Add(time.Second))["a"]
	require.Equal(t, jobstore.Succeeded, ended.End)
	require.NoError(t, b.LookAgain(t.Context(), []jobstore.Watched{ended}, noon.Add(time.Hour)))
	require.Empty(t, b.due(noon.Add(30*time.Minute)))
}

func TestHold_ClaimsUnderWayStayAndAReleasedOneIsHeld(t *testing.T) {
	b := setup(t)
	w := b.publishWatched("a", noon)
	got := b.claim(noon, 1, time.Minute)
	require.Len(t, got, 1)
	require.NoError(t, b.Hold(t.Context(), []jobstore.Key{w.Key}, true, noon))
	r, err := b.Release(t.Context(), w.Key, got[0].Claims, jobstore.Again{}, noon)
	require.NoError(t, err)
	require.Equal(t, jobstore.Done, r.Outcome)
	require.Empty(t, b.claim(noon.Add(30*time.Minute), 1, time.Minute))
	open, err := b.WatchedOpen(t.Context(), jobstore.Key{Queue: -1 << 63}, 10)
	require.NoError(t, err)
	require.Len(t, open, 1)
	require.True(t, open[0].Held)
	require.NoError(t, b.Hold(t.Context(), []jobstore.Key{w.Key}, false, noon.Add(time.Minute)))
	require.Len(t, b.claim(noon.Add(time.Minute), 1, time.Minute), 1)
}

func TestRelease_AtNoTryWithItsState(t *testing.T) {
	b := setup(t)
	j := job(noon, "poll")
	j.Tries, j.Backoff = 2, "5 2 600"
	b.publish(j)
	k := jobstore.Key{Queue: orders, ID: j.ID}
	now := noon
	for round := range 3 {
		got := b.claim(now, 1, time.Minute)
		require.Len(t, got, 1, round)
		require.Equal(t, 1, got[0].Tries, round)
		if round > 0 {
			require.Equal(t, fmt.Sprint("state ", round-1), string(got[0].State))
		}
		r, err := b.Release(t.Context(), k, got[0].Claims, jobstore.Again{Delay: 30 * time.Second,
			State: fmt.Append(nil, "state ", round)}, now)
		require.NoError(t, err)
		require.Equal(t, jobstore.Done, r.Outcome)
		r, err = b.Release(t.Context(), k, got[0].Claims, jobstore.Again{}, now)
		require.NoError(t, err)
		require.Equal(t, jobstore.Stale, r.Outcome, "the answer was lost, and it is repeated")
		require.Empty(t, b.claim(now.Add(29*time.Second), 1, time.Minute))
		now = now.Add(30 * time.Second)
	}
	got := b.claim(now, 1, time.Minute)
	require.Len(t, got, 1)
	o, err := b.Nack(t.Context(), k, got[0].Claims, jobstore.ByBackoff, "no", now)
	require.NoError(t, err)
	require.Equal(t, jobstore.Done, o)
	require.Empty(t, b.claim(now.Add(4*time.Second), 1, time.Minute))
	got = b.claim(now.Add(5*time.Second), 1, time.Minute)
	require.Len(t, got, 1, "the first failed try waits for the base of the backoff")
	require.Equal(t, "state 2", string(got[0].State))
}
