package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/redis"
	"adsync/base/redis/redistest"
)

// remote is a limiter at the other end of a network, and counts the asks.
type remote struct {
	Limiter
	asks *atomic.Int64
}

func (r remote) Take(ctx context.Context, keys []Key, n int) (Grant, error) {
	r.asks.Add(1)
	time.Sleep(time.Duration(rand.Int64N(int64(2 * time.Millisecond))))
	defer func() { time.Sleep(time.Duration(rand.Int64N(int64(2 * time.Millisecond)))) }()
	return r.Limiter.Take(ctx, keys, n)
}

// deployment is several processes on one Redis, and the platform that they call. It lives in a bubble.
type deployment struct {
	waiters []*Waiter
	rules   *Rules
	asks    atomic.Int64
	book    *ledger
	waits   []time.Duration
	mu      sync.Mutex
}

func deploy(t *testing.T, processes int, rules ...Rule) *deployment {
	t.Helper()
	d := &deployment{rules: NewRules(), book: newLedger()}
	require.NoError(t, d.rules.Set(rules))
	server := redistest.NewVirtual(t)
	for range processes {
		l := NewRedis(server.Client(t), redis.NewKeys("test"), testSpread, quiet)
		d.waiters = append(d.waiters, NewWaiter(remote{l, &d.asks}, d.rules, nil))
	}
	return d
}

// call makes one call from process p, which arrives at the platform 20 ms to 20 ms + travel later.
func (d *deployment) call(ctx context.Context, p int, c Call, travel time.Duration) error {
	began := time.Now()
	if err := d.waiters[p].Wait(ctx, c); err != nil {
		return err
	}
	now := time.Now()
	at := now.UnixMicro() + 20_000 + rand.Int64N(travel.Microseconds()+1)
	for _, k := range d.rules.Keys(c) {
		d.book.note(k, at)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waits = append(d.waits, now.Sub(began))
	return nil
}

func TestWaiter_ProcessesUnderDoubleDemandAreNeverRefused(t *testing.T) {
	t.Parallel()
	perSecond := Rule{Media: "m", Endpoint: "*", Scope: ScopeApp, Period: time.Second, Limit: 20}
	for _, tt := range []struct {
		name      string
		processes int
		rules     []Rule
		length    time.Duration // longer than the longest window, so that it fills, overflows and goes on
		use       float64       // of the tightest limit
		tightest  float64       // calls a second
		asks      float64       // of each process, at most, for each call made
	}{
		{"one process, a limit per second", 1, []Rule{perSecond}, 20 * time.Second, 0.90, 20, 1.1},
		{"five processes, a limit per second", 5, []Rule{perSecond}, 20 * time.Second, 0.90, 20, 1.1},
		{"three processes, a limit per minute", 3, []Rule{{Media: "m", Endpoint: "*", Each: true, Scope: ScopeApp, Period: time.Minute, Limit: 300}}, 75 * time.Second, 0.90, 5, 1.1},
		{"three processes, second and minute and account", 3, []Rule{
			{Media: "m", Endpoint: "*", Scope: ScopeApp, Period: time.Second, Limit: 7},
			{Media: "m", Endpoint: "x", Scope: ScopeApp, Period: time.Minute, Limit: 300},
			{Media: "m", Endpoint: "x", Scope: ScopeAccount, Period: time.Second, Limit: 2},
		}, 75 * time.Second, 0.85, 5, 4},
		{"a handful a minute", 2, []Rule{{Media: "m", Endpoint: "*", Scope: ScopePlatform, Period: time.Minute, Limit: 2}}, 150 * time.Second, 0.45, 2. / 60, 1.1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := deploy(t, tt.processes, tt.rules...)
				ctx, cancel := context.WithTimeout(t.Context(), tt.length)
				defer cancel()
				var wg sync.WaitGroup
				// Calls come at twice what is allowed, whatever becomes of the earlier ones.
				every := time.Duration(float64(time.Second) / tt.tightest / 2)
				for i := 0; time.Duration(i)*every < tt.length; i++ {
					time.Sleep(every)
					wg.Go(func() {
						// The timers' lateness and the travel together stay within the stated spread.
						_ = d.call(ctx, i%tt.processes, Call{"m", "x", "1", fmt.Sprint(i % 5)}, testSpread-10*time.Millisecond)
					})
				}
				wg.Wait()
				for key := range d.book.arrivals {
					for _, k := range d.rules.Keys(Call{"m", "x", "1", key.Subject}) {
						if k.Limit > 0 && k.id() == key {
							require.LessOrEqual(t, d.book.worst(k), k.Limit, "%s", k)
						}
					}
				}
				made := float64(len(d.waits))
				require.GreaterOrEqual(t, made, tt.use*tt.tightest*tt.length.Seconds(), "calls made in %s", tt.length)
				// One process asks once a call; each more is one more head that asks in vain.
				require.LessOrEqual(t, float64(d.asks.Load()), tt.asks*made*float64(tt.processes)+50, "asks for %v calls", made)
				for _, w := range d.waiters {
					require.Empty(t, w.queues.byKey, "nobody waits any more")
				}
			})
		})
	}
}

func TestWaiter_HalfTheDemandHardlyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 3,
			Rule{Media: "m", Endpoint: "*", Scope: ScopeApp, Period: time.Second, Limit: 20},
			Rule{Media: "m", Endpoint: "*", Scope: ScopeApp, Period: time.Minute, Limit: 1200},
		)
		var wg sync.WaitGroup
		coming := rand.New(rand.NewPCG(1, 2))
		for i := range 300 {
			time.Sleep(time.Duration(coming.ExpFloat64() * float64(100*time.Millisecond)))
			wg.Go(func() { require.NoError(t, d.call(t.Context(), i%3, Call{"m", "x", "1", "9"}, testSpread/2)) })
		}
		wg.Wait()
		slices.Sort(d.waits)
		require.Less(t, d.waits[len(d.waits)/2], 55*time.Millisecond, "half of them wait less than one slot of the pace")
		require.Less(t, d.waits[len(d.waits)*99/100], 500*time.Millisecond, "99 of 100")
	})
}

func TestWaiter_AnAccountAtItsLimitHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 2,
			Rule{Media: "m", Endpoint: "*", Scope: ScopeApp, Period: time.Second, Limit: 20},
			Rule{Media: "m", Endpoint: "*", Scope: ScopeAccount, Period: time.Minute, Limit: 6},
		)
		hot, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() { _ = d.call(hot, i%2, Call{"m", "x", "1", "hot"}, 0) })
		}
		synctest.Wait()
		began := time.Now()
		var others sync.WaitGroup
		for i := range 180 {
			others.Go(func() { require.NoError(t, d.call(t.Context(), i%2, Call{"m", "x", "1", fmt.Sprint(i)}, 0)) })
		}
		others.Wait()
		require.Less(t, time.Since(began), 11*time.Second, "180 calls at 18 a second, beside 100 of one account that wait for minutes")
		stop()
		wg.Wait()
	})
}

// row is a deployment of one process, and the order in which the calls of one app are let go.
type row struct {
	*deployment
	calls sync.WaitGroup
	mu    sync.Mutex
	order []int
}

func newRow(t *testing.T) *row {
	t.Helper()
	return &row{deployment: deploy(t, 1, Rule{Media: "m", Endpoint: "*", Scope: ScopeApp, Period: time.Second, Limit: 10})}
}

// call makes a call, which order knows by a number.
func (r *row) call(ctx context.Context, t *testing.T, number int) {
	t.Helper()
	r.calls.Go(func() {
		require.NoError(t, r.deployment.call(ctx, 0, Call{Media: "m", Endpoint: "x", App: "1"}, 0))
		r.mu.Lock()
		defer r.mu.Unlock()
		r.order = append(r.order, number)
	})
}

func TestWaiter_CallsOfAProcessGoInTheOrderTheyCame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRow(t)
		for i := range 50 {
			time.Sleep(5 * time.Millisecond)
			r.call(t.Context(), t, i)
		}
		r.calls.Wait()
		require.True(t, slices.IsSorted(r.order), "%v", r.order)
	})
}

// What is more important goes first, however late it comes, and the others go on all the same.
func TestWaiter_MoreImportantCallsGoFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRow(t)
		wait := func(importance, calls int) {
			for range calls {
				r.call(WithImportance(t.Context(), importance), t, importance)
			}
			synctest.Wait()
			time.Sleep(10 * time.Millisecond)
		}
		wait(10, 30)
		wait(ImportanceUsual, 30)
		wait(30, 70)
		r.calls.Wait()
		count := func(importance, from, to int) (n int) {
			for _, x := range r.order[from:to] {
				if x == importance {
					n++
				}
			}
			return n
		}
		require.Len(t, r.order, 130)
		require.GreaterOrEqual(t, count(30, 5, 85), 80*(floorEvery-2)/floorEvery, "of the first eighty: %v", r.order)
		require.GreaterOrEqual(t, count(10, 5, 85), 80/floorEvery-1, "the least important have their floor: %v", r.order)
		require.GreaterOrEqual(t, count(ImportanceUsual, 5, 85), 80/floorEvery-1, "%v", r.order)
		require.Greater(t, count(ImportanceUsual, 100, 115), count(10, 100, 115), "then the next in rank: %v", r.order)
		require.Empty(t, r.waiters[0].queues.byKey)
	})
}

// However calls come, they go in the order of their turns.
func TestWaiter_CallsGoInTheOrderOfTheirTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRow(t)
		at := time.Now()
		turn := func(number int, at time.Time) context.Context {
			return WithTurn(t.Context(), Turn{At: at, Number: int64(number)})
		}
		r.call(t.Context(), t, 0) // the head, whatever comes
		synctest.Wait()
		for _, n := range rand.Perm(40) {
			if n < 20 {
				r.call(turn(n, at.Add(time.Minute)), t, 100+n)
			} else {
				r.call(turn(n, at), t, n)
			}
			time.Sleep(time.Millisecond)
		}
		r.calls.Wait()
		require.True(t, slices.IsSorted(r.order[3:]), "the first three were the head when others came: %v", r.order)
	})
}

func TestWaiter_TellsWhenACallIsAboutToBeMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRow(t)
		began := time.Now()
		var told []time.Duration
		ctx := WithGranted(t.Context(), func() { told = append(told, time.Since(began)) })
		for i := range 30 {
			require.NoError(t, r.deployment.call(ctx, 0, Call{Media: "m", Endpoint: "x", App: "1"}, 0))
			require.Len(t, told, i+1)
			require.Equal(t, time.Since(began), told[i])
		}
		require.Greater(t, told[29], 2*time.Second)
		shut, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		require.Error(t, r.deployment.call(shut, 0, Call{Media: "m", Endpoint: "x", App: "1"}, 0))
		require.Len(t, told, 30, "a call without a grant is not made")
	})
}

// A call is never told that its deadline is past hope while it is not.
func TestQueue_WhatIsAheadIsNeverOverstated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := newQueues()
		key := Key{Media: "m", Limit: 1, Period: time.Second}
		importances := slices.Concat([]int{10, 20}, slices.Repeat([]int{30}, rapid.IntRange(1, 20).Draw(t, "most")))
		var waiting []*ticket
		bound := map[*ticket]int{}                        // before which turn, counted from now, it cannot be the head
		joins := rapid.IntRange(10, 100).Draw(t, "joins") // what comes first waits for what follows
		for step := range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch {
			case len(waiting) == 0 || step < joins || rapid.Bool().Draw(t, "one more"):
				waiting = append(waiting, q.stand(key, 0, rapid.SampledFrom(importances).Draw(t, "importance"),
					Turn{Number: rapid.Int64Range(1, 5).Draw(t, "turn")}))
			default:
				head := headOf(waiting)
				require.NotNil(t, head)
				if n := bound[head]; n > 0 {
					t.Fatalf("it was the head %d turns before it could be", n)
				}
				waiting = slices.DeleteFunc(waiting, func(x *ticket) bool { return x == head })
				q.leave(head)
				delete(bound, head)
				for x := range bound {
					bound[x]--
				}
			}
			for _, x := range waiting {
				if _, had := bound[x]; !had {
					bound[x] = x.queue.ahead(x)
				}
			}
		}
		for len(waiting) > 0 {
			head := headOf(waiting)
			require.NotNil(t, head, "somebody is always the head")
			waiting = slices.DeleteFunc(waiting, func(x *ticket) bool { return x == head })
			q.leave(head)
		}
		require.Empty(t, q.byKey)
	})
}

// headOf is the head of those who wait.
func headOf(waiting []*ticket) *ticket {
	for _, x := range waiting {
		if x.queue.head == x {
			return x
		}
	}
	return nil
}

func TestWaiter_AWaitPastTheDeadlineEndsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rules := NewRules()
		require.NoError(t, rules.Set([]Rule{{Media: "m", Endpoint: "*", Scope: ScopeApp, Period: time.Second, Limit: 1}}))
		reg := prometheus.NewRegistry()
		w := NewWaiter(NewLocal(testSpread, 1), rules, reg)
		call := Call{Media: "m", Endpoint: "x", App: "1"}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()

		// Nine more fit into the ten seconds at 1.1 s each; those behind them need not wait to learn that they do not.
		var wg sync.WaitGroup
		var mu sync.Mutex
		var late []time.Duration
		began := time.Now()
		for range 30 {
			wg.Go(func() {
				err := w.Wait(ctx, call)
				if err == nil {
					return
				}
				e, ok := errors.AsType[*WaitError](err)
				require.True(t, ok, "%v", err)
				require.Equal(t, 1, e.Key.Limit)
				require.Greater(t, e.After, 9*time.Second)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				mu.Lock()
				defer mu.Unlock()
				late = append(late, time.Since(began))
			})
		}
		synctest.Wait()
		require.Len(t, late, 20)
		require.Zero(t, slices.Max(late), "no time has passed")
		wg.Wait()
		require.Equal(t, map[string]float64{
			"adsync_ratelimit_taken_total": 10, "adsync_ratelimit_would_exceed_total": 20, "adsync_ratelimit_waiting_calls": 0,
		}, values(t, reg, "adsync_ratelimit_taken_total", "adsync_ratelimit_would_exceed_total", "adsync_ratelimit_waiting_calls"))
	})
}

func TestWaiter_APauseHoldsInAllProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 2)
		call := Call{Media: "m", Endpoint: "x", App: "1", Account: "9"}
		require.NoError(t, d.waiters[0].Pause(t.Context(), call, ScopeApp, 5*time.Minute))

		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		err := d.waiters[1].Wait(short, call)
		e, ok := errors.AsType[*WaitError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, Key{Media: "m", Endpoint: "x", Scope: ScopeApp, Subject: "1"}, e.Key)
		require.InDelta(t, 5*time.Minute, e.After, float64(time.Second))
		require.Less(t, time.Since(began), 10*time.Millisecond)

		require.NoError(t, d.waiters[1].Wait(short, Call{Media: "m", Endpoint: "y", App: "1"}), "another endpoint is not paused")
		require.NoError(t, d.waiters[1].Wait(short, Call{Media: "m", Endpoint: "x", App: "2"}), "another app is not paused")

		require.NoError(t, d.waiters[1].Wait(t.Context(), call))
		require.InDelta(t, 5*time.Minute, time.Since(began), float64(time.Second))
	})
}

func TestWaiter_TheEndOfAPauseIsNoticedByThoseWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 2)
		call := Call{Media: "m", Endpoint: "x", App: "1"}
		require.NoError(t, d.waiters[0].Pause(t.Context(), call, ScopePlatform, 12*time.Hour))
		done := make(chan error, 3)
		for range cap(done) {
			go func() { done <- d.waiters[1].Wait(t.Context(), call) }()
		}
		time.Sleep(time.Minute)
		require.NoError(t, d.waiters[0].Pause(t.Context(), call, ScopePlatform, 0))
		lifted := time.Now()
		for range cap(done) {
			require.NoError(t, <-done)
		}
		require.LessOrEqual(t, time.Since(lifted), trust+time.Second)
	})
}

func TestWaiter_ACancelledCallLeavesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 1, Rule{Media: "m", Endpoint: "*", Scope: ScopeApp, Period: time.Minute, Limit: 1})
		call := Call{Media: "m", Endpoint: "x", App: "1"}
		require.NoError(t, d.waiters[0].Wait(t.Context(), call))
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, 5)
		for i := range cap(results) {
			go func() {
				if i == 4 { // Only the last of them stays.
					results <- d.waiters[0].Wait(t.Context(), call)
					return
				}
				results <- d.waiters[0].Wait(ctx, call)
			}()
			synctest.Wait()
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
		for range 4 {
			require.ErrorIs(t, <-results, context.Canceled)
		}
		began := time.Now()
		require.NoError(t, <-results)
		require.Less(t, time.Since(began), 61*time.Second, "those who left took nothing")
		require.Empty(t, d.waiters[0].queues.byKey)
	})
}

func TestWaiter_AGrantNotUsedInTimeIsTakenAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rules := NewRules()
		reg := prometheus.NewRegistry()
		slow := &slowly{Limiter: NewLocal(testSpread, 1), answers: []time.Duration{time.Second, 0}}
		w := NewWaiter(slow, rules, reg)
		require.NoError(t, w.Wait(t.Context(), Call{Media: "m"}))
		require.Equal(t, map[string]float64{"adsync_ratelimit_late_total": 1, "adsync_ratelimit_taken_total": 1},
			values(t, reg, "adsync_ratelimit_late_total", "adsync_ratelimit_taken_total"))

		slow.answers = []time.Duration{time.Second, time.Second, time.Second, time.Second}
		require.NoError(t, w.Wait(t.Context(), Call{Media: "m"}), "a ledger that is always slow delays, and blocks nobody")
		require.Len(t, slow.answers, 4-grantTries)
	})
}

// slowly answers late.
type slowly struct {
	Limiter
	answers []time.Duration
}

func (s *slowly) Take(ctx context.Context, keys []Key, n int) (Grant, error) {
	g, err := s.Limiter.Take(ctx, keys, n)
	time.Sleep(s.answers[0])
	s.answers = s.answers[1:]
	return g, err
}

func TestWaiter_ALoweredLimitCountsWhatTheWindowHasSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := func(n int) Rule {
			return Rule{Media: "m", Endpoint: "*", Scope: ScopeApp, Period: time.Minute, Limit: n}
		}
		d := deploy(t, 2, limit(600))
		call := Call{Media: "m", Endpoint: "x", App: "1"}
		began := time.Now()
		for range 200 {
			require.NoError(t, d.call(t.Context(), 0, call, 0))
		}
		require.Less(t, time.Since(began), 30*time.Second)
		require.NoError(t, d.rules.Set([]Rule{limit(60)}))
		require.NoError(t, d.waiters[1].Wait(t.Context(), call))
		require.GreaterOrEqual(t, time.Since(began), time.Minute, "the window holds 200 calls, and 60 are allowed from now on")
	})
}

// values returns the sums of some metrics over their labels.
func values(t *testing.T, reg prometheus.Gatherer, names ...string) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		if !slices.Contains(names, f.GetName()) {
			continue
		}
		for _, m := range f.GetMetric() {
			out[f.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}

func BenchmarkWaiter_Wait(b *testing.B) {
	rules := NewRules()
	if err := rules.Set([]Rule{
		{Media: "m", Endpoint: "*", Scope: ScopeApp, Period: time.Second, Limit: 1e9, Share: 1},
		{Media: "m", Endpoint: "*", Scope: ScopeAccount, Period: time.Second, Limit: 1e9, Share: 1},
	}); err != nil {
		b.Fatal(err)
	}
	call := Call{"m", "x", "1", "9"}
	shared, _, _ := newRedis(b)
	for _, bm := range []struct {
		name    string
		limiter Limiter
	}{{"local", NewLocal(testSpread, 1)}, {"redis", shared}} {
		b.Run(bm.name, func(b *testing.B) {
			w := NewWaiter(bm.limiter, rules, nil)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := w.Wait(b.Context(), call); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
