package jobstore_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store/jobstore"
)

// history is what clients saw of a queue.
type history struct {
	tried, published, ackTried map[string]bool
	deliveries                 map[string]int
}

// Connections are cut before and after commits. What was published is then acknowledged, dead, or still delivered, and
// nothing else is.
func TestStore_CutCommitsLoseNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b := setup(t)
			cuts := sqldbtest.CutWrites(b.DB())
			random := rand.New(rand.NewPCG(seed, 1))
			h := history{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]int{}}
			now := noon
			var held []jobstore.Job
			for step := range 150 {
				if random.IntN(4) == 0 {
					cuts.Set(sqldbtest.Cut(1 + random.IntN(2)))
				}
				now = now.Add(time.Duration(random.IntN(20)) * time.Second)
				switch random.IntN(4) {
				case 0, 1:
					j := job(now, fmt.Sprint(step))
					j.Tries, j.ExpiresAt = 1+random.IntN(3), time.Time{}
					h.tried[string(j.Body)] = true
					if b.Publish(t.Context(), []jobstore.Job{j}) == nil {
						h.published[string(j.Body)] = true
					}
				case 2:
					held = append(held, h.claim(t, b, now, 1+random.IntN(4))...)
				case 3:
					if len(held) == 0 {
						continue
					}
					i := random.IntN(len(held))
					h.ackTried[string(held[i].Body)] = true
					_ = b.Ack(t.Context(), []jobstore.Key{{Queue: orders, ID: held[i].ID}}, now)
					held = append(held[:i], held[i+1:]...)
				}
				cuts.Set()
			}
			require.Positive(t, cuts.Met)
			h.judge(t, b, now)
		})
	}
}

// claim claims jobs for 30 seconds as a process does. An error may hide claims.
func (h history) claim(t *testing.T, b bench, now time.Time, limit int) (jobs []jobstore.Job) {
	t.Helper()
	ready, err := b.ReadyShelves(t.Context(), orders, time.Time{}, now)
	require.NoError(t, err)
	for _, f := range ready {
		if f.LastTries() {
			_, _ = b.Bury(t.Context(), f.Shelf, now)
			continue
		}
		got, err := b.Claim(t.Context(), f.Shelf, limit, f.Since, now, now.Add(30*time.Second))
		if err != nil {
			continue
		}
		for _, j := range got.Jobs {
			require.True(t, h.tried[string(j.Body)], "nobody tried to publish %s", j.Body)
			h.deliveries[string(j.Body)]++
			require.LessOrEqual(t, h.deliveries[string(j.Body)], 3, "a job has at most three tries")
		}
		jobs = append(jobs, got.Jobs...)
	}
	return jobs
}

// judge drains the queue and accounts for each job.
func (h history) judge(t *testing.T, b bench, now time.Time) {
	t.Helper()
	drained := map[string]bool{}
	for range 5 {
		now = now.Add(time.Minute)
		for {
			jobs := h.claim(t, b, now, 1000)
			if len(jobs) == 0 {
				break
			}
			for _, j := range jobs {
				drained[string(j.Body)] = true
			}
		}
	}
	dead, err := b.ListDead(t.Context(), orders, time.Time{}, jobstore.ID{}, 1000)
	require.NoError(t, err)
	for _, d := range dead {
		drained[string(d.Body)] = true
	}
	for body := range h.published {
		require.True(t, drained[body] || h.ackTried[body], "the published job %s is lost", body)
	}
	require.NotEmpty(t, h.published)
}
