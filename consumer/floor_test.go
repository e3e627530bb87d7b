package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/store/exclusion"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/media"
)

// stage records which subtasks run, and finds exclusive ones that run next to others.
type stage struct {
	mu     sync.Mutex
	inside map[task.Key]task.Envelope
	order  []task.Key // of their beginnings
	faults []string
	of     map[task.Key]task.Envelope // what the subtasks' messages say
}

func newStage() *stage {
	return &stage{inside: map[task.Key]task.Envelope{}, of: map[task.Key]task.Envelope{}}
}

func (s *stage) enter(k task.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.of[k]
	s.order = append(s.order, k)
	for _, other := range s.inside {
		if clash(e, other) || clash(other, e) {
			s.faults = append(s.faults, fmt.Sprintf("%v ran next to %v", k, other.Key))
		}
	}
	s.inside[k] = e
}

// clash reports whether an exclusive subtask may not run next to another one.
func clash(alone, other task.Envelope) bool {
	return alone.Concurrency == task.Exclusive && concerns(floorOf(alone), other)
}

func (s *stage) leave(k task.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.inside, k)
}

// now returns the accounts of the subtasks that run, ascending.
func (s *stage) now() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	accounts := []int64{}
	for k := range s.inside {
		accounts = append(accounts, k.AccountID)
	}
	slices.Sort(accounts)
	return accounts
}

// begun returns the subtasks that have begun, in their order.
func (s *stage) begun() []task.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.order)
}

// known notes what a subtask's message says.
func (s *stage) known(e task.Envelope) task.Envelope {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[e.Key] = e
	return e
}

func (s *stage) working(name string, takes time.Duration) media.Handler {
	return handler(name, func(ctx context.Context, w media.Work) (media.Result, error) {
		s.enter(w.Key)
		defer s.leave(w.Key)
		select {
		case <-time.After(takes):
			return media.Result{}, nil
		case <-ctx.Done():
			return media.Result{}, ctx.Err()
		}
	})
}

// handlers returns acme.report, which takes two seconds, and acme.alone, which takes ten.
func (s *stage) handlers() []media.Handler {
	return []media.Handler{s.working("acme.report", 2*time.Second), s.working("acme.alone", 10*time.Second),
		s.working("zeta.report", 2*time.Second), s.working("acme.token_refresh", 2*time.Second)}
}

func exclusive(account int64, limit time.Duration) task.Envelope {
	e := envelope(account)
	e.Handler, e.Concurrency, e.ExclusiveMax = "acme.alone", task.Exclusive, limit
	return e
}

func over(e task.Envelope, scope task.Over) task.Envelope {
	e.ExclusiveOver = scope
	return e
}

var (
	acmeOffline = laneName{"acme", "offline"}
	zetaNormal  = laneName{"zeta", "normal"}
)

// in returns the envelope in another lane.
func in(lane laneName, e task.Envelope) task.Envelope {
	e.Media, e.Lane, e.Handler = lane.media, lane.lane, lane.media+".report"
	return e
}

// house is some consumers on one database. Each has the lanes normal and offline of acme, and normal of zeta.
type house struct {
	*testing.T
	at *stage
	cs []*Consumer
	ss []*fakeStore
	ks []*fakeKafka
}

func newHouse(t *testing.T, n int, handlers ...media.Handler) *house {
	t.Helper()
	h := &house{T: t, at: newStage()}
	if len(handlers) == 0 {
		handlers = h.at.handlers()
	}
	for i := range n {
		c, s, k := newFaked(t, handlers...)
		s.lanes = []settings.Lane{{Media: "acme", Name: "normal", PoolSize: 4},
			{Media: "acme", Name: "offline", PoolSize: 4}, {Media: "zeta", Name: "normal", PoolSize: 4}}
		if i > 0 {
			s.fakeExclusion = h.ss[0].fakeExclusion
		}
		require.NoError(t, c.Start(t.Context()))
		h.cs, h.ss, h.ks = append(h.cs, c), append(h.ss, s), append(h.ks, k)
	}
	return h
}

// deliver passes a subtask to a consumer, as its partition does.
func (h *house) deliver(i int, e task.Envelope) *fakeEnding {
	m := message(h.ss[i].wants(h.at.known(e)), "")
	if e.Outside {
		m.Headers = append(m.Headers, broker.Header{Key: task.OutsideHeader, Value: []byte("1")})
	}
	return h.ks[i].member(laneName{e.Media, e.Lane}).deliver(m)
}

func (h *house) stop() {
	for _, c := range h.cs {
		c.Stop()
	}
	require.Empty(h, h.at.faults)
	require.Zero(h, h.ss[0].rows())
}

// releaseAll removes all floors.
func (f *fakeExclusion) releaseAll() {
	f.keysMu.Lock()
	defer f.keysMu.Unlock()
	now := clock.System{}.Now()
	for _, floor := range f.floors.Read(now).Floors {
		f.floors.Release(now, floor.Key, floor.Claim)
	}
}

// rows returns how many floors there are.
func (f *fakeExclusion) rows() int {
	f.keysMu.Lock()
	defer f.keysMu.Unlock()
	return len(f.floors.Read(time.Now()).Floors)
}

func TestExclusive_RunsAloneInItsLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 2)
		h.deliver(0, envelope(1))
		h.deliver(1, envelope(2))
		h.deliver(0, exclusive(10, time.Minute))
		time.Sleep(100 * time.Millisecond)
		h.deliver(1, exclusive(11, time.Minute))
		time.Sleep(1400 * time.Millisecond)
		for i := range int64(6) {
			h.deliver(int(i%2), envelope(20+i))
			h.deliver(int(i%2), in(zetaNormal, envelope(30+i)))
		}
		time.Sleep(3 * time.Second)
		require.Empty(t, slices.DeleteFunc(h.at.now(), func(id int64) bool { return id >= 30 }),
			"it waits until those that run have ended, and nothing of its lane begins")
		time.Sleep(3 * time.Second)
		require.Equal(t, []int64{10}, h.at.now())
		time.Sleep(time.Minute)
		require.Len(t, h.ss[0].written(), 8)
		require.Len(t, h.ss[1].written(), 8)
		require.Equal(t, []int64{10, 11}, accountsOf(h.at.begun(), 10, 11), "who asks first gets it first")
		h.stop()
	})
}

// accountsOf returns some accounts in the order in which their subtasks began.
func accountsOf(order []task.Key, of ...int64) (accounts []int64) {
	for _, k := range order {
		if slices.Contains(of, k.AccountID) {
			accounts = append(accounts, k.AccountID)
		}
	}
	return accounts
}

func TestExclusive_OverItsScope(t *testing.T) {
	t.Parallel()
	for scope, next := range map[task.Over][]int64{
		task.OverLane:       {2, 3, 4, 10}, // the offline lane, the other platform, and the tokens
		task.OverPlatform:   {3, 4, 10},
		task.OverEverything: {4, 10},
	} {
		t.Run(string(scope), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, 2)
				h.deliver(0, over(exclusive(10, time.Minute), scope))
				time.Sleep(6 * time.Second)
				require.Equal(t, []int64{10}, h.at.now())
				tokens := envelope(4)
				tokens.Handler = "acme.token_refresh"
				h.deliver(1, envelope(1))
				h.deliver(1, in(acmeOffline, envelope(2)))
				h.deliver(1, in(zetaNormal, envelope(3)))
				h.deliver(1, tokens)
				time.Sleep(time.Second)
				require.Equal(t, next, h.at.now())
				time.Sleep(time.Minute)
				require.Len(t, h.ss[1].written(), 4)
				h.stop()
			})
		})
	}
}

func TestExclusive_HoldsUpOthersForItsLimitAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 1)
		h.deliver(0, exclusive(10, 4*time.Second))
		time.Sleep(6 * time.Second)
		h.deliver(0, envelope(1))
		time.Sleep(2 * time.Second)
		require.Equal(t, []int64{10}, h.at.now())
		time.Sleep(3 * time.Second)
		require.Equal(t, []int64{1, 10}, h.at.now(), "after its limit it is one of many")
		time.Sleep(time.Minute)
		require.Len(t, h.ss[0].written(), 2)
		h.at.faults = nil
		h.stop()
	})
}

// An exclusive subtask whose others do not end in time is deferred, and they continue meanwhile.
func TestExclusive_DrainsForItsLimitAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := newStage()
		h := newHouse(t, 2, at.working("acme.report", time.Hour), at.working("acme.alone", time.Second))
		h.at = at
		long := envelope(1)
		long.Timeout = 2 * time.Hour
		h.deliver(1, long)
		e := exclusive(10, time.Minute)
		e.ExclusiveDrain = 20 * time.Second
		h.deliver(0, e)
		time.Sleep(10 * time.Second)
		h.deliver(0, in(acmeNormal, envelope(2)))
		require.Equal(t, []int64{1}, at.now())
		time.Sleep(15 * time.Second)
		require.Equal(t, []int64{1, 2}, at.now(), "the others continue")
		require.Len(t, h.ss[0].written(), 1)
		o := h.ss[0].written()[0]
		require.Equal(t, task.Deferred, o.State)
		require.Zero(t, o.Attempt)
		require.Contains(t, o.Reason, "others were not idle within 20s, so it tries again: ")
		require.Contains(t, o.Reason, " runs 1")
		require.InDelta(t, 1, metricsOf(t, h.cs[0])["adsync_consumer_exclusive_drains_failed_total"], 0)
		time.Sleep(2 * time.Hour)
		h.stop()
	})
}

// A consumer that is killed counts as dead when it has been silent for some seconds. What it held stays with its
// subtask: the next delivery in another process finds that it holds it.
func TestExclusive_OverATakeover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 2)
		h.cs[0].cfg.DrainTimeout = time.Second
		h.deliver(0, exclusive(10, time.Minute))
		time.Sleep(7 * time.Second)
		h.cs[0].Stop() // in the middle of the subtask
		require.Equal(t, 1, h.ss[1].rows())
		h.deliver(1, envelope(1))
		time.Sleep(10 * time.Second)
		require.Empty(t, h.at.now(), "nothing runs next to a floor whose process has gone")
		h.deliver(1, exclusive(10, time.Minute))
		time.Sleep(time.Second)
		require.Equal(t, []int64{10}, h.at.now(), "it does not ask again")
		time.Sleep(time.Minute)
		require.Len(t, h.ss[1].written(), 2)
		h.stop()
	})
}

// A process that was paused asks for the floor of a subtask which has moved to another process, and then learns that it
// has moved. The other one holds the floor until it has ended.
func TestExclusive_APausedProcessLeavesTheFloorOfTheNextOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 2)
		e := exclusive(10, time.Minute)
		h.deliver(1, e)
		time.Sleep(7 * time.Second)
		require.Equal(t, []int64{10}, h.at.now())
		h.ss[0].set(func(s *fakeStore) { s.noTurns = errors.New("connection reset") })
		h.deliver(0, e)
		time.Sleep(time.Second)
		h.cs[0].Stop()
		h.deliver(1, envelope(1))
		time.Sleep(2 * time.Second)
		require.Equal(t, []int64{10}, h.at.now(), "nothing runs next to it")
		time.Sleep(10 * time.Second)
		require.Len(t, h.ss[1].written(), 1)
		h.ss[1].releaseAll() // as the leader does
		time.Sleep(10 * time.Second)
		require.Len(t, h.ss[1].written(), 2)
		h.stop()
	})
}

// A subtask keeps its floor while an outside worker has its job, and one with a job is waited for.
func TestExclusive_WithWorkOutside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 1, handler("acme.report", func(context.Context, media.Work) (media.Result, error) {
			return media.Result{}, nil
		}), handler("acme.alone", func(_ context.Context, w media.Work) (media.Result, error) {
			if w.Delivery == 1 {
				return media.Result{}, &media.DeferError{After: time.Minute, Reason: "its job", WaitsFor: "job:1"}
			}
			return media.Result{}, nil
		}), handler("zeta.report", nil))
		build := in(zetaNormal, envelope(5))
		h.ss[0].keysMu.Lock()
		h.ss[0].outside[build.Key] = build
		h.ss[0].keysMu.Unlock()
		h.deliver(0, over(exclusive(10, time.Minute), task.OverEverything))
		time.Sleep(20 * time.Second)
		require.Empty(t, h.ss[0].written(), "a job of an outside worker is waited for")
		build.Handler, build.Outside, build.Delivery = "acme.report", true, 2 // It takes no time.
		h.deliver(0, build)
		time.Sleep(time.Second)
		require.Len(t, h.ss[0].written(), 1, "the delivery that ends such work is let through")
		h.ss[0].keysMu.Lock()
		clear(h.ss[0].outside)
		h.ss[0].keysMu.Unlock()
		time.Sleep(time.Second)
		require.Len(t, h.ss[0].written(), 2)
		require.True(t, h.ss[0].written()[1].Outside)
		h.deliver(0, envelope(1))
		time.Sleep(20 * time.Second)
		require.Len(t, h.ss[0].written(), 2, "the floor is kept between its deliveries")
		again := over(exclusive(10, time.Minute), task.OverEverything)
		again.Delivery, again.Outside = 2, true
		h.deliver(0, again)
		time.Sleep(3 * time.Second)
		require.Len(t, h.ss[0].written(), 4)
		h.stop()
	})
}

// Work that the holder's run orders passes, also exclusive work, and wherever others wait.
func TestExclusive_ItsDescendantsPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 2)
		holder := over(exclusive(10, time.Minute), task.OverEverything)
		holder.RunID++
		h.deliver(0, holder)
		time.Sleep(6 * time.Second)
		later := over(exclusive(11, time.Minute), task.OverEverything)
		h.deliver(1, later)
		h.deliver(1, envelope(1))
		child := in(acmeOffline, envelope(2))
		child.RunID, child.Ancestors = child.RunID+2, []int64{holder.RunID}
		h.deliver(1, child)
		alone := exclusive(3, time.Minute)
		alone.RunID, alone.Ancestors = alone.RunID+3, []int64{7, holder.RunID}
		h.deliver(1, alone)
		time.Sleep(3500 * time.Millisecond)
		require.Equal(t, []int64{3, 10}, h.at.now())
		require.Contains(t, h.at.begun(), child.Key)
		time.Sleep(2 * time.Minute)
		require.Len(t, h.ss[1].written(), 4)
		h.stop()
	})
}

// A process that was paused reads the floors again before it begins anything.
func TestFloors_NothingBeginsByAnOldReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 2)
		h.ss[1].set(func(s *fakeStore) { s.noFloors = errors.New("connection refused") })
		time.Sleep(floorValid + time.Second)
		h.deliver(1, envelope(1))
		time.Sleep(10 * time.Second)
		require.Empty(t, h.at.now())
		h.deliver(0, exclusive(10, time.Minute))
		time.Sleep(7 * time.Second)
		require.Equal(t, []int64{10}, h.at.now(), "a silent consumer counts as dead")
		h.ss[1].set(func(s *fakeStore) { s.noFloors = nil })
		time.Sleep(2 * time.Second)
		require.Equal(t, []int64{10}, h.at.now())
		time.Sleep(time.Minute)
		require.Len(t, h.ss[1].written(), 1)
		h.stop()
	})
}

// Work that was admitted before a pause of its process is judged again, by a reading that is young enough.
func TestFloors_MayStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFloors(nil)
		now := clock.System{}.Now()
		floor := exclusion.Floor{ID: 1, Key: task.Key{RunID: 1, AccountID: 10, Part: "p"}, Media: "acme", Lane: "normal",
			Scope: task.OverLane, FrontAt: now, Hold: time.Minute, Drain: time.Minute}
		reads := func(floors ...exclusion.Floor) {
			f.apply(exclusion.Reading{Now: clock.System{}.Now(), Floors: floors})
			f.mu.Lock()
			f.readAt = clock.Mark()
			f.mu.Unlock()
			f.wake()
		}
		type answer struct {
			may bool
			err error
		}
		asks := func(ctx context.Context, e task.Envelope) chan answer {
			answers := make(chan answer, 1)
			go func() {
				may, err := f.mayStill(ctx, e)
				answers <- answer{may, err}
			}()
			synctest.Wait()
			return answers
		}
		ctx, e := t.Context(), envelope(1)
		child, refresh := envelope(2), in(laneName{"acme", "normal"}, envelope(3))
		child.Ancestors, refresh.Handler = []int64{floor.RunID}, "acme.token_refresh"

		first := asks(ctx, e)
		require.Empty(t, first, "nothing was read yet")
		reads(floor)
		require.Equal(t, answer{may: true}, <-first, "the floor waits for it to be idle")
		held := floor
		held.HeldAt = now
		reads(held)
		require.Equal(t, answer{}, <-asks(ctx, e))
		require.Equal(t, answer{may: true}, <-asks(ctx, in(zetaNormal, envelope(4))), "it is of another lane")
		require.Equal(t, answer{may: true}, <-asks(ctx, child))
		require.Equal(t, answer{may: true}, <-asks(ctx, refresh))

		reads()
		time.Sleep(floorValid)
		old := asks(ctx, e)
		require.Empty(t, old, "the reading is too old")
		reads(held)
		require.Equal(t, answer{}, <-old)

		time.Sleep(floorValid)
		ending, end := context.WithCancel(ctx)
		waits := asks(ending, e)
		require.Empty(t, waits)
		end()
		require.ErrorIs(t, (<-waits).err, context.Canceled)
	})
}

// Orders, age, and the end of the partition end the wait for a floor and remove it.
func TestExclusive_WhatEndsItsWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(h *house, waiting *fakeEnding)
		want task.State
	}{
		"a cancel": {func(h *house, _ *fakeEnding) {
			h.ss[0].set(func(s *fakeStore) {
				s.stops = []task.Stop{{ID: 1 << 50, Verb: task.Cancel, Kind: task.StopAccount, Target: "10"}}
			})
		}, task.Cancelled},
		"a pause": {func(h *house, _ *fakeEnding) {
			h.ss[0].set(func(s *fakeStore) {
				s.stops = []task.Stop{{ID: 1 << 50, Verb: task.Pause, Kind: task.StopAccount, Target: "10"}}
			})
		}, task.Deferred},
		"its time to live":         {func(*house, *fakeEnding) { time.Sleep(4500 * time.Millisecond) }, task.Expired},
		"a partition that is full": {func(_ *house, waiting *fakeEnding) { waiting.holdsUp.Store(true) }, task.Deferred},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, 1)
				h.deliver(0, exclusive(11, 10*time.Minute))
				time.Sleep(6 * time.Second)
				e := exclusive(10, time.Minute)
				if c.want == task.Expired {
					e.Deadline = time.Now().Add(6 * time.Second)
				}
				waiting := h.deliver(0, e)
				time.Sleep(2 * time.Second)
				require.Equal(t, 2, h.ss[0].rows())
				c.end(h, waiting)
				time.Sleep(2 * time.Second)
				require.Equal(t, c.want, answerTo(h.ss[0], e).State)
				require.EqualValues(t, 1, waiting.done.Load())
				time.Sleep(time.Minute)
				h.stop()
			})
		})
	}
}

func TestExclusive_WaitsNoLongerThanItsPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 1)
		running := h.deliver(0, envelope(1))
		waiting := h.deliver(0, exclusive(10, time.Minute))
		parked := h.deliver(0, envelope(2))
		time.Sleep(time.Second)
		h.stop()
		require.EqualValues(t, 1, running.done.Load())
		require.EqualValues(t, 1, waiting.abandoned.Load())
		require.EqualValues(t, 1, parked.abandoned.Load()+parked.done.Load())
	})
}

// An exclusive message whose subtask has ended holds up no other: its row is read before it asks.
func TestExclusive_AMessageThatComesAgainAsksForNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 1)
		again := exclusive(10, time.Minute)
		h.ss[0].set(func(s *fakeStore) { s.states[again.Key] = ledger.SubtaskStatus{State: task.Succeeded, Delivery: 1} })
		ended := h.ks[0].member(acmeNormal).deliver(message(again, ""))
		synctest.Wait()
		require.EqualValues(t, 1, ended.done.Load())
		require.Zero(t, h.ss[0].asks)
		h.stop()
	})
}

// A consumer that has no exclusive work and no floors writes nothing about them.
func TestFloors_CostNothingWithoutExclusiveWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, 1)
		h.deliver(0, envelope(1))
		time.Sleep(time.Minute)
		h.stop()
		require.False(t, h.cs[0].floors.reports)
	})
}

// Random subtasks over lanes and platforms, exclusive ones of the three scopes among them, on three consumers of which
// one dies: no exclusive one runs next to another, and all end.
func TestExclusive_Property(t *testing.T) {
	t.Parallel()
	type job struct {
		at    time.Duration
		e     task.Envelope
		where int
		takes time.Duration
	}
	rapid.Check(t, func(rt *rapid.T) {
		var jobs []job
		lanes := []laneName{acmeNormal, acmeOffline, zetaNormal}
		for n := range rapid.IntRange(3, 14).Draw(rt, "jobs") {
			lane := rapid.SampledFrom(lanes).Draw(rt, "lane")
			e := in(lane, envelope(int64(n+1)))
			if rapid.IntRange(0, 2).Draw(rt, "exclusive") == 0 {
				e.Concurrency, e.ExclusiveMax, e.ExclusiveDrain = task.Exclusive, time.Hour, time.Hour
				e.ExclusiveOver = rapid.SampledFrom([]task.Over{task.OverLane, task.OverPlatform,
					task.OverEverything}).Draw(rt, "scope")
			}
			jobs = append(jobs, job{
				at: time.Duration(rapid.IntRange(0, 20_000).Draw(rt, "at")) * time.Millisecond, e: e,
				where: rapid.IntRange(0, 2).Draw(rt, "where"),
				takes: time.Duration(rapid.IntRange(0, 8000).Draw(rt, "takes")) * time.Millisecond,
			})
		}
		dies := time.Duration(rapid.IntRange(0, 30_000).Draw(rt, "dies")) * time.Millisecond
		synctest.Test(t, func(t *testing.T) {
			var h *house
			var dead atomic.Bool
			work := func(ctx context.Context, w media.Work) (media.Result, error) {
				h.at.enter(w.Key)
				defer h.at.leave(w.Key)
				select {
				case <-time.After(jobs[w.AccountID-1].takes):
					return media.Result{}, nil
				case <-ctx.Done():
					return media.Result{}, ctx.Err()
				}
			}
			h = newHouse(t, 3, handler("acme.report", work), handler("zeta.report", work))
			h.cs[2].cfg.DrainTimeout = time.Second
			var working sync.WaitGroup
			for _, j := range jobs {
				working.Go(func() {
					time.Sleep(j.at)
					for {
						i := j.where
						if i == 2 && dead.Load() {
							i = 0
						}
						ended := h.deliver(i, j.e)
						for ended.done.Load()+ended.abandoned.Load() == 0 {
							time.Sleep(100 * time.Millisecond)
						}
						o := answerTo(h.ss[i], j.e)
						switch {
						case ended.abandoned.Load() > 0:
							continue
						case !o.State.Open():
							return
						}
						time.Sleep(time.Until(o.DueAt))
						j.e.Delivery++
					}
				})
			}
			time.Sleep(dies)
			dead.Store(true)
			h.cs[2].Stop()
			working.Wait()
			h.stop()
		})
	})
}
