package jobstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/jobstore"
	"adsync/base/store/storetest"
)

var (
	orders = jobstore.Queue{Namespace: "shop", Name: "orders"}.ID()
	noon   = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
)

// bench is a store with the tables of a day.
type bench struct {
	*jobstore.Store
	t *testing.T
}

func setup(t *testing.T) bench {
	t.Helper()
	t.Parallel()
	s := storetest.NewJobs(t)
	require.NoError(t, s.Prepare(t.Context(), noon))
	return bench{s, t}
}

// job returns a job that is published at a time.
func job(at time.Time, body string) jobstore.Job {
	return jobstore.Job{Queue: orders, ID: jobstore.NewID(at, false), Priority: jobstore.PriorityDefault, ReadyAt: at,
		ExpiresAt: at.Add(time.Hour), Tries: 1, Body: []byte(body)}
}

func (b bench) publish(jobs ...jobstore.Job) {
	b.t.Helper()
	require.NoError(b.t, b.Publish(b.t.Context(), jobs))
}

// claim claims jobs as a process does that knows nothing: from all shelves, in their order.
func (b bench) claim(now time.Time, limit int, ttr time.Duration) (jobs []jobstore.Job) {
	b.t.Helper()
	ready, err := b.ReadyShelves(b.t.Context(), orders, time.Time{}, now)
	require.NoError(b.t, err)
	for len(ready) > 0 {
		first := 0
		for i := range ready {
			if ready[i].Compare(ready[first].Shelf) < 0 {
				first = i
			}
		}
		if f := ready[first]; !f.LastTries() && len(jobs) < limit {
			got, err := b.Claim(b.t.Context(), f.Shelf, limit-len(jobs), f.Since, now, now.Add(ttr))
			require.NoError(b.t, err)
			jobs = append(jobs, got.Jobs...)
		}
		ready = append(ready[:first], ready[first+1:]...)
	}
	return jobs
}

// bury buries what has lapsed.
func (b bench) bury(now time.Time) (gone int) {
	b.t.Helper()
	ready, err := b.ReadyShelves(b.t.Context(), 0, time.Time{}, now)
	require.NoError(b.t, err)
	for _, f := range ready {
		if f.LastTries() {
			n, err := b.Bury(b.t.Context(), f.Shelf, now)
			require.NoError(b.t, err)
			gone += n
		}
	}
	return gone
}

func bodies(jobs []jobstore.Job) []string {
	all := []string{}
	for _, j := range jobs {
		all = append(all, string(j.Body))
	}
	return all
}

func TestClaim_LongestReadyFirstAndOnce(t *testing.T) {
	b := setup(t)
	b.publish(job(noon.Add(2*time.Second), "second"), job(noon, "first"), job(noon.Add(time.Minute), "delayed"))
	b.publish(jobstore.Job{Queue: orders + 1, ID: jobstore.NewID(noon, false), ReadyAt: noon, Tries: 1})

	at := noon.Add(10 * time.Second)
	require.Equal(t, []string{"first", "second"}, bodies(b.claim(at, 10, time.Minute)))
	require.Empty(t, b.claim(at, 10, time.Minute), "they are claimed, and the third is not ready")
	require.Equal(t, []string{"delayed"}, bodies(b.claim(noon.Add(time.Minute), 10, time.Minute)))
}

func TestClaim_HighestPriorityFirst(t *testing.T) {
	b := setup(t)
	for priority := range jobstore.PriorityMax + 1 {
		j := job(noon, fmt.Sprint(priority))
		j.Priority = priority
		b.publish(j)
	}
	require.Equal(t, []string{"9", "8", "7"}, bodies(b.claim(noon, 3, time.Minute)))
	got := b.claim(noon, 10, time.Minute)
	require.Equal(t, []string{"6", "5", "4", "3", "2", "1", "0"}, bodies(got))
	require.Equal(t, 6, got[0].Priority)
}

func TestClaim_ALapsedOneIsReadyAgainUntilItsTriesAreSpent(t *testing.T) {
	b := setup(t)
	j := job(noon, "x")
	j.Tries, j.Attributes = 2, []byte(`{"a":"b"}`)
	b.publish(j)

	first := b.claim(noon, 1, time.Minute)
	require.Len(t, first, 1)
	require.Equal(t, 1, first[0].Tries)
	require.EqualValues(t, 1, first[0].Claims)
	require.Empty(t, b.claim(noon.Add(59*time.Second), 1, time.Minute))

	at := noon.Add(time.Minute)
	second := b.claim(at, 1, time.Minute)
	require.Len(t, second, 1)
	require.Equal(t, 0, second[0].Tries)
	require.Equal(t, j.ID, second[0].ID)
	require.JSONEq(t, `{"a":"b"}`, string(second[0].Attributes))

	require.Zero(t, b.bury(at.Add(59*time.Second)), "the last try is under way")
	require.Equal(t, 1, b.bury(at.Add(time.Minute)))
	require.Empty(t, b.claim(at.Add(time.Hour), 1, time.Minute))
	n, oldest, err := b.DeadLetters(t.Context(), orders)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.Equal(t, j.ID, oldest.ID)
	require.Equal(t, "x", string(oldest.Body))
	require.Equal(t, at.Add(time.Minute), oldest.DiedAt)
	require.NotEmpty(t, oldest.Error)
}

func TestClaim_ExpiredJobsAreDropped(t *testing.T) {
	b := setup(t)
	b.publish(job(noon, "expired"), job(noon.Add(time.Minute), "alive"))
	forever := job(noon, "forever")
	forever.ExpiresAt = time.Time{}
	b.publish(forever)
	require.Equal(t, []string{"forever", "alive"}, bodies(b.claim(noon.Add(time.Hour), 10, time.Minute)))
	n, _, err := b.DeadLetters(t.Context(), orders)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestBury_DropsWhatHasExpired(t *testing.T) {
	b := setup(t)
	j := job(noon, "x")
	j.ExpiresAt = noon.Add(time.Second)
	b.publish(j)
	require.Len(t, b.claim(noon, 1, time.Minute), 1)
	require.Equal(t, 1, b.bury(noon.Add(time.Minute)))
	n, _, err := b.DeadLetters(t.Context(), orders)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestAck_WhereverTheJobIs(t *testing.T) {
	b := setup(t)
	ready, claimed, dead := job(noon, "ready"), job(noon.Add(-time.Second), "claimed"), job(noon.Add(-time.Minute), "dead")
	kept := job(noon.Add(time.Second), "kept")
	kept.ID = jobstore.NewID(noon, true)
	b.publish(dead)
	require.Len(t, b.claim(noon, 1, time.Second), 1)
	require.Equal(t, 1, b.bury(noon.Add(time.Second)))
	b.publish(claimed)
	require.Len(t, b.claim(noon, 1, time.Hour), 1)
	b.publish(ready, kept)

	var keys []jobstore.Key
	for _, j := range []jobstore.Job{ready, claimed, dead, kept, job(noon, "unknown")} {
		keys = append(keys, jobstore.Key{Queue: orders, ID: j.ID})
	}
	for _, k := range keys[:4] {
		found, err := b.Peek(t.Context(), k, noon)
		require.NoError(t, err)
		require.NotNil(t, found)
	}
	for range 2 {
		require.NoError(t, b.Ack(t.Context(), keys, noon))
		for _, k := range keys {
			found, err := b.Peek(t.Context(), k, noon)
			require.NoError(t, err)
			require.Nil(t, found)
		}
	}
}

func TestReturn_OnlyTheClaimThatItNames(t *testing.T) {
	b := setup(t)
	j := job(noon, "x")
	j.Tries = 2
	b.publish(j)
	first := b.claim(noon, 1, time.Second)
	second := b.claim(noon.Add(time.Second), 1, time.Hour)
	require.Len(t, second, 1)

	require.NoError(t, b.Return(t.Context(), first, noon))
	require.Empty(t, b.claim(noon.Add(time.Minute), 1, time.Hour), "another has it")
	require.NoError(t, b.Return(t.Context(), second, noon.Add(time.Minute)))
	again := b.claim(noon.Add(time.Minute), 1, time.Hour)
	require.Len(t, again, 1)
	require.Zero(t, again[0].Tries, "the returned try did not count")
}

func TestRespawn_OldestFirstWithOneTry(t *testing.T) {
	b := setup(t)
	for i := range 3 {
		b.publish(job(noon.Add(time.Duration(i)*time.Second), fmt.Sprint(i)))
		require.Len(t, b.claim(noon.Add(time.Duration(i)*time.Second), 1, time.Second), 1)
		require.Equal(t, 1, b.bury(noon.Add(time.Duration(i+1)*time.Second)))
	}
	at := noon.Add(time.Minute)
	jobs, err := b.Respawn(t.Context(), orders, jobstore.DeadFilter{}, 2, jobstore.Respawned{TTL: time.Hour}, at)
	require.NoError(t, err)
	require.Equal(t, []string{"0", "1"}, bodies(jobs))
	got := b.claim(at, 10, time.Hour)
	require.ElementsMatch(t, []string{"0", "1"}, bodies(got))
	require.Equal(t, 0, got[0].Tries)
	dropped, err := b.DropDead(t.Context(), orders, jobstore.DeadFilter{}, 10)
	require.NoError(t, err)
	require.Equal(t, 1, dropped)
	n, _, err := b.DeadLetters(t.Context(), orders)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestRetire_MovesWhatIsLeftAndDropsTheTables(t *testing.T) {
	b := setup(t)
	ended, expired, left := job(noon, "ended"), job(noon, "expired"), job(noon, "left")
	left.ExpiresAt = noon.Add(96 * time.Hour)
	claimed := job(noon.Add(-time.Second), "claimed")
	claimed.Tries, claimed.ExpiresAt = 2, left.ExpiresAt
	b.publish(claimed)
	require.Len(t, b.claim(noon, 1, 72*time.Hour), 1)
	b.publish(ended, expired, left)
	require.NoError(t, b.Ack(t.Context(), []jobstore.Key{{Queue: orders, ID: ended.ID}}, noon))

	tomorrow := noon.Add(24 * time.Hour)
	require.NoError(t, b.Prepare(t.Context(), tomorrow))
	require.NoError(t, b.Retire(t.Context(), tomorrow))
	size, err := b.Size(t.Context(), orders, tomorrow)
	require.NoError(t, err)
	require.EqualValues(t, 2, size, "a table of yesterday is left alone")

	later := noon.Add(48 * time.Hour)
	for range 2 {
		require.NoError(t, b.Prepare(t.Context(), later))
		require.NoError(t, b.Retire(t.Context(), later))
	}
	require.NoError(t, b.Ack(t.Context(), []jobstore.Key{{Queue: orders, ID: ended.ID}}, later))
	require.Equal(t, []string{"left"}, bodies(b.claim(later, 10, time.Hour)))
	got := b.claim(noon.Add(72*time.Hour), 10, time.Hour)
	require.Equal(t, []string{"claimed"}, bodies(got), "its claim lapses where it was moved to")
	require.EqualValues(t, 2, got[0].Claims)
}

func TestDestroy_ReadyJobsAlone(t *testing.T) {
	b := setup(t)
	b.publish(job(noon, "claimed"))
	require.Len(t, b.claim(noon, 1, time.Minute), 1)
	b.publish(job(noon, "ready"), job(noon.Add(time.Hour), "delayed"))
	size, err := b.Size(t.Context(), orders, noon)
	require.NoError(t, err)
	require.EqualValues(t, 1, size)
	require.NoError(t, b.Destroy(t.Context(), orders, noon))
	size, err = b.Size(t.Context(), orders, noon)
	require.NoError(t, err)
	require.Zero(t, size)
	require.Equal(t, []string{"delayed"}, bodies(b.claim(noon.Add(time.Hour), 10, time.Minute)))
	require.Equal(t, 1, b.bury(noon.Add(time.Hour)))
}

func TestRepublish_ReplacesAJob(t *testing.T) {
	b := setup(t)
	old, with := job(noon, "old"), job(noon, "new")
	b.publish(old)
	require.NoError(t, b.Republish(t.Context(), jobstore.Key{Queue: orders, ID: old.ID}, 0, with, noon))
	require.Equal(t, []string{"new"}, bodies(b.claim(noon, 10, time.Minute)))
	require.NoError(t, b.Republish(t.Context(), jobstore.Key{Queue: orders, ID: old.ID}, 0, job(noon, "newer"),
		noon), "the old one is unknown now")
	require.Equal(t, []string{"newer"}, bodies(b.claim(noon, 10, time.Minute)))
}

func TestReadyShelves_SinceBoundsTheLook(t *testing.T) {
	b := setup(t)
	b.publish(job(noon, "old"), job(noon.Add(time.Minute), "new"))
	ready, err := b.ReadyShelves(t.Context(), 0, noon.Add(time.Second), noon.Add(time.Minute))
	require.NoError(t, err)
	require.Len(t, ready, 1)
	require.Equal(t, noon.Add(time.Minute), ready[0].Since)
	got, err := b.Claim(t.Context(), ready[0].Shelf, 10, ready[0].Since, noon.Add(time.Minute), noon.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, []string{"new"}, bodies(got.Jobs))
}

// Jobs of one moment are delivered in the order of their publication.
func TestNewID_CountsUpWithinAMillisecond(t *testing.T) {
	b := setup(t)
	var want []string
	var jobs []jobstore.Job
	for i := range 100 {
		jobs = append(jobs, job(noon, fmt.Sprint(i)))
		want = append(want, fmt.Sprint(i))
	}
	b.publish(jobs...)
	require.Equal(t, want, bodies(b.claim(noon, 100, time.Minute)))
}

// Another process has retired a table that this one believes to be there.
func TestClaim_OfATableThatIsGone(t *testing.T) {
	b := setup(t)
	f := jobstore.ShelfOf(job(noon, "x"))
	require.NoError(t, b.DB().Writer(t.Context()).Exec("DROP TABLE "+f.Table).Error)
	got, err := b.Claim(t.Context(), f, 1, time.Time{}, noon, noon.Add(time.Minute))
	require.NoError(t, err)
	require.Empty(t, got.Jobs)
	require.False(t, got.More)
	gone, err := b.Bury(t.Context(), f, noon)
	require.NoError(t, err)
	require.Zero(t, gone)
	require.Empty(t, b.claim(noon, 1, time.Minute))
	require.NoError(t, b.Ack(t.Context(), []jobstore.Key{{Queue: orders, ID: jobstore.NewID(noon, false)}}, noon))
	size, err := b.Size(t.Context(), orders, noon)
	require.NoError(t, err)
	require.Zero(t, size)
}

func TestID_RoundTrip(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{false, true} {
		id := jobstore.NewID(noon, kept)
		require.Equal(t, noon, id.Published())
		read, ok := jobstore.ParseID(id.String())
		require.True(t, ok)
		require.Equal(t, id, read)
	}
	for _, text := range []string{"", "x", "01ARZ3NDEKTSV4RRFFQ69G5FA", "01arz3ndektsv4rrffq69g5fav",
		"81ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAU"} {
		_, ok := jobstore.ParseID(text)
		require.False(t, ok, text)
	}
}

func TestNack_ReadyAfterADelayOrDead(t *testing.T) {
	b := setup(t)
	j := job(noon, "x")
	j.Tries = 2
	b.publish(j)
	k := jobstore.Key{Queue: orders, ID: j.ID}
	nack := func(claim int64, at time.Time) jobstore.Outcome {
		t.Helper()
		o, err := b.Nack(t.Context(), k, claim, 5*time.Second, "no stock", at)
		require.NoError(t, err)
		return o
	}
	require.Equal(t, jobstore.Stale, nack(0, noon), "it is not claimed")
	require.Len(t, b.claim(noon, 1, time.Hour), 1)
	require.Equal(t, jobstore.Done, nack(1, noon))
	require.Empty(t, b.claim(noon.Add(4*time.Second), 1, time.Hour))
	require.Len(t, b.claim(noon.Add(5*time.Second), 1, time.Hour), 1)
	require.Equal(t, jobstore.Stale, nack(1, noon.Add(6*time.Second)), "it was claimed again since")
	require.Equal(t, jobstore.Died, nack(2, noon.Add(6*time.Second)))
	dead, err := b.ListDead(t.Context(), orders, time.Time{}, jobstore.ID{}, 10)
	require.NoError(t, err)
	require.Len(t, dead, 1)
	require.Equal(t, "no stock", dead[0].Error)
	require.Equal(t, jobstore.NotFound, nack(2, noon.Add(7*time.Second)))
}

func TestTouch_MovesTheEndOfAClaim(t *testing.T) {
	b := setup(t)
	j := job(noon, "x")
	j.Tries = 2
	b.publish(j)
	k := jobstore.Key{Queue: orders, ID: j.ID}
	require.Len(t, b.claim(noon, 1, time.Second), 1)
	o, err := b.Touch(t.Context(), k, 1, noon.Add(time.Minute), noon)
	require.NoError(t, err)
	require.Equal(t, jobstore.Done, o)
	require.Empty(t, b.claim(noon.Add(59*time.Second), 1, time.Second))
	require.Len(t, b.claim(noon.Add(time.Minute), 1, time.Second), 1)
	o, err = b.Touch(t.Context(), k, 1, noon.Add(time.Hour), noon)
	require.NoError(t, err)
	require.Equal(t, jobstore.Stale, o)
}

func TestListDead_Pages(t *testing.T) {
	b := setup(t)
	for i := range 5 {
		b.publish(job(noon, fmt.Sprint(i)))
	}
	require.Len(t, b.claim(noon, 5, time.Second), 5)
	require.Equal(t, 5, b.bury(noon.Add(time.Second)))
	seen := map[string]bool{}
	var at time.Time
	var id jobstore.ID
	for {
		page, err := b.ListDead(t.Context(), orders, at, id, 2)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for _, d := range page {
			require.False(t, seen[string(d.Body)])
			seen[string(d.Body)] = true
		}
		at, id = page[len(page)-1].DiedAt, page[len(page)-1].ID
	}
	require.Len(t, seen, 5)
}

func TestQueues_StatesAndForgetting(t *testing.T) {
	b := setup(t)
	names := []jobstore.Queue{{Namespace: "shop", Name: "orders"}, {Namespace: "shop", Name: "empty"},
		{Namespace: "bank", Name: "orders"}}
	require.NoError(t, b.Name(t.Context(), names, noon))
	b.publish(job(noon.Add(-3*time.Second), "claimed"))
	require.Len(t, b.claim(noon.Add(-3*time.Second), 1, time.Hour), 1)
	b.publish(job(noon.Add(-2*time.Second), "ready"), job(noon.Add(-time.Second), "ready"),
		job(noon.Add(time.Hour), "delayed"))

	states, err := b.Queues(t.Context(), "shop", "", 10, noon)
	require.NoError(t, err)
	require.Equal(t, []jobstore.QueueState{{Name: "empty"}, {Name: "orders", Ready: 2, Oldest: noon.Add(-2 * time.Second),
		Waiting: 2}}, states)
	states, err = b.Queues(t.Context(), "shop", "empty", 10, noon)
	require.NoError(t, err)
	require.Len(t, states, 1)

	require.NoError(t, b.ForgetEmpty(t.Context(), noon))
	states, err = b.Queues(t.Context(), "shop", "", 10, noon)
	require.NoError(t, err)
	require.Len(t, states, 2, "it was used a moment ago")
	require.NoError(t, b.ForgetEmpty(t.Context(), noon.Add(2*time.Hour)))
	states, err = b.Queues(t.Context(), "shop", "", 10, noon)
	require.NoError(t, err)
	require.Len(t, states, 1)
	require.Equal(t, "orders", states[0].Name)
}

func TestPruneDead_OldOnesOfAllQueues(t *testing.T) {
	b := setup(t)
	other := job(noon, "x")
	other.Queue++
	b.publish(job(noon, "old"), other)
	require.Len(t, b.claim(noon, 1, time.Second), 1)
	require.Equal(t, 1, b.bury(noon.Add(time.Second)))
	b.publish(job(noon, "new"))
	require.Len(t, b.claim(noon, 1, time.Minute), 1)
	require.Equal(t, 1, b.bury(noon.Add(time.Minute)))
	require.NoError(t, b.PruneDead(t.Context(), time.Hour, nil, noon.Add(time.Hour+time.Minute)))
	dead, err := b.ListDead(t.Context(), orders, time.Time{}, jobstore.ID{}, 10)
	require.NoError(t, err)
	require.Len(t, dead, 1)
	require.Equal(t, "new", string(dead[0].Body))
}

func TestPause_IsKeptByALaterUse(t *testing.T) {
	b := setup(t)
	q := jobstore.Queue{Namespace: "shop", Name: "orders"}
	require.NoError(t, b.Pause(t.Context(), q, true, noon))
	require.NoError(t, b.Name(t.Context(), []jobstore.Queue{q}, noon.Add(time.Minute)))
	require.NoError(t, b.ForgetEmpty(t.Context(), noon.Add(24*time.Hour)))
	paused, err := b.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[jobstore.QueueID]bool{orders: true}, paused)
	require.NoError(t, b.Pause(t.Context(), q, false, noon))
	paused, err = b.Load(t.Context())
	require.NoError(t, err)
	require.Empty(t, paused)
}
