package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit/grant"
	"adsync/base/redis"
	"adsync/base/redis/redistest"
)

// remote is a ledger behind a network, and counts the requests.
type remote struct {
	grant.Ledger
	requests *atomic.Int64
}

func (r remote) Request(ctx context.Context, media string, a grant.Request) (grant.Answer, error) {
	r.requests.Add(1)
	sent := time.Now()
	time.Sleep(time.Duration(rand.Int64N(int64(2 * time.Millisecond))))
	got, err := r.Ledger.Request(ctx, media, a)
	time.Sleep(time.Duration(rand.Int64N(int64(2 * time.Millisecond))))
	got.Asked, got.Answered = sent, time.Now()
	return got, err
}

// deployment is several processes on one Redis, and the platform that they call. It runs in a bubble.
type deployment struct {
	waiters  []*Waiter
	rules    *grant.Rules
	requests atomic.Int64
	platform *arrivals
	waits    []time.Duration
	mu       sync.Mutex
}

func deploy(t *testing.T, processes int, rules ...grant.Rule) *deployment {
	t.Helper()
	d := &deployment{rules: grant.NewRules(), platform: newArrivals()}
	require.NoError(t, d.rules.Set(rules))
	server := redistest.NewVirtual(t)
	letRequestsEnd(t)
	settle(t, server)
	for range processes {
		l := grant.NewRedis(server.Client(t), redis.NewKeys("test"), testSpread, quiet)
		d.waiters = append(d.waiters, newWaiter(remote{l, &d.requests}, testSpread, d.rules, newMetrics(nil)))
	}
	return d
}

// call makes one call from process p, which arrives at the platform 20 ms to 20 ms + travel later.
func (d *deployment) call(ctx context.Context, p int, c grant.Call, travel time.Duration) error {
	began := time.Now()
	if err := await(ctx, d.waiters[p], c); err != nil {
		return err
	}
	now := time.Now()
	at := now.UnixMicro() + 20_000 + rand.Int64N(travel.Microseconds()+1)
	for _, k := range keysOf(d.rules, c) {
		d.platform.note(k, at)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waits = append(d.waits, now.Sub(began))
	return nil
}

func TestWaiter_ProcessesUnderDoubleDemandAreNeverRefused(t *testing.T) {
	t.Parallel()
	perSecond := grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 20}
	for _, tt := range []struct {
		name      string
		processes int
		rules     []grant.Rule
		length    time.Duration // longer than the longest window, so that it fills, overflows and continues
		use       float64       // the part of the tightest limit that is used
		tightest  float64       // calls a second
	}{
		{"one process, a limit per second", 1, []grant.Rule{perSecond}, 20 * time.Second, 0.90, 20},
		{"five processes, a limit per second", 5, []grant.Rule{perSecond}, 20 * time.Second, 0.90, 20},
		{"three processes, a limit per minute", 3, []grant.Rule{{Media: "m", Endpoint: "*", Each: true, Scope: grant.ScopeApp,
			Period: time.Minute, Limit: 300}}, 75 * time.Second, 0.90, 5},
		{"three processes, second and minute and account", 3, []grant.Rule{
			{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 7},
			{Media: "m", Endpoint: "x", Scope: grant.ScopeApp, Period: time.Minute, Limit: 300},
			{Media: "m", Endpoint: "x", Scope: grant.ScopeAccount, Period: time.Second, Limit: 2},
		}, 75 * time.Second, 0.80, 5},
		{"a handful a minute", 2, []grant.Rule{{Media: "m", Endpoint: "*", Scope: grant.ScopePlatform, Period: time.Minute,
			Limit: 2}}, 150 * time.Second, 0.45, 2. / 60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := deploy(t, tt.processes, tt.rules...)
				ctx, cancel := context.WithTimeout(t.Context(), tt.length)
				defer cancel()
				var wg sync.WaitGroup
				for _, w := range d.waiters {
					wg.Go(func() { w.Listen(ctx) })
				}
				// Calls come at twice the allowed rate, whatever becomes of the earlier ones.
				every := time.Duration(float64(time.Second) / tt.tightest / 2)
				for i := 0; time.Duration(i)*every < tt.length; i++ {
					time.Sleep(every)
					wg.Go(func() {
						// The timers' lateness and the travel together stay within the configured spread.
						_ = d.call(ctx, i%tt.processes, grant.Call{Media: "m", Endpoint: "x", App: "1", Account: fmt.Sprint(i % 5)},
							testSpread-10*time.Millisecond)
					})
				}
				wg.Wait()
				for key := range d.platform.at {
					for _, k := range keysOf(d.rules, grant.Call{Media: "m", Endpoint: "x", App: "1", Account: key.Subject}) {
						if k.Limit > 0 && k.ID() == key {
							require.LessOrEqual(t, d.platform.worst(k), k.Limit, "%s", k)
						}
					}
				}
				made := float64(len(d.waits))
				require.GreaterOrEqual(t, made, tt.use*tt.tightest*tt.length.Seconds(), "calls made in %s", tt.length)
				// Before the first calls wait, each call is a request.
				requests := max(made/callsPerRequest, float64(tt.processes)*tt.length.Seconds()/requestEvery.Seconds()) + 100
				require.LessOrEqual(t, float64(d.requests.Load()), requests, "requests for %v calls", made)
				for _, w := range d.waiters {
					requireIdle(t, w)
				}
			})
		})
	}
}

func TestWaiter_HalfTheDemandHardlyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 3,
			grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 20},
			grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Minute, Limit: 1200},
		)
		var wg sync.WaitGroup
		coming := rand.New(rand.NewPCG(1, 2))
		for i := range 300 {
			time.Sleep(time.Duration(coming.ExpFloat64() * float64(100*time.Millisecond)))
			wg.Go(func() {
				require.NoError(t, d.call(t.Context(), i%3, grant.Call{Media: "m", Endpoint: "x", App: "1", Account: "9"},
					testSpread/2))
			})
		}
		wg.Wait()
		slices.Sort(d.waits)
		require.Less(t, d.waits[len(d.waits)/2], 55*time.Millisecond, "half of them wait less than one slot of the pace")
		require.Less(t, d.waits[len(d.waits)*99/100], 500*time.Millisecond, "99 of 100")
	})
}

func TestWaiter_AnAccountAtItsLimitDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 2,
			grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 20},
			grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeAccount, Period: time.Minute, Limit: 6},
		)
		hot, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() { _ = d.call(hot, i%2, grant.Call{Media: "m", Endpoint: "x", App: "1", Account: "hot"}, 0) })
		}
		synctest.Wait()
		began := time.Now()
		var others sync.WaitGroup
		for i := range 180 {
			others.Go(func() {
				require.NoError(t, d.call(t.Context(), i%2, grant.Call{Media: "m", Endpoint: "x", App: "1", Account: fmt.Sprint(i)},
					0))
			})
		}
		others.Wait()
		require.Less(t, time.Since(began), 14*time.Second,
			"180 calls at 18 a second, next to 100 of one account that wait for minutes")
		stop()
		wg.Wait()
	})
}

// row is a deployment of one process, and the order in which the calls of one app are made.
type row struct {
	*deployment
	calls sync.WaitGroup
	mu    sync.Mutex
	order []int
}

func newRow(t *testing.T) *row {
	t.Helper()
	return &row{deployment: deploy(t, 1, grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second,
		Limit: 10})}
}

// call makes a call that order records by a number.
func (r *row) call(ctx context.Context, t *testing.T, number int) {
	t.Helper()
	r.calls.Go(func() {
		require.NoError(t, r.deployment.call(ctx, 0, grant.Call{Media: "m", Endpoint: "x", App: "1"}, 0))
		r.mu.Lock()
		defer r.mu.Unlock()
		r.order = append(r.order, number)
	})
}

func TestWaiter_CallsOfAProcessKeepTheirOrder(t *testing.T) {
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

// More important calls go first, however late they come, and the others still progress.
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
		wait(ImportanceUsual, 60)
		wait(30, 300)
		r.calls.Wait()
		count := func(importance, from, to int) (n int) {
			for _, x := range r.order[from:to] {
				if x == importance {
					n++
				}
			}
			return n
		}
		require.Len(t, r.order, 390)
		// The first 2 s were granted before the others came.
		require.InDelta(t, 100./111*300, count(30, 20, 320), 12, "of three hundred: %v", r.order)
		require.InDelta(t, 10./111*300, count(ImportanceUsual, 20, 320), 10, "%v", r.order)
		require.InDelta(t, 1./111*300, count(10, 20, 320), 4, "%v", r.order)
		require.Positive(t, count(10, 50, 320), "the least important have their part: %v", r.order)
		requireIdle(t, r.waiters[0])
	})
}

// Calls go in the order of their ranks, whatever order they come in.
func TestWaiter_CallsGoInTheOrderOfTheirRanks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRow(t)
		at := time.Now()
		rank := func(number int, at time.Time) context.Context {
			return With(t.Context(), Terms{Importance: ImportanceUsual, Rank: Rank{At: at, Number: int64(number)}})
		}
		r.call(t.Context(), t, 0) // the first in line
		synctest.Wait()
		for _, n := range rand.Perm(40) {
			if n < 20 {
				r.call(rank(n, at.Add(time.Minute)), t, 100+n)
			} else {
				r.call(rank(n, at), t, n)
			}
			time.Sleep(time.Millisecond)
		}
		r.calls.Wait()
		require.True(t, slices.IsSorted(r.order[20:]), "the first were granted when the others came: %v", r.order)
	})
}

// An account with hundreds of calls gets no more than the others, whose calls come later.
func TestWaiter_AnAccountWithManyCallsDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 1, grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 40})
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		calls := map[string]int{}
		var wg sync.WaitGroup
		call := func(account string, at time.Time) {
			if d.call(With(ctx, Terms{Importance: ImportanceUsual, Rank: Rank{At: at}}), 0,
				grant.Call{Media: "m", Endpoint: "x", App: "1", Account: account}, 0) == nil {
				mu.Lock()
				defer mu.Unlock()
				calls[account]++
			}
		}
		began := time.Now()
		for range 400 {
			wg.Go(func() { call("hot", began) })
		}
		synctest.Wait()
		for i := range 20 {
			for range 4 {
				wg.Go(func() {
					for ctx.Err() == nil {
						call(fmt.Sprint(i), began.Add(time.Minute))
					}
				})
			}
		}
		// In the first 2 s it was alone.
		time.Sleep(5 * time.Second)
		mu.Lock()
		clear(calls)
		mu.Unlock()
		time.Sleep(40 * time.Second)
		stop()
		wg.Wait()
		part := 40 * 40 / 1.1 / 21
		require.InDelta(t, part, calls["hot"], 2*roundCalls+2, "%v", calls)
	})
}

func TestWaiter_ReportsEachCallBeforeItIsMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRow(t)
		began := time.Now()
		var granted []time.Duration
		ctx := WithGranted(t.Context(), func() { granted = append(granted, time.Since(began)) })
		for i := range 30 {
			require.NoError(t, r.deployment.call(ctx, 0, grant.Call{Media: "m", Endpoint: "x", App: "1"}, 0))
			require.Len(t, granted, i+1)
			require.Equal(t, time.Since(began), granted[i])
		}
		require.Greater(t, granted[29], 2*time.Second)
		shut, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		require.Error(t, r.deployment.call(shut, 0, grant.Call{Media: "m", Endpoint: "x", App: "1"}, 0))
		require.Len(t, granted, 30, "a call without a grant is not made")
	})
}

func TestWaiter_AWaitPastTheDeadlineEndsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rules := grant.NewRules()
		require.NoError(t,
			rules.Set([]grant.Rule{{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 1}}))
		reg := prometheus.NewRegistry()
		w := NewLocal(testSpread, rules, reg)
		call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()

		// Nine more fit into the ten seconds at 1.1 s each. The calls behind them need not wait for their error.
		var wg sync.WaitGroup
		var mu sync.Mutex
		var late []time.Duration
		began := time.Now()
		for range 30 {
			wg.Go(func() {
				err := await(ctx, w, call)
				if err == nil {
					return
				}
				e, ok := errors.AsType[*WaitError](err)
				require.True(t, ok, "%v", err)
				require.Equal(t, 1, e.Key.Limit)
				require.Greater(t, e.After, 9*time.Second-grant.Microseconds(grant.OwnHorizon)-2*time.Millisecond)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				mu.Lock()
				defer mu.Unlock()
				late = append(late, time.Since(began))
			})
		}
		time.Sleep(grant.Microseconds(grant.OwnHorizon) + time.Millisecond)
		mu.Lock()
		require.Len(t, late, 20, "they wait no longer than until the next request")
		mu.Unlock()
		wg.Wait()
		require.Equal(t, map[string]float64{
			"adsync_ratelimit_taken_total": 10, "adsync_ratelimit_would_exceed_total": 20, "adsync_ratelimit_waiting_calls": 0,
		}, values(t, reg, "adsync_ratelimit_taken_total", "adsync_ratelimit_would_exceed_total",
			"adsync_ratelimit_waiting_calls"))
	})
}

func TestWaiter_APauseHoldsInAllProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 2)
		call := grant.Call{Media: "m", Endpoint: "x", App: "1", Account: "9"}
		require.NoError(t, d.waiters[0].Pause(t.Context(), call, grant.ScopeApp, 5*time.Minute))

		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		err := await(short, d.waiters[1], call)
		e, ok := errors.AsType[*WaitError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, grant.Key{Media: "m", Endpoint: "x", Scope: grant.ScopeApp, Subject: "1"}, e.Key)
		require.InDelta(t, 5*time.Minute, e.After, float64(time.Second))
		require.Less(t, time.Since(began), 10*time.Millisecond)

		require.NoError(t, await(short, d.waiters[1], grant.Call{Media: "m", Endpoint: "y", App: "1"}),
			"another endpoint is not paused")
		require.NoError(t, await(short, d.waiters[1], grant.Call{Media: "m", Endpoint: "x", App: "2"}),
			"another app is not paused")

		require.NoError(t, await(t.Context(), d.waiters[1], call))
		require.InDelta(t, 5*time.Minute, time.Since(began), float64(time.Second))
	})
}

// A pause reaches calls that are already granted, and its end reaches waiting calls.
func TestWaiter_AListenerLearnsOfAPauseAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 2, grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 10})
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { d.waiters[1].Listen(ctx) })
		call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
		var made atomic.Int64
		for range 60 {
			wg.Go(func() {
				if await(ctx, d.waiters[1], call) == nil {
					made.Add(1)
				}
			})
		}
		time.Sleep(time.Second)
		require.NoError(t, d.waiters[0].Pause(ctx, call, grant.ScopeApp, time.Minute))
		time.Sleep(10 * time.Millisecond)
		before := made.Load()
		require.InDelta(t, 10, before, 2)
		time.Sleep(30 * time.Second)
		require.Equal(t, before, made.Load())
		require.NoError(t, d.waiters[0].Pause(ctx, call, grant.ScopeApp, 0))
		time.Sleep(time.Second)
		require.InDelta(t, before+9, made.Load(), 2, "grants from before the pause were lost, and are replaced")
		stop()
		wg.Wait()
	})
}

func TestWaiter_WaitingCallsNoticeTheEndOfAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 2)
		call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
		require.NoError(t, d.waiters[0].Pause(t.Context(), call, grant.ScopePlatform, 12*time.Hour))
		done := make(chan error, 3)
		for range cap(done) {
			go func() { done <- await(t.Context(), d.waiters[1], call) }()
		}
		time.Sleep(time.Minute)
		require.NoError(t, d.waiters[0].Pause(t.Context(), call, grant.ScopePlatform, 0))
		lifted := time.Now()
		for range cap(done) {
			require.NoError(t, <-done)
		}
		require.LessOrEqual(t, time.Since(lifted), pauseTrust+time.Second)
	})
}

func TestWaiter_ACancelledCallLeavesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 1, grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Minute, Limit: 1,
			Share: 1})
		call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
		require.NoError(t, await(t.Context(), d.waiters[0], call))
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, 5)
		for i := range cap(results) {
			go func() {
				if i == 4 { // Only the last of them stays.
					results <- await(t.Context(), d.waiters[0], call)
					return
				}
				results <- await(ctx, d.waiters[0], call)
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
		require.Less(t, time.Since(began), 61*time.Second, "cancelled calls took nothing")
		requireIdle(t, d.waiters[0])
	})
}

func TestWaiter_AGrantNotUsedInTimeIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rules := grant.NewRules()
		reg := prometheus.NewRegistry()
		slow := &slowly{Ledger: grant.NewMemory(testSpread, 1), answers: []time.Duration{time.Second, 0}}
		w := newWaiter(slow, testSpread, rules, newMetrics(reg))
		require.NoError(t, await(t.Context(), w, grant.Call{Media: "m"}))
		require.Equal(t, map[string]float64{"adsync_ratelimit_late_total": 1, "adsync_ratelimit_taken_total": 1},
			values(t, reg, "adsync_ratelimit_late_total", "adsync_ratelimit_taken_total"))

		slow.answers = []time.Duration{time.Second, time.Second, time.Second, time.Second}
		require.NoError(t, await(t.Context(), w, grant.Call{Media: "m"}),
			"a ledger that is always slow delays, and blocks no caller")
		require.Len(t, slow.answers, 4-grantTries)
	})
}

// Where others are in time, a call that is late waits for as many grants as it takes.
func TestWaiter_NoLateGrantIsUsedWhileOthersAreInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		const late = 6
		slow := &slowly{Ledger: grant.NewMemory(testSpread, 1), answers: append(slices.Repeat([]time.Duration{time.Second},
			late), 0)}
		w := newWaiter(slow, testSpread, grant.NewRules(), newMetrics(reg))
		slow.asked = func() { w.dispatcher("m").inTime.Add(1) }
		require.NoError(t, await(t.Context(), w, grant.Call{Media: "m"}))
		require.Equal(t, map[string]float64{"adsync_ratelimit_late_total": late},
			values(t, reg, "adsync_ratelimit_late_total"))
	})
}

// slowly answers late.
type slowly struct {
	grant.Ledger
	answers []time.Duration
	asked   func() // may be nil
}

func (s *slowly) Request(ctx context.Context, media string, a grant.Request) (grant.Answer, error) {
	if s.asked != nil {
		s.asked()
	}
	got, err := s.Ledger.Request(ctx, media, a)
	time.Sleep(s.answers[0])
	s.answers = s.answers[1:]
	got.Answered = time.Now()
	return got, err
}

func TestWaiter_ALoweredLimitCountsTheCurrentWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := func(n int) grant.Rule {
			return grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Minute, Limit: n}
		}
		d := deploy(t, 2, limit(600))
		call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
		began := time.Now()
		for range 200 {
			require.NoError(t, d.call(t.Context(), 0, call, 0))
		}
		require.Less(t, time.Since(began), 30*time.Second)
		require.NoError(t, d.rules.Set([]grant.Rule{limit(60)}))
		require.NoError(t, await(t.Context(), d.waiters[1], call))
		require.GreaterOrEqual(t, time.Since(began), time.Minute,
			"the window holds 200 calls, and 60 are allowed from now on")
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
	rules := grant.NewRules()
	if err := rules.Set([]grant.Rule{
		{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 1e9, Share: 1},
		{Media: "m", Endpoint: "*", Scope: grant.ScopeAccount, Period: time.Second, Limit: 1e9, Share: 1},
	}); err != nil {
		b.Fatal(err)
	}
	call := grant.Call{Media: "m", Endpoint: "x", App: "1", Account: "9"}
	client, keys := redistest.New(b)
	for _, bm := range []struct {
		name   string
		ledger grant.Ledger
	}{{"local", grant.NewMemory(testSpread, 1)}, {"redis", grant.NewRedis(client, keys, testSpread, quiet)}} {
		b.Run(bm.name, func(b *testing.B) {
			w := newWaiter(bm.ledger, testSpread, rules, newMetrics(nil))
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := await(b.Context(), w, call); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkWaiter_GrantInHand measures a call for which a spare grant exists.
func BenchmarkWaiter_GrantInHand(b *testing.B) {
	rules := grant.NewRules()
	if err := rules.Set([]grant.Rule{{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 1e9,
		Share: 1}}); err != nil {
		b.Fatal(err)
	}
	const hand = 1000
	call := grant.Call{Media: "m", Endpoint: "x", App: "1", Account: "9"}
	w := NewLocal(testSpread, rules, nil)
	d := w.dispatcher("m")
	l := &line{id: lineID{endpoint: "x", app: "1", ofAccount: true, importance: ImportanceUsual},
		served: map[string]*tally{}}
	d.lines[l.id] = l
	all := make([]slot, hand)
	ctx := b.Context()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%hand == 0 {
			b.StopTimer()
			now := time.Now()
			for i := range all {
				all[i] = slot{from: now, until: now.Add(time.Minute)}
			}
			l.spare = all
			b.StartTimer()
		}
		if err := await(ctx, w, call); err != nil {
			b.Fatal(err)
		}
	}
}

// Ten thousand limits take less than 50 MB of a process.
func TestWaiter_TenThousandLimitsAreSmall(t *testing.T) {
	rules := grant.NewRules()
	require.NoError(t,
		rules.Set([]grant.Rule{{Media: "m", Endpoint: "*", Each: true, Scope: grant.ScopeAccount, Period: time.Minute,
			Limit: 1000}}))
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	synctest.Test(t, func(t *testing.T) {
		letRequestsEnd(t)
		before := used()
		w := NewLocal(testSpread, rules, nil)
		var all sync.WaitGroup
		for i := range 10_000 {
			all.Go(func() {
				for range 3 {
					if err := await(t.Context(), w, grant.Call{Media: "m", Endpoint: "x", App: "1",
						Account: strconv.Itoa(i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		after := used()
		require.Less(t, after, before+50<<20)
		t.Logf("%d KiB for 10,000 limits", (after-min(after, before))>>10)
		runtime.KeepAlive(w)
	})
}

// settle prepares a Redis that has not lost data recently.
func settle(t *testing.T, server *redistest.Virtual) {
	t.Helper()
	keys := redis.NewKeys("test")
	require.NoError(t, server.Mini.Set(keys.Of("m", "from"), "1"))
	server.Mini.HSet(keys.Of("m", "last"), "", "")
}

// letRequestsEnd waits until the requests have ended that were under way when the last call stopped waiting.
func letRequestsEnd(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { time.Sleep(time.Second) })
}

// requireIdle fails if any call waits.
func requireIdle(t *testing.T, w *Waiter) {
	t.Helper()
	for _, d := range w.dispatchers {
		d.mu.Lock()
		require.Zero(t, d.waiting)
		for id, l := range d.lines {
			require.Empty(t, l.waiting, "%v", id)
			require.Empty(t, l.held, "%v", id)
		}
		d.mu.Unlock()
	}
}

// At the end of a calendar's day the whole limit is available again.
func TestWaiter_ACalendarWindowRestarts(t *testing.T) {
	t.Parallel()
	for calendar, want := range map[string]int{"UTC": 47, "": 0} {
		synctest.Test(t, func(t *testing.T) {
			letRequestsEnd(t)
			rules := grant.NewRules()
			require.NoError(t,
				rules.Set([]grant.Rule{{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: 24 * time.Hour, Limit: 1000,
					Calendar: calendar}}))
			w := NewLocal(testSpread, rules, nil)
			atOnce := func() (n int) {
				for {
					ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
					err := await(ctx, w, grant.Call{Media: "m", Endpoint: "x", App: "1"})
					cancel()
					if err != nil {
						return n
					}
					n++
				}
			}
			midnight := time.Now().Add(24 * time.Hour).Truncate(24 * time.Hour)
			time.Sleep(time.Until(midnight) - time.Minute)
			require.Equal(t, 47, atOnce())
			time.Sleep(time.Until(midnight) + time.Second)
			require.Equal(t, want, atOnce(), "calendar %q", calendar)
		})
	}
}

// A pause lasts at least as long as the platform is known to refuse all calls.
func TestWaiter_APauseLastsAsLongAsTheRulesPenalty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		letRequestsEnd(t)
		rules := grant.NewRules()
		require.NoError(t,
			rules.Set([]grant.Rule{{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 10,
				Penalty: 5 * time.Minute}}))
		w := NewLocal(testSpread, rules, nil)
		call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
		require.NoError(t, w.Pause(t.Context(), call, grant.ScopeApp, time.Second))
		began := time.Now()
		require.NoError(t, await(t.Context(), w, call))
		require.InDelta(t, 300, time.Since(began).Seconds(), 1)
	})
}

// await waits for a grant, and uses it.
func await(ctx context.Context, w *Waiter, c grant.Call) error {
	_, err := w.Wait(ctx, c)
	return err
}

// A grant that a process does not use goes to another.
func TestWaiter_UnusedGrantsAreReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 2, grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 10,
			Share: 1})
		call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
		ctx, leave := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for range 20 {
			waiting.Go(func() { _ = await(ctx, d.waiters[0], call) })
		}
		time.Sleep(500 * time.Millisecond)
		leave()
		waiting.Wait()
		time.Sleep(2 * returnWithin)
		began := time.Now()
		for range 5 {
			require.NoError(t, await(t.Context(), d.waiters[1], call))
		}
		require.Less(t, time.Since(began), time.Second, "five calls take half a second if nothing else was granted")
	})
}

// Spare calls get what the others leave, and nothing if they leave nothing.
func TestWaiter_SpareCallsTakeNothingFromOthers(t *testing.T) {
	t.Parallel()
	for usual, want := range map[int]float64{5: 4, 30: 0} {
		synctest.Test(t, func(t *testing.T) {
			d := deploy(t, 2, grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 10,
				Share: 1})
			call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
			ctx, leave := context.WithTimeout(t.Context(), time.Minute)
			defer leave()
			var spare, others atomic.Int64
			var all sync.WaitGroup
			for p, w := range d.waiters {
				for range 20 {
					all.Go(func() {
						for await(WithImportance(ctx, ImportanceSpare), w, call) == nil {
							spare.Add(1)
						}
					})
				}
				all.Go(func() {
					for i := 0; ctx.Err() == nil; i++ {
						time.Sleep(2 * time.Second / time.Duration(usual))
						all.Go(func() {
							if await(ctx, d.waiters[p], call) == nil {
								others.Add(1)
							}
						})
					}
				})
			}
			all.Wait()
			if want == 0 {
				require.LessOrEqual(t, spare.Load(), int64(20), "next to %d calls a second that were wanted, %d of which were made",
					usual, others.Load())
				return
			}
			require.GreaterOrEqual(t, others.Load(), int64(60*usual-20))
			require.GreaterOrEqual(t, float64(spare.Load()), 0.8*want*60)
		})
	}
}

// A limit of rows holds although the number of rows of a call is unknown beforehand.
func TestWaiter_RowsAreSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 3, grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: 10 * time.Second,
			Limit: 40_000, Unit: grant.UnitRows})
		ctx, leave := context.WithTimeout(t.Context(), 5*time.Minute)
		defer leave()
		var all sync.WaitGroup
		var mu sync.Mutex
		var arrivals []int64 // one for each row
		for account := range 300 {
			w := d.waiters[account%3]
			matches := 20 + account*account%700
			call := grant.Call{Media: "m", Endpoint: "x", App: "1", Account: fmt.Sprint(account), Rows: "ads"}
			all.Go(func() {
				for {
					g, err := w.Wait(ctx, call)
					if err != nil {
						return
					}
					time.Sleep(time.Duration(rand.Int64N(int64(90 * time.Millisecond))))
					rows := matches + rand.IntN(10) - 5
					mu.Lock()
					for range rows {
						arrivals = append(arrivals, time.Now().UnixMicro())
					}
					mu.Unlock()
					time.Sleep(500 * time.Millisecond)
					w.Settle(call, g, rows)
					time.Sleep(time.Second)
				}
			})
		}
		all.Wait()
		worst, used := worstWindow(arrivals, 10*time.Second), float64(len(arrivals))/300/4000
		t.Logf("%d rows in the fullest 10 s, %.0f %% of the limit used", worst, 100*used)
		require.LessOrEqual(t, worst, 40_000)
		require.Greater(t, used, 0.55)
	})
}

// A call that yields its place comes back when its grant is due, so that no grant is lost.
func TestWaiter_CallsThatYieldComeBackInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const calls = 400
		d := deploy(t, 2, grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 10,
			Share: 1})
		call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
		var all sync.WaitGroup
		var inside, most, away atomic.Int64
		began := time.Now()
		for i := range calls {
			all.Go(func() {
				ctx := With(t.Context(), Terms{Importance: ImportanceUsual, Yield: func() bool { return true }})
				for {
					most.Store(max(most.Load(), inside.Add(1)))
					err := d.call(ctx, i%2, call, testSpread-10*time.Millisecond)
					inside.Add(-1)
					if err == nil {
						return
					}
					late, ok := errors.AsType[*WaitError](err)
					require.True(t, ok, "%v", err)
					away.Add(1)
					time.Sleep(late.After)
				}
			})
			time.Sleep(10 * time.Millisecond)
		}
		all.Wait()
		took := time.Since(began).Seconds()
		t.Logf("%d calls in %.0f s, %d yields, up to %d waited at once", calls, took, away.Load(), most.Load())
		require.LessOrEqual(t, d.platform.worst(keysOf(d.rules, call)[0]), 10)
		require.Less(t, took, 1.1*calls/9.09)
		require.Less(t, away.Load(), int64(3*calls))
		require.Less(t, most.Load(), int64(80))
	})
}

// Others come at any moment, also while the line is asked who yields. The first to come back does so when the places
// that are kept have been served.
func TestWaiter_CallsThatYieldComeBackInTimeWhenTheOthersCome(t *testing.T) {
	t.Parallel()
	for _, asked := range []int64{0, 50, 100, 150} {
		synctest.Test(t, func(t *testing.T) {
			d := deploy(t, 1, grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 10,
				Share: 1})
			var asks atomic.Int64
			ctx := With(t.Context(), Terms{Importance: ImportanceUsual, Yield: func() bool { return asks.Add(1) > asked }})
			var all sync.WaitGroup
			soonest := atomic.Int64{}
			soonest.Store(int64(time.Hour))
			began := time.Now()
			for range 200 {
				all.Go(func() {
					err := d.call(ctx, 0, grant.Call{Media: "m", Endpoint: "x", App: "1"}, testSpread-10*time.Millisecond)
					if late, ok := errors.AsType[*WaitError](err); ok {
						soonest.Store(min(soonest.Load(), int64(time.Since(began)+late.After)))
					}
				})
			}
			all.Wait()
			require.Less(t, time.Duration(soonest.Load()), 4*time.Second, "others came at asking %d", asked)
		})
	}
}

// A caller that has had a grant does not yield, because it would have to start again.
func TestWaiter_ACallerWithAGrantKeepsItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, 1, grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: 10 * time.Second, Limit: 1,
			Share: 1})
		ctx := With(t.Context(), Terms{Importance: ImportanceUsual, Yield: func() bool { return true }})
		for range 3 {
			require.NoError(t, d.call(ctx, 0, grant.Call{Media: "m", Endpoint: "x", App: "1"}, testSpread-10*time.Millisecond))
		}
		fresh := With(t.Context(), Terms{Importance: ImportanceUsual, Yield: func() bool { return true }})
		require.Error(t, await(fresh, d.waiters[0], grant.Call{Media: "m", Endpoint: "x", App: "1"}))
	})
}
