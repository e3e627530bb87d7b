package consumer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/redis"
	"adsync/base/redis/redistest"
	"adsync/base/task"
	"adsync/media"
)

// presence records which subtasks run at the same time.
type presence struct {
	mu     sync.Mutex
	inside map[string]int
	most   map[string]int
	order  []int64
}

func newPresence() *presence { return &presence{inside: map[string]int{}, most: map[string]int{}} }

func (p *presence) enter(key string, run int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.order = append(p.order, run)
	p.inside[key]++
	p.most[key] = max(p.most[key], p.inside[key])
}

func (p *presence) leave(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inside[key]--
}

func (p *presence) now() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, inside := range p.inside {
		n += inside
	}
	return n
}

// working returns a handler that takes some time and records which accounts run.
func (p *presence) working(takes time.Duration) media.Handler {
	return handler("acme.report", func(ctx context.Context, w media.Work) (media.Result, error) {
		key := fmt.Sprint(w.AccountID)
		p.enter(key, w.RunID)
		defer p.leave(key)
		select {
		case <-time.After(takes):
			return media.Result{}, nil
		case <-ctx.Done():
			return media.Result{}, ctx.Err()
		}
	})
}

// serial is the envelope of the n-th run over an account.
func serial(account, n int64) task.Envelope {
	e := envelope(account)
	e.RunID += n
	e.Concurrency = task.Serial
	return e
}

func TestSerial_SubtasksOfOneAccountGoOneAtATimeAndWaitWithoutASlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := newPresence()
		c, s, k := newFaked(t, at.working(time.Second))
		require.NoError(t, c.Start(t.Context()))
		m := k.member(acmeNormal)
		for n := range int64(10) {
			m.deliver(message(s.wants(serial(1, n)), ""))
		}
		synctest.Wait()
		used, _ := c.open()[0].slots.state()
		require.Equal(t, 1, used, "nine wait, and hold neither a slot nor the reading of the partition")
		for n := range int64(3) {
			m.deliver(message(s.wants(serial(2+n, 0)), ""))
		}
		synctest.Wait()
		require.Equal(t, 4, at.now(), "other accounts continue")
		time.Sleep(11 * time.Second)
		synctest.Wait()
		require.Len(t, s.written(), 13)
		require.Equal(t, 1, at.most["1"])
		var first []int64
		for _, run := range at.order {
			if !slices.Contains(first, run) {
				first = append(first, run)
			}
		}
		require.True(t, slices.IsSorted(first), "in the order of their messages: %v", first)
		require.Empty(t, c.serialKeys.keys)
		c.Stop()
	})
}

func TestSerial_WhatWaitsIsGivenUpWithItsPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := newPresence()
		c, s, k := newFaked(t, at.working(5*time.Second))
		require.NoError(t, c.Start(t.Context()))
		var all []*fakeEnding
		for n := range int64(5) {
			all = append(all, k.member(acmeNormal).deliver(message(s.wants(serial(1, n)), "")))
		}
		synctest.Wait()
		began := time.Now()
		c.Stop()
		require.Equal(t, 5*time.Second+c.cfg.OutcomeInterval, time.Since(began), "the drain waits for the one that runs")
		require.EqualValues(t, 1, all[0].done.Load())
		for _, e := range all[1:] {
			require.EqualValues(t, 1, e.abandoned.Load(), "the next owner does it")
		}
		require.Empty(t, c.serialKeys.keys)
	})
}

func TestSerial_AHandlerThatHangsGivesUpItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		c, s, k := newFaked(t, handler("acme.report", func(_ context.Context, w media.Work) (media.Result, error) {
			if w.RunID == envelope(1).RunID {
				<-wake
			}
			return media.Result{}, nil
		}))
		require.NoError(t, c.Start(t.Context()))
		first := serial(1, 0)
		first.Timeout = time.Second
		k.member(acmeNormal).deliver(message(s.wants(first), ""))
		k.member(acmeNormal).deliver(message(s.wants(serial(1, 1)), ""))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, s.written(), 2)
		close(wake)
		c.Stop()
		require.Empty(t, c.serialKeys.keys)
	})
}

func TestSerial_WorkOfNoAccountGoesByItsPart(t *testing.T) {
	t.Parallel()
	require.Equal(t, serialKey(task.Envelope{Key: task.Key{RunID: 1, Part: "a"}}),
		serialKey(task.Envelope{Key: task.Key{RunID: 2, Part: "a"}}))
	require.NotEqual(t, serialKey(task.Envelope{Key: task.Key{Part: "7"}}),
		serialKey(task.Envelope{Key: task.Key{AccountID: 7}}))
}

// pair returns two consumers, as two processes of one deployment, and their Redis. They are prepared before they start.
func pair(t *testing.T, handlers func(i int) []media.Handler, prepare ...func(i int, c *Consumer)) (cs [2]*Consumer,
	ss [2]*fakeStore, ks [2]*fakeKafka, r *redistest.Virtual) {
	t.Helper()
	r = redistest.NewVirtual(t)
	for i := range cs {
		cs[i], ss[i], ks[i] = newFaked(t, handlers(i)...)
		cs[i].claims.client, cs[i].claims.keys = r.Client(t), redis.NewKeys("test")
		for _, p := range prepare {
			p(i, cs[i])
		}
		require.NoError(t, cs[i].Start(t.Context()))
	}
	return cs, ss, ks, r
}

func TestSerial_AnotherProcessIsNotRunInto(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := newPresence()
		cs, ss, ks, _ := pair(t, func(int) []media.Handler { return []media.Handler{at.working(40 * time.Second)} })
		ks[0].member(acmeNormal).deliver(message(ss[0].wants(serial(1, 0)), ""))
		time.Sleep(30 * time.Second)
		second := ks[1].member(acmeNormal).deliver(message(ss[1].wants(serial(1, 1)), ""))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, ss[1].written(), 1, "the claim was renewed all the time")
		o := ss[1].written()[0]
		require.Equal(t, task.Deferred, o.State)
		require.Zero(t, o.Attempt, "waiting costs no attempt")
		require.Contains(t, o.Reason, "another consumer works on 1")
		require.EqualValues(t, 1, second.done.Load())

		time.Sleep(10 * time.Second)
		again := serial(1, 1)
		again.Delivery = 2
		ks[1].member(acmeNormal).deliver(message(ss[1].wants(again), ""))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, ss[1].written(), 2)
		require.Equal(t, task.Succeeded, ss[1].written()[1].State)
		require.Equal(t, 1, at.most["1"])
		cs[0].Stop()
		cs[1].Stop()
	})
}

func TestSerial_WithoutRedisEachProcessKeepsItsOwnOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := newPresence()
		var log lines
		cs, ss, ks, r := pair(t, func(int) []media.Handler { return []media.Handler{at.working(time.Second)} },
			func(i int, c *Consumer) {
				if i == 1 {
					c.logTo(&log)
				}
				c.claims.causes = c.causes
			})
		r.Mini.SetError("LOADING")
		for i := range cs {
			for n := range int64(20) {
				ks[i].member(acmeNormal).deliver(message(ss[i].wants(serial(int64(i), n)), ""))
			}
		}
		time.Sleep(25 * time.Second)
		synctest.Wait()
		for i := range cs {
			require.Len(t, ss[i].written(), 20)
			for _, o := range ss[i].written() {
				require.Equal(t, task.Succeeded, o.State)
			}
			require.Equal(t, 1, at.most[fmt.Sprint(i)])
		}
		require.Equal(t, 1, log.count("Redis does not answer"))
		r.Mini.SetError("")
		cs[0].Stop()
		cs[1].Stop()
	})
}

// In any order of acquire, giving up and release, one subtask has the key at a time, those that did not give up get
// it in the order of acquire, and no state remains.
func TestTurns_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := newSerialKeys()
		type waiter struct {
			id     int
			key    string
			cancel context.CancelFunc
			began  chan bool // true: it holds the key; false: it has given up
		}
		waiting, holding := map[string][]*waiter{}, map[string]*waiter{}
		settle := func(key string, next *waiter) {
			if got := <-next.began; !got {
				t.Fatalf("waiter %d of %s gave up though the key was free", next.id, key)
			}
			holding[key] = next
		}
		for id := range rapid.IntRange(1, 60).Draw(t, "steps") {
			key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				ctx, cancel := context.WithCancel(context.Background())
				a := &waiter{id: id, key: key, cancel: cancel, began: make(chan bool, 2)}
				mine := keys.acquire(ctx, key, func() { a.began <- true }, func() { a.began <- false })
				if mine != (holding[key] == nil) {
					t.Fatalf("waiter %d: mine is %v while %v holds %s", id, mine, holding[key], key)
				}
				if mine {
					holding[key] = a
				} else {
					waiting[key] = append(waiting[key], a)
				}
			case 2:
				if n := len(waiting[key]); n > 0 {
					i := rapid.IntRange(0, n-1).Draw(t, "who gives up")
					a := waiting[key][i]
					waiting[key] = slices.Delete(waiting[key], i, i+1)
					a.cancel()
					if <-a.began {
						t.Fatalf("waiter %d got the key though it was not first and has given up", a.id)
					}
				}
			case 3:
				if holding[key] == nil {
					continue
				}
				holding[key].cancel()
				holding[key] = nil
				keys.release(key)
				if len(waiting[key]) > 0 {
					next := waiting[key][0]
					waiting[key] = waiting[key][1:]
					settle(key, next)
				}
			}
		}
		for key := range holding {
			for holding[key] != nil {
				holding[key].cancel()
				holding[key] = nil
				keys.release(key)
				if len(waiting[key]) > 0 {
					next := waiting[key][0]
					waiting[key] = waiting[key][1:]
					settle(key, next)
				}
			}
		}
		if len(keys.keys) != 0 {
			t.Fatalf("left behind: %v", keys.keys)
		}
	})
}

// Subtasks without an account are serial by their part: logins and platforms do not wait for each other.
func TestSerialKey_IsTheAccountOrElseThePart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		account int64
		part    string
		key     string
	}{{7, "2026-11-20", "7"}, {7, "login 3", "7"}, {0, "login 3", "part login 3"}, {0, "login 4", "part login 4"}} {
		require.Equal(t, c.key, serialKey(task.Envelope{Key: task.Key{AccountID: c.account, Part: c.part}}))
	}
}
