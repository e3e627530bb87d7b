package consumer

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/media"
)

// stage records when the parallel and the exclusive work of one lane run.
type stage struct {
	mu       sync.Mutex
	others   int
	alone    int
	together int // times that an exclusive subtask and another ran at the same time
}

func (s *stage) enter(exclusive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if exclusive {
		s.alone++
	} else {
		s.others++
	}
	if s.alone > 1 || s.alone == 1 && s.others > 0 {
		s.together++
	}
}

func (s *stage) leave(exclusive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if exclusive {
		s.alone--
	} else {
		s.others--
	}
}

func (s *stage) now() (others, alone, together int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.others, s.alone, s.together
}

// handlers returns acme.report, which takes two seconds, and acme.alone, which takes ten.
func (s *stage) handlers() []media.Handler {
	work := func(exclusive bool, takes time.Duration) func(context.Context, media.Work) (media.Result, error) {
		return func(ctx context.Context, _ media.Work) (media.Result, error) {
			s.enter(exclusive)
			defer s.leave(exclusive)
			select {
			case <-time.After(takes):
				return media.Result{}, nil
			case <-ctx.Done():
				return media.Result{}, ctx.Err()
			}
		}
	}
	return []media.Handler{handler("acme.report", work(false, 2*time.Second)),
		handler("acme.alone", work(true, 10*time.Second))}
}

func exclusive(account int64, limit time.Duration) task.Envelope {
	e := envelope(account)
	e.Handler, e.Concurrency, e.ExclusiveMax = "acme.alone", task.Exclusive, limit
	return e
}

func TestExclusive_RunsAloneInItsLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at stage
		c, s, k := newFaked(t, at.handlers()...)
		require.NoError(t, c.Start(t.Context()))
		m := k.member(acmeNormal)
		for i := range int64(3) {
			m.deliver(message(s.wants(envelope(1+i)), ""))
		}
		synctest.Wait()
		// There are three partitions: two bring exclusive work, one brings other work.
		var partitions sync.WaitGroup
		partitions.Go(func() { m.deliver(message(s.wants(exclusive(10, time.Minute)), "")) })
		synctest.Wait()
		partitions.Go(func() { m.deliver(message(s.wants(exclusive(11, time.Minute)), "")) })
		partitions.Go(func() {
			for i := range int64(8) {
				m.deliver(message(s.wants(envelope(20+i)), ""))
			}
		})
		time.Sleep(time.Second)
		others, alone, _ := at.now()
		require.Equal(t, []int{3, 0}, []int{others, alone}, "it waits until those that run have ended")
		time.Sleep(2 * time.Second)
		others, alone, _ = at.now()
		require.Equal(t, []int{0, 1}, []int{others, alone}, "and nothing begins at the same time")
		time.Sleep(time.Minute)
		partitions.Wait()
		synctest.Wait()
		_, _, together := at.now()
		require.Zero(t, together)
		require.Len(t, s.written(), 13)
		c.Stop()
	})
}

func TestExclusive_HoldsUpOthersForItsLimitAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at stage
		c, s, k := newFaked(t, at.handlers()...)
		require.NoError(t, c.Start(t.Context()))
		m := k.member(acmeNormal)
		m.deliver(message(s.wants(exclusive(10, 4*time.Second)), ""))
		go m.deliver(message(s.wants(envelope(1)), ""))
		time.Sleep(3 * time.Second)
		others, alone, _ := at.now()
		require.Equal(t, []int{0, 1}, []int{others, alone})
		time.Sleep(1500 * time.Millisecond)
		others, alone, _ = at.now()
		require.Equal(t, []int{1, 1}, []int{others, alone}, "after its limit it is one of many")
		time.Sleep(time.Minute)
		require.Len(t, s.written(), 2)
		c.Stop()
	})
}

func TestExclusive_DoesNotWaitForOneThatNeverEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at stage
		wake := make(chan struct{})
		c, s, k := newFaked(t, append(at.handlers(), handler("acme.hangs",
			func(context.Context, media.Work) (media.Result, error) {
				<-wake
				return media.Result{}, nil
			}))...)
		require.NoError(t, c.Start(t.Context()))
		m := k.member(acmeNormal)
		hangs := envelope(1)
		hangs.Handler, hangs.Timeout = "acme.hangs", time.Second
		m.deliver(message(s.wants(hangs), ""))
		go m.deliver(message(s.wants(exclusive(10, time.Minute)), ""))
		time.Sleep(time.Second + hangGrace + time.Second)
		_, alone, _ := at.now()
		require.Equal(t, 1, alone)
		close(wake)
		time.Sleep(time.Minute)
		require.Len(t, s.written(), 2)
		c.Stop()
	})
}

func TestExclusive_WaitsNoLongerThanItsPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at stage
		c, s, k := newFaked(t, at.handlers()...)
		require.NoError(t, c.Start(t.Context()))
		m := k.member(acmeNormal)
		running := m.deliver(message(s.wants(envelope(1)), ""))
		waiting := make(chan *fakeEnding, 1)
		go func() { waiting <- m.deliver(message(s.wants(exclusive(10, time.Minute)), "")) }()
		synctest.Wait()
		c.Stop()
		require.EqualValues(t, 1, running.done.Load())
		require.EqualValues(t, 1, (<-waiting).abandoned.Load())
		require.Len(t, s.written(), 1)
	})
}

func TestExclusive_HoldsUpTheLaneInEveryProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at stage
		cs, ss, ks, _ := pair(t, func(int) []media.Handler { return at.handlers() })
		time.Sleep(3 * time.Second)
		var partitions sync.WaitGroup
		feed := func(i int, envelopes ...task.Envelope) {
			for _, e := range envelopes {
				ss[i].wants(e)
			}
			partitions.Go(func() {
				for _, e := range envelopes {
					ks[i].member(acmeNormal).deliver(message(e, ""))
				}
			})
		}
		many := func(from, n int64) (all []task.Envelope) {
			for i := range n {
				all = append(all, envelope(from+i))
			}
			return all
		}
		feed(0, many(100, 40)...)
		feed(1, many(200, 40)...)
		time.Sleep(time.Second)
		feed(0, exclusive(1, time.Minute))
		feed(1, exclusive(2, time.Minute))
		time.Sleep(10 * time.Minute)
		partitions.Wait()
		synctest.Wait()
		_, _, together := at.now()
		require.Zero(t, together)
		require.Len(t, ss[0].written(), 41)
		require.Len(t, ss[1].written(), 41)
		cs[0].Stop()
		cs[1].Stop()
	})
}

func TestExclusive_WaitsUntilEveryProcessHasHeardOfIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at stage
		cs, ss, ks, _ := pair(t, func(int) []media.Handler { return at.handlers() })
		time.Sleep(3*laneStateInterval + laneStateInterval/2) // Both have said that they are idle.
		ss[0].wants(exclusive(1, time.Minute))
		go ks[0].member(acmeNormal).deliver(message(exclusive(1, time.Minute), ""))
		time.Sleep(time.Millisecond)
		ks[1].member(acmeNormal).deliver(message(ss[1].wants(envelope(2)), ""))
		synctest.Wait()
		others, alone, _ := at.now()
		require.Equal(t, []int{1, 0}, []int{others, alone}, "the other cannot know yet")
		time.Sleep(time.Minute)
		_, _, together := at.now()
		require.Zero(t, together)
		require.Len(t, ss[0].written(), 1)
		require.Len(t, ss[1].written(), 1)
		cs[0].Stop()
		cs[1].Stop()
	})
}

func TestExclusive_AProcessThatDiedHoldsUpNobodyForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at stage
		cs, ss, ks, r := pair(t, func(int) []media.Handler { return at.handlers() })
		time.Sleep(3 * time.Second)
		lane := acmeNormal
		// Another process was busy in the lane, claimed its floor, and died.
		client := r.Client(t)
		require.NoError(t, client.HSet(t.Context(), cs[0].claims.membersKey(lane), "dead",
			laneState{at: time.Now(), busy: true}.String()).Err())
		require.NoError(t, client.Set(t.Context(), cs[0].claims.floorKey(lane), "dead/1", claimTTL).Err())
		time.Sleep(2 * laneStateInterval)
		var partitions sync.WaitGroup
		partitions.Go(func() { ks[0].member(lane).deliver(message(ss[0].wants(exclusive(1, time.Minute)), "")) })
		partitions.Go(func() { ks[1].member(lane).deliver(message(ss[1].wants(envelope(2)), "")) })
		time.Sleep(time.Second)
		others, alone, _ := at.now()
		require.Zero(t, others+alone, "its claim still holds")
		time.Sleep(claimTTL + 30*time.Second)
		partitions.Wait()
		require.Len(t, ss[0].written(), 1)
		require.Len(t, ss[1].written(), 1)
		cs[0].Stop()
		cs[1].Stop()
	})
}

func TestExclusive_WithoutRedisEachProcessHasItsOwnFloor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at stage
		cs, ss, ks, r := pair(t, func(int) []media.Handler { return at.handlers() })
		client := r.Client(t)
		require.NoError(t, client.Set(t.Context(), cs[0].claims.floorKey(acmeNormal), "gone/1", time.Hour).Err())
		time.Sleep(2 * laneStateInterval)
		r.Mini.SetError("LOADING")
		time.Sleep(laneStateTTL + 2*awayPause)
		ks[0].member(acmeNormal).deliver(message(ss[0].wants(envelope(1)), ""))
		ks[1].member(acmeNormal).deliver(message(ss[1].wants(exclusive(2, time.Minute)), ""))
		synctest.Wait()
		others, alone, _ := at.now()
		require.Equal(t, []int{1, 1}, []int{others, alone}, "nobody waits for a Redis that is away")
		time.Sleep(time.Minute)
		require.Len(t, ss[0].written(), 1)
		require.Len(t, ss[1].written(), 1)
		r.Mini.SetError("")
		cs[0].Stop()
		cs[1].Stop()
	})
}

// An exclusive message whose subtask has ended holds up no other: its row is read before the lane is cleared for it.
func TestExclusive_AMessageThatComesAgainDoesNotClearTheLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at stage
		c, s, k := newFaked(t, at.handlers()...)
		require.NoError(t, c.Start(t.Context()))
		m := k.member(acmeNormal)
		m.deliver(message(s.wants(envelope(1)), ""))
		synctest.Wait()
		again := exclusive(10, time.Minute)
		s.set(func(s *fakeStore) { s.states[again.Key] = ledger.SubtaskStatus{State: task.Succeeded, Delivery: 1} })
		began := time.Now()
		ended := m.deliver(message(again, ""))
		synctest.Wait()
		require.EqualValues(t, 1, ended.done.Load())
		require.Less(t, time.Since(began), time.Second, "it does not wait for those that run")
		c.Stop()
	})
}
