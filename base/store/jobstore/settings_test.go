package jobstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/jobstore"
)

var ordersQueue = jobstore.Queue{Namespace: "shop", Name: "orders"}

// set gives the queue of the tests settings that are in force.
func (b bench) set(s jobstore.Settings) {
	b.t.Helper()
	require.NoError(b.t, b.SetQueue(b.t.Context(), ordersQueue, s, noon))
	_, err := b.Load(b.t.Context())
	require.NoError(b.t, err)
}

// shelf is the one of the queue of the tests on which job's jobs are.
func shelf(at time.Time) jobstore.Shelf { return jobstore.ShelfOf(job(at, "")) }

func TestBackoff_GrowsUpToItsCap(t *testing.T) {
	b := jobstore.Backoff{Base: 5, Factor: 2, Cap: 30}
	for claims, want := range map[int64]time.Duration{0: 0, 1: 5 * time.Second, 2: 10 * time.Second, 3: 20 * time.Second,
		4: 30 * time.Second, 5000: 30 * time.Second} {
		require.Equal(t, want, b.After(claims), claims)
	}
	read, err := jobstore.ParseBackoff(b.String())
	require.NoError(t, err)
	require.Equal(t, b, read)
	for _, wrong := range []string{"", "1 2", "1 2 3 4", "x 2 3", "1 x 3", "1 2 x", "-1 2 3", "5 2 4", "1 0.5 3", "1 11 3",
		"1 NaN 3", "1 2 604801"} {
		_, err := jobstore.ParseBackoff(wrong)
		require.Error(t, err, wrong)
	}
}

func TestBackoff_DelaysWhatFailed(t *testing.T) {
	b := setup(t)
	b.set(jobstore.Settings{Backoff: &jobstore.Backoff{Base: 10, Factor: 3, Cap: 60}})
	first, own := job(noon, "of the queue"), job(noon, "of its own")
	first.Tries, own.Tries, own.Backoff = 3, 3, "1 1 1"
	b.publish(first, own)
	require.Len(t, b.claim(noon, 9, time.Minute), 2)

	at := noon.Add(time.Minute + time.Second)
	require.Equal(t, "of its own", string(b.claim(at, 9, time.Minute)[0].Body), "the claims lapsed after a minute")
	at = noon.Add(time.Minute + 10*time.Second)
	require.Equal(t, "of the queue", string(b.claim(at, 9, time.Minute)[0].Body))

	o, err := b.Nack(t.Context(), first.Key(), 2, jobstore.ByBackoff, "no", at)
	require.NoError(t, err)
	require.Equal(t, jobstore.Done, o)
	require.Empty(t, b.claim(at.Add(29*time.Second), 9, time.Second))
	require.Len(t, b.claim(at.Add(30*time.Second), 9, time.Second), 1, "its last try")
	ready, err := b.ReadyShelves(t.Context(), orders, time.Time{}, at.Add(31*time.Second))
	require.NoError(t, err)
	require.True(t, ready[0].LastTries(), "after its last try nothing is waited for")
}

func TestBackoff_ATouchKeepsIt(t *testing.T) {
	b := setup(t)
	b.set(jobstore.Settings{Backoff: &jobstore.Backoff{Base: 10, Factor: 1, Cap: 10}})
	j := job(noon, "x")
	j.Tries = 2
	b.publish(j)
	b.claim(noon, 1, time.Minute)
	_, err := b.Touch(t.Context(), j.Key(), 1, noon.Add(2*time.Minute), noon)
	require.NoError(t, err)
	require.Empty(t, b.claim(noon.Add(2*time.Minute+9*time.Second), 1, time.Minute))
	require.Len(t, b.claim(noon.Add(2*time.Minute+10*time.Second), 1, time.Minute), 1)
}

func TestConcurrency_BoundsTheClaimsAtATime(t *testing.T) {
	b := setup(t)
	b.set(jobstore.Settings{Concurrency: 2})
	var all []jobstore.Job
	for i := range 6 {
		j := job(noon, fmt.Sprint(i))
		j.Tries = 9
		all = append(all, j)
	}
	b.publish(all...)
	claim := func(at time.Time, want int) []jobstore.Job {
		t.Helper()
		c, err := b.Claim(t.Context(), shelf(noon), 9, time.Time{}, at, at.Add(time.Minute))
		require.NoError(t, err)
		require.Len(t, c.Jobs, want)
		require.Equal(t, want == 0, c.Full)
		return c.Jobs
	}
	first := claim(noon, 2)
	claim(noon, 0)
	require.NoError(t, b.Ack(t.Context(), []jobstore.Key{first[0].Key()}, noon))
	third := claim(noon, 1)
	_, err := b.Nack(t.Context(), first[1].Key(), 1, time.Hour, "no", noon)
	require.NoError(t, err)
	fourth := claim(noon, 1)
	claim(noon, 0)
	require.NoError(t, b.Return(t.Context(), fourth, noon))
	require.Equal(t, fourth[0].ID, claim(noon, 1)[0].ID)

	_, err = b.Touch(t.Context(), third[0].Key(), 1, noon.Add(time.Hour), noon)
	require.NoError(t, err)
	require.Equal(t, "4", string(claim(noon.Add(time.Minute), 1)[0].Body), "one lapsed, and one was touched")
	next := job(noon.Add(time.Minute), "new")
	require.NoError(t, b.Republish(t.Context(), third[0].Key(), 0, next, noon.Add(time.Minute)))
	claim(noon.Add(time.Minute), 1)
	claim(noon.Add(time.Minute), 0)
	require.NoError(t, b.PruneKeys(t.Context(), noon.Add(time.Minute)))
	claim(noon.Add(time.Minute), 0)
}

func TestRate_BoundsTheClaimsInATime(t *testing.T) {
	b := setup(t)
	b.set(jobstore.Settings{Rate: &jobstore.Rate{Jobs: 4, Seconds: 2}})
	var all []jobstore.Job
	for i := range 20 {
		all = append(all, job(noon, fmt.Sprint(i)))
	}
	b.publish(all...)
	claim := func(at time.Time, limit, want int) jobstore.Claimed {
		t.Helper()
		c, err := b.Claim(t.Context(), shelf(noon), limit, time.Time{}, at, at.Add(time.Minute))
		require.NoError(t, err)
		require.Len(t, c.Jobs, want)
		return c
	}
	claim(noon, 3, 3)
	require.False(t, claim(noon, 9, 1).Full)
	c := claim(noon.Add(499*time.Millisecond), 9, 0)
	require.True(t, c.Full)
	require.True(t, noon.Add(500*time.Millisecond).Equal(c.Next), c.Next)
	claim(noon.Add(500*time.Millisecond), 9, 1)
	claim(noon.Add(time.Minute), 9, 4)
}

func TestRate_OfThousandsASecond(t *testing.T) {
	b := setup(t)
	b.set(jobstore.Settings{Rate: &jobstore.Rate{Jobs: 5000, Seconds: 1}})
	claimed := 0
	for i := range 20 { // 20 ms, a job and more at each
		at := noon.Add(time.Duration(i) * time.Millisecond)
		b.publish(job(at, "x"), job(at, "x"))
		c, err := b.Claim(t.Context(), shelf(noon), 2, time.Time{}, at, at.Add(time.Minute))
		require.NoError(t, err)
		claimed += len(c.Jobs)
	}
	require.Equal(t, 40, claimed, "a claim does not cost more than its share")
}

func TestSettings_AreValidated(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]jobstore.Settings{
		"rate: jobs must be 1 to 1000000":                                 {Rate: &jobstore.Rate{Seconds: 1}},
		"rate: seconds must be 1 to 86400":                                {Rate: &jobstore.Rate{Jobs: 1}},
		"concurrency must be 0 (any number) to 1000000":                   {Concurrency: -1},
		"keep_dead must be 60 to 315360000 seconds, or 0 for the default": {KeepDead: 59},
		"backoff: factor must be 1 to 10":                                 {Backoff: &jobstore.Backoff{Base: 1, Cap: 1}},
	} {
		require.EqualError(t, s.Validate(), want)
	}
}

func TestDead_AreKeptAsTheirQueueWants(t *testing.T) {
	b := setup(t)
	b.set(jobstore.Settings{KeepDead: 7200})
	bury := func(j jobstore.Job) {
		b.publish(j)
		f := jobstore.ShelfOf(j)
		_, err := b.Claim(t.Context(), f, 1, time.Time{}, noon, noon)
		require.NoError(t, err)
		f.Band += jobstore.PriorityMax + 1
		n, err := b.Bury(t.Context(), f, noon)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	other := job(noon, "y")
	other.Queue = jobstore.Queue{Namespace: "shop", Name: "other"}.ID()
	bury(job(noon, "x"))
	bury(other)
	counts := func(after time.Duration) (of []int64) {
		require.NoError(t, b.PruneDead(t.Context(), time.Hour, b.KeptDead(), noon.Add(after)))
		for _, q := range []jobstore.QueueID{orders, other.Queue} {
			n, _, err := b.DeadLetters(t.Context(), q)
			require.NoError(t, err)
			of = append(of, n)
		}
		return of
	}
	require.Equal(t, []int64{1, 1}, counts(time.Hour))
	require.Equal(t, []int64{1, 0}, counts(time.Hour+time.Second))
	require.Equal(t, []int64{1, 0}, counts(2*time.Hour))
	require.Equal(t, []int64{0, 0}, counts(2*time.Hour+time.Second))
}

func TestPublishOnce_UntilTheKeyIsHeldNoLonger(t *testing.T) {
	b := setup(t)
	publish := func(key string, at time.Time) (jobstore.ID, bool) {
		t.Helper()
		id, isNew, err := b.PublishOnce(t.Context(), job(at, key), key, at.Add(time.Hour), at)
		require.NoError(t, err)
		return id, isNew
	}
	first, isNew := publish("a", noon)
	require.True(t, isNew)
	_, isNew = publish("b", noon)
	require.True(t, isNew)
	again, isNew := publish("a", noon.Add(59*time.Minute))
	require.False(t, isNew)
	require.Equal(t, first, again)
	require.NoError(t, b.Ack(t.Context(), []jobstore.Key{{Queue: orders, ID: first}}, noon))
	_, isNew = publish("a", noon.Add(59*time.Minute))
	require.False(t, isNew, "the job has ended, and its key is held")
	second, isNew := publish("a", noon.Add(time.Hour))
	require.True(t, isNew)
	require.NotEqual(t, first, second)
	require.NoError(t, b.PruneKeys(t.Context(), noon.Add(time.Hour+time.Second)))
	_, isNew = publish("b", noon.Add(time.Hour))
	require.True(t, isNew)
	again, _ = publish("a", noon.Add(90*time.Minute))
	require.Equal(t, second, again)
}

func TestPrepare_CompletesTheTablesOfAnEarlierVersion(t *testing.T) {
	b := setup(t)
	drop := "ALTER TABLE " + shelf(noon).Table + " DROP COLUMN backoff"
	require.NoError(t, b.DB().Writer(t.Context()).Exec(drop).Error)
	require.Error(t, b.Publish(t.Context(), []jobstore.Job{job(noon, "x")}))
	require.NoError(t, b.Prepare(t.Context(), noon))
	b.publish(job(noon, "x"))
	require.Len(t, b.claim(noon, 1, time.Minute), 1)
}

func TestDueByHour(t *testing.T) {
	b := setup(t)
	for _, after := range []time.Duration{0, time.Minute, 59 * time.Minute, time.Hour, 50 * time.Hour} {
		j := job(noon, "x")
		j.ReadyAt, j.ExpiresAt = noon.Add(after), time.Time{}
		b.publish(j)
	}
	all, err := b.DueByHour(t.Context(), orders, 2, noon)
	require.NoError(t, err)
	require.Equal(t, []jobstore.Due{{Hour: noon, Jobs: 2}, {Hour: noon.Add(time.Hour), Jobs: 1}}, all)
	all, err = b.DueByHour(t.Context(), orders, 9, noon)
	require.NoError(t, err)
	require.Len(t, all, 3)
}
