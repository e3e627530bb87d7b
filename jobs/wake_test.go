package jobs

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/redis/redistest"
	"adsync/base/store/jobstore"
)

// Two processes share a store: the publication in one wakes the poll in the other.
func TestWake_APollOfAnotherProcess(t *testing.T) {
	client, keys := redistest.New(t)
	r := newRig(t, nil)
	other := newDesks(r.queues().store, r.clock, r.logger, r.queues().counts)
	t.Cleanup(other.work.Wait)
	here := newWake(client, keys.Of("wake"), "here", r.queues().desks, r.logger)
	there := newWake(client, keys.Of("wake"), "there", other, r.logger)
	for _, w := range []*wake{here, there} {
		require.NoError(t, w.Start(t.Context()))
		t.Cleanup(w.Stop)
	}
	r.queues().wake = here
	require.Eventually(t, func() bool {
		return client.PubSubNumSub(t.Context(), here.channel).Val()[here.channel] == 2
	}, 10*time.Second, time.Millisecond)

	queue := jobstore.Queue{Namespace: "shop", Name: "q"}
	got := make(chan []jobstore.Job, 1)
	go func() {
		jobs, _ := other.consume(t.Context(), []jobstore.QueueID{queue.ID()}, 1, ttrDefault, time.Minute)
		got <- jobs
	}()
	require.Eventually(t, func() bool {
		other.mu.Lock()
		defer other.mu.Unlock()
		d := other.all[queue.ID()]
		return d != nil && d.known && !d.serving && len(d.polls) == 1
	}, 10*time.Second, time.Millisecond)
	r.publish("/api/shop/q", "x")
	jobs := <-got
	require.Len(t, jobs, 1)
	require.Equal(t, "x", string(jobs[0].Body))
}

// What arrives through Redis goes into statements.
func TestWake_RefusesTablesThatAreNotOurs(t *testing.T) {
	r := newRig(t, nil)
	w := newWake(nil, "test", "here", r.queues().desks, r.logger)
	id := jobstore.Queue{Namespace: "shop", Name: "q"}.ID()
	r.queues().desks.mu.Lock()
	d := r.queues().desks.of(id)
	r.queues().desks.mu.Unlock()
	for _, text := range []string{
		`{"from":"x","notes":[{"q":%d,"t":"job_kept; DROP TABLE job_kept","b":5,"s":0,"n":1}]}`,
		`{"from":"x","notes":[{"q":%d,"t":"job_kept","b":10,"s":0,"n":1}]}`,
		`{"from":"x","notes":[{"q":%d,"t":"job_kept","b":-1,"s":0,"n":1}]}`,
		`{"from":"here","notes":[{"q":%d,"t":"job_kept","b":5,"s":0,"n":1}]}`,
		`nonsense%d`,
	} {
		w.received(fmt.Sprintf(text, id))
		require.Empty(t, d.shelves, text)
	}
	w.received(fmt.Sprintf(`{"from":"x","notes":[{"q":%d,"t":"job_kept","b":5,"s":0,"n":1}]}`, id))
	require.Len(t, d.shelves, 1)
}
