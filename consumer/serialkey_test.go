package consumer

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/broker"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/media"
)

// keyed is the envelope of a subtask of a task with a serial key.
func keyed(taskID, run int64, key string) task.Envelope {
	e := envelope(0)
	e.RunID, e.TaskID, e.Part = run, taskID, "build"
	e.Concurrency, e.SerialKey = task.Serial, key
	return e
}

// deployment returns two consumers on one database and one Redis.
func deployment(t *testing.T, handlers ...media.Handler) (cs [2]*Consumer, ss [2]*fakeStore, ks [2]*fakeKafka) {
	t.Helper()
	cs, ss, ks, _ = pair(t, func(int) []media.Handler { return handlers }, func(i int, c *Consumer) {
		s, ok := c.deps.Store.(*fakeStore)
		require.True(t, ok)
		ss[i] = s
		s.fakeExclusion = ss[0].fakeExclusion
	})
	return cs, ss, ks
}

// byKey returns a handler that takes some time and records which serial keys run.
func (p *presence) byKey(takes time.Duration) media.Handler {
	return handler("acme.report", func(ctx context.Context, w media.Work) (media.Result, error) {
		p.enter(string(w.Params), w.RunID)
		defer p.leave(string(w.Params))
		select {
		case <-time.After(takes):
			return media.Result{}, nil
		case <-ctx.Done():
			return media.Result{}, ctx.Err()
		}
	})
}

func TestSerialKey_HoldsOverTasksAndMedia(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := newPresence()
		c, s, k := newFaked(t, at.byKey(time.Second))
		require.NoError(t, c.Start(t.Context()))
		for n := range int64(6) {
			k.member(acmeNormal).deliver(message(s.wants(keyed(n%2, 1<<40+n, "sales")), "sales"))
		}
		k.member(acmeNormal).deliver(message(s.wants(keyed(9, 1<<40+9, "stock")), "stock"))
		synctest.Wait()
		require.Equal(t, 2, at.now(), "another key runs next to it")
		time.Sleep(7 * time.Second)
		synctest.Wait()
		require.Len(t, s.written(), 7)
		require.Equal(t, map[string]int{"sales": 1, "stock": 1}, at.most)
		require.Equal(t, []int64{1 << 40, 1<<40 + 1, 1<<40 + 2}, runsBut(at.order, 1<<40+9)[:3],
			"in the order of their messages")
		require.Zero(t, s.heldKeys())
		require.NotEqual(t, keyInProcess(keyed(1, 1, "7"), "acme"), keyInProcess(serial(7, 0), "acme"))
		c.Stop()
	})
}

func runsBut(order []int64, but int64) (others []int64) {
	for _, run := range order {
		if run != but {
			others = append(others, run)
		}
	}
	return others
}

// Another process's subtask waits as deferred, with or without Redis.
func TestSerialKey_HoldsOverProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := newPresence()
		cs, ss, ks := deployment(t, at.byKey(40*time.Second))
		ks[0].member(acmeNormal).deliver(message(ss[0].wants(keyed(1, 1<<40, "sales")), "sales"))
		time.Sleep(20 * time.Second)
		ks[1].member(acmeNormal).deliver(message(ss[1].wants(keyed(2, 1<<40+1, "sales")), "sales"))
		time.Sleep(time.Second)
		require.Len(t, ss[1].written(), 1)
		o := ss[1].written()[0]
		require.Equal(t, task.Deferred, o.State)
		require.Zero(t, o.Attempt)
		require.False(t, o.Outside)
		require.Equal(t, "the subtask of run 1099511627776, account 0, part build has the serial key sales", o.Reason)
		time.Sleep(30 * time.Second)
		again := keyed(2, 1<<40+1, "sales")
		again.Delivery = 2
		ks[1].member(acmeNormal).deliver(message(ss[1].wants(again), "sales"))
		time.Sleep(time.Minute)
		require.Equal(t, task.Succeeded, ss[1].written()[1].State)
		require.Equal(t, 1, at.most["sales"])
		cs[0].Stop()
		cs[1].Stop()
	})
}

// A subtask that waits for its job keeps its key between its deliveries, in whatever process they are.
func TestSerialKey_IsKeptWhileTheWorkContinuesOutside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := map[int]error{
			1: &media.DeferError{After: time.Minute, Reason: "its job is worked on", WaitsFor: "job:7"},
			2: &media.DeferError{After: time.Minute, Reason: "the queue does not answer"},
			3: fmt.Errorf("the worker failed"),
		}
		cs, ss, ks := deployment(t, handler("acme.report", func(_ context.Context, w media.Work) (media.Result, error) {
			if w.RunID == 1<<40 {
				return media.Result{}, answers[w.Delivery]
			}
			return media.Result{}, nil
		}))
		deliver := func(i int, run int64, delivery int, outside bool) ledger.Outcome {
			e := keyed(1, run, "sales")
			e.Delivery = delivery
			before := len(ss[i].written())
			m := message(ss[i].wants(e), "")
			if outside {
				m.Headers = append(m.Headers, broker.Header{Key: task.OutsideHeader, Value: []byte("1")})
			}
			ks[i].member(acmeNormal).deliver(m)
			time.Sleep(time.Second)
			require.Len(t, ss[i].written(), before+1)
			return ss[i].written()[before]
		}
		first := deliver(0, 1<<40, 1, false)
		require.True(t, first.Outside)
		require.Equal(t, task.Deferred, deliver(0, 1<<40+1, 1, false).State, "its own process keeps the key")
		require.Equal(t, task.Deferred, deliver(1, 1<<40+2, 1, false).State)
		require.True(t, deliver(1, 1<<40, 2, true).Outside, "the second delivery is another process's")
		require.Equal(t, task.Deferred, deliver(0, 1<<40+1, 2, false).State)
		third := deliver(0, 1<<40, 3, true)
		require.Equal(t, task.Retrying, third.State)
		require.False(t, third.Outside)
		require.Equal(t, task.Succeeded, deliver(0, 1<<40+1, 3, false).State, "a failed attempt has freed the key")
		require.Equal(t, task.Succeeded, deliver(1, 1<<40, 4, false).State)
		require.Zero(t, ss[0].heldKeys())
		cs[0].Stop()
		cs[1].Stop()
	})
}

// A process that is stopped in the middle of an attempt leaves the key to the subtask's next delivery.
func TestSerialKey_StaysWithASubtaskWhoseProcessStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := newPresence()
		cs, ss, ks := deployment(t, at.byKey(time.Minute))
		ended := ks[0].member(acmeNormal).deliver(message(ss[0].wants(keyed(1, 1<<40, "sales")), "sales"))
		synctest.Wait()
		cs[0].Stop()
		require.EqualValues(t, 1, ended.abandoned.Load())
		ks[1].member(acmeNormal).deliver(message(ss[1].wants(keyed(2, 1<<40+1, "sales")), "sales"))
		time.Sleep(time.Second)
		require.Equal(t, task.Deferred, ss[1].written()[0].State)
		ks[1].member(acmeNormal).deliver(message(ss[1].wants(keyed(1, 1<<40, "sales")), "sales"))
		time.Sleep(2 * time.Minute)
		require.Equal(t, task.Succeeded, ss[1].written()[1].State)
		require.Zero(t, ss[1].heldKeys())
		cs[1].Stop()
	})
}

// Random subtasks of a few keys in two processes, each delivered until it has ended: never two of a key at a time.
func TestSerialKey_Property(t *testing.T) {
	t.Parallel()
	type job struct {
		key   string
		where []int // the process of each delivery
		takes time.Duration
		polls int // deliveries that end as deferred on work outside
	}
	rapid.Check(t, func(rt *rapid.T) {
		var jobs []job
		for range rapid.IntRange(2, 8).Draw(rt, "jobs") {
			jobs = append(jobs, job{
				key:   rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "key"),
				where: rapid.SliceOfN(rapid.IntRange(0, 1), 4, 4).Draw(rt, "where"),
				takes: time.Duration(rapid.IntRange(0, 3000).Draw(rt, "ms")) * time.Millisecond,
				polls: rapid.IntRange(0, 2).Draw(rt, "polls"),
			})
		}
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			outside := map[string]int64{} // the run whose work outside has the key
			at, seen := newPresence(), map[int64]int{}
			cs, ss, ks := deployment(t, handler("acme.report", func(_ context.Context, w media.Work) (media.Result, error) {
				j, key := jobs[w.RunID-1<<40], string(w.Params)
				at.enter(key, w.RunID)
				defer at.leave(key)
				time.Sleep(j.takes)
				mu.Lock()
				defer mu.Unlock()
				if holder, held := outside[key]; held && holder != w.RunID {
					t.Errorf("run %d works while run %d has work outside", w.RunID, holder)
				}
				delete(outside, key)
				if seen[w.RunID]++; seen[w.RunID] <= j.polls {
					outside[key] = w.RunID
					return media.Result{}, &media.DeferError{After: time.Second, Reason: "its job", WaitsFor: "job:1"}
				}
				return media.Result{}, nil
			}))
			var working sync.WaitGroup
			for n, j := range jobs {
				working.Go(func() {
					e := keyed(int64(n), 1<<40+int64(n), j.key)
					for {
						i := j.where[e.Delivery%len(j.where)]
						ks[i].member(acmeNormal).deliver(message(ss[i].wants(e), j.key))
						var o ledger.Outcome
						for o.State == "" {
							time.Sleep(100 * time.Millisecond)
							o = answerTo(ss[i], e)
						}
						if !o.State.Open() {
							return
						}
						time.Sleep(time.Until(o.DueAt))
						e.Delivery, e.Outside = e.Delivery+1, o.Outside
					}
				})
			}
			working.Wait()
			for key, most := range at.most {
				require.Equal(t, 1, most, key)
			}
			require.Zero(t, ss[0].heldKeys())
			cs[0].Stop()
			cs[1].Stop()
		})
	})
}

// answerTo returns the outcome of a delivery; the zero value before it is written.
func answerTo(s *fakeStore, e task.Envelope) ledger.Outcome {
	for _, o := range s.written() {
		if o.Key == e.Key && o.Delivery == e.Delivery {
			return o
		}
	}
	return ledger.Outcome{}
}

// Work that is done outside keeps its key between polls, so it is not left to Redis.
func TestSerialKey_WorkOutsideIsKeptApartByTheDatabase(t *testing.T) {
	t.Parallel()
	of := func(handler string) string {
		return keyInTable(task.Envelope{Media: "acme", Handler: handler, Concurrency: task.Serial,
			Key: task.Key{AccountID: 7}})
	}
	require.Equal(t, "acme:7", of("acme.external"))
	require.Equal(t, "acme:7", of("system.external"))
	require.Empty(t, of("acme.report_daily"), "its fence separates the figures")
}
