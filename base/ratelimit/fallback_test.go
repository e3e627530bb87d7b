package ratelimit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
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

func TestWaiter_WithoutRedisProcessesKeepToTheirParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const processes = 2
		letRequestsEnd(t)
		rules := grant.NewRules()
		rule := grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 20}
		require.NoError(t, rules.Set([]grant.Rule{rule}))
		call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
		key := keysOf(rules, call)[0]

		server := redistest.NewVirtual(t)
		settle(t, server)
		cfg := DefaultConfig()
		cfg.Members = processes
		var regs []*prometheus.Registry
		var logs [processes]bytes.Buffer
		platform := newArrivals()
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for p := range processes {
			reg := prometheus.NewRegistry()
			regs = append(regs, reg)
			w := New(cfg, server.Client(t), redis.NewKeys("test"), nil, rules, reg, slog.New(slog.NewTextHandler(&logs[p], nil)))
			for range 30 {
				wg.Go(func() {
					for await(ctx, w, call) == nil {
						platform.note(key, time.Now().UnixMicro())
						time.Sleep(50 * time.Millisecond)
					}
				})
			}
		}
		fallback := func() (out []float64) {
			for _, reg := range regs {
				out = append(out, values(t, reg, "adsync_ratelimit_fallback_active")["adsync_ratelimit_fallback_active"])
			}
			return out
		}
		time.Sleep(firstQuiet + 10*time.Second)
		shared := platform.count(key)
		require.InDelta(t, 180, shared, 8)
		require.Equal(t, []float64{0, 0}, fallback())

		server.Mini.SetError("MASTERDOWN Link with MASTER is down")
		time.Sleep(30 * time.Second)
		alone := platform.count(key) - shared
		require.InDelta(t, 2*28*9, alone, 10, "each has a half, 9 of 10 a second, after the grants of Redis have lapsed")
		require.Equal(t, []float64{1, 1}, fallback())

		server.Mini.SetError("")
		server.Mini.FlushAll()
		time.Sleep(10 * time.Second)
		require.Equal(t, []float64{0, 0}, fallback())
		require.InDelta(t, 180, platform.count(key)-shared-alone, 18, "a process tries once a second whether Redis is back")

		stop()
		wg.Wait()
		require.LessOrEqual(t, platform.worst(key), key.Limit, "the platform sees neither the loss nor the return")
		for p := range processes {
			require.Equal(t, 1, strings.Count(logs[p].String(), "redis does not answer"), "one line, not one per call")
			require.Equal(t, 1, strings.Count(logs[p].String(), "redis answers again"))
		}
	})
}

// witnesses is a Witness in memory.
type witnesses struct {
	mu      sync.Mutex
	now     func() time.Time
	seen    map[Reach]time.Time // without Ago
	servers map[string]string
	away    error // if set, Read and Move fail with it
}

func newWitnesses(now func() time.Time) *witnesses {
	return &witnesses{now: now, seen: map[Reach]time.Time{}, servers: map[string]string{}}
}

func (w *witnesses) Reached(_ context.Context, process string, media []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range media {
		w.seen[Reach{Process: process, Media: m}] = w.now()
	}
	return w.away
}

func (w *witnesses) Read(context.Context) (Records, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Records{Servers: maps.Clone(w.servers)}
	for r, at := range w.seen {
		r.Ago = w.now().Sub(at)
		s.Reached = append(s.Reached, r)
	}
	return s, w.away
}

func (w *witnesses) Move(_ context.Context, media, from, to string) (string, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away != nil {
		return "", false, w.away
	}
	if w.servers[media] != from {
		return w.servers[media], false, nil
	}
	w.servers[media] = to
	return to, true, nil
}

// With a witness, a process that is cut off makes no calls while another has the whole limits, and its part of them
// when all are cut off.
func TestFallback_OneProcessCutOffMakesNoCallsWhileOthersDo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		letRequestsEnd(t)
		rules := grant.NewRules()
		require.NoError(t,
			rules.Set([]grant.Rule{{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 40}}))
		call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
		key := keysOf(rules, call)[0]
		cfg := DefaultConfig()
		cfg.Members = 2
		platform := newArrivals()
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		witness := newWitnesses(time.Now)
		var calls [2]atomic.Int64
		var servers []*redistest.Virtual
		for p := range calls {
			// Each process has its own connection to the one Redis.
			server := redistest.NewVirtual(t)
			settle(t, server)
			servers = append(servers, server)
			w := New(cfg, server.Client(t), redis.NewKeys("test"), witness, rules, nil, quiet)
			wg.Go(func() { w.Listen(ctx) })
			for range 60 {
				wg.Go(func() {
					for await(ctx, w, call) == nil {
						calls[p].Add(1)
						platform.note(key, time.Now().UnixMicro())
						time.Sleep(20 * time.Millisecond)
					}
				})
			}
			if p == 1 {
				server.Mini.SetError("LOADING Redis is loading the dataset in memory")
			}
		}
		time.Sleep(30 * time.Second)
		require.Greater(t, calls[0].Load(), int64(900), "one has the whole limit")
		require.Zero(t, calls[1].Load(), "the other makes no calls")
		require.LessOrEqual(t, platform.worst(key), 40)

		servers[0].Mini.SetError("LOADING Redis is loading the dataset in memory")
		first, second := calls[0].Load(), calls[1].Load()
		time.Sleep(30 * time.Second)
		require.InDelta(t, 27*18, calls[0].Load()-first, 2*36+40, "in addition to its earlier grants")
		require.InDelta(t, 23*18, calls[1].Load()-second, 40, "it learns of the loss from the missing records")
		stop()
		wg.Wait()
		require.LessOrEqual(t, platform.worst(key), 40)
	})
}

// Parts belong to the processes that reached Redis last, however many were configured. A process that starts without
// Redis has an additional part only if one was configured for it.
func TestFallback_PartsBelongToTheLastMembers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		foreseen int
		part     int // of 60 a second
		latecome bool
	}{
		{"more processes than configured", 4, 10, false},
		{"fewer than configured", 8, 7, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const processes = 6
				letRequestsEnd(t)
				rules := grant.NewRules()
				require.NoError(t,
					rules.Set([]grant.Rule{{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 60,
						Share: 1}}))
				call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
				key := keysOf(rules, call)[0]
				server := redistest.NewVirtual(t)
				settle(t, server)
				cfg := DefaultConfig()
				cfg.Members = tt.foreseen
				witness := newWitnesses(time.Now)
				platform := newArrivals()
				ctx, stop := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				var calls [processes + 1]atomic.Int64
				begin := func(p int) {
					w := New(cfg, server.Client(t), redis.NewKeys("test"), witness, rules, nil, quiet)
					wg.Go(func() { w.Listen(ctx) })
					for range 40 {
						wg.Go(func() {
							for await(ctx, w, call) == nil {
								calls[p].Add(1)
								platform.note(key, time.Now().UnixMicro())
								time.Sleep(50 * time.Millisecond)
							}
						})
					}
				}
				for p := range processes {
					begin(p)
				}
				time.Sleep(20 * time.Second)
				server.Mini.SetError("LOADING Redis is loading the dataset in memory")
				begin(processes)
				time.Sleep(5 * time.Second) // Earlier grants have lapsed.
				before := calls[0].Load()
				time.Sleep(20 * time.Second)
				require.InDelta(t, 20*tt.part, calls[0].Load()-before, 40)
				require.Equal(t, tt.latecome, calls[processes].Load() > 0)
				stop()
				wg.Wait()
				require.LessOrEqual(t, platform.worst(key), 60)
			})
		})
	}
}

func TestFallback_OneProcessCutOffAddsNoMoreThanItsPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const members = 4
		letRequestsEnd(t)
		rules := grant.NewRules()
		rule := grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 40}
		require.NoError(t, rules.Set([]grant.Rule{rule}))
		call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
		key := keysOf(rules, call)[0]
		server := redistest.NewVirtual(t)
		settle(t, server)
		cfg := DefaultConfig()
		cfg.Members = members
		platform := newArrivals()
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		within := New(cfg, server.Client(t), redis.NewKeys("test"), nil, rules, nil, quiet)
		without := newWaiter(newFallback("m", refusing{}, grant.NewMemory(cfg.ArrivalSpread, members), cfg.RedisTimeout,
			quiet, newMetrics(nil)), cfg.ArrivalSpread, rules, newMetrics(nil))
		for _, w := range []*Waiter{within, without} {
			for range 30 {
				wg.Go(func() {
					for await(ctx, w, call) == nil {
						platform.note(key, time.Now().UnixMicro())
						time.Sleep(20 * time.Millisecond)
					}
				})
			}
		}
		time.Sleep(30 * time.Second)
		stop()
		wg.Wait()
		require.Greater(t, platform.worst(key), key.Limit, "the others cannot know of it, so no promise covers this")
		require.LessOrEqual(t, platform.worst(key), key.Limit+key.Limit/members)
	})
}

func TestFallback_CarriesPausesOverALossOfRedis(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.NewVirtual(t)
		settle(t, server)
		open := func() *Waiter {
			return New(DefaultConfig(), server.Client(t), redis.NewKeys("test"), nil, grant.NewRules(), nil, quiet)
		}
		here, there := open(), open()
		call := grant.Call{Media: "m", Endpoint: "x", App: "1"}

		server.Mini.SetError("LOADING Redis is loading the dataset in memory")
		require.ErrorContains(t, here.Pause(t.Context(), call, grant.ScopeApp, 5*time.Minute), "LOADING",
			"the caller learns that no other process knows of the pause")
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, await(short, here, call), context.DeadlineExceeded, "but this process keeps it")

		server.Mini.SetError("")
		time.Sleep(2 * probeEvery)
		require.NoError(t, await(short, here, grant.Call{Media: "m", Endpoint: "y", App: "1"}))
		require.ErrorIs(t, await(short, there, call), context.DeadlineExceeded, "after the return of Redis, all keep it")

		server.Mini.SetError("LOADING Redis is loading the dataset in memory")
		require.ErrorIs(t, await(short, there, call), context.DeadlineExceeded, "also when Redis is away again")
		time.Sleep(3 * time.Second)
		require.NoError(t, await(short, there, grant.Call{Media: "m", Endpoint: "y", App: "1"}))
	})
}

// A process that starts right after the return of a Redis with all its data could be granted the whole limit, while
// others have not noticed the return and still use their parts.
func TestFallback_NewProcessWaitsUntilAllHaveFoundRedis(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		letRequestsEnd(t)
		server := redistest.NewVirtual(t)
		settle(t, server)
		rules := grant.NewRules()
		require.NoError(t,
			rules.Set([]grant.Rule{{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 20}}))
		w := New(DefaultConfig(), server.Client(t), redis.NewKeys("test"), nil, rules, nil, quiet)
		var listening sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		listening.Go(func() { w.Listen(ctx) })
		defer listening.Wait()
		defer stop()
		began, call := time.Now(), grant.Call{Media: "m", Endpoint: "x", App: "1"}
		require.NoError(t, await(t.Context(), w, call))
		require.InDelta(t, firstQuiet, time.Since(began), float64(50*time.Millisecond))
		time.Sleep(time.Hour)
		began = time.Now()
		require.NoError(t, await(t.Context(), w, call))
		require.Zero(t, time.Since(began), "it has stayed in touch")
	})
}

func TestFallback_AnImpatientCallerProvesNothingAboutRedis(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		f := newFallback("m", deaf{}, grant.NewMemory(testSpread, 1), time.Minute, quiet, newMetrics(reg))
		useCommon := func() bool { return f.use() != useOwn }
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		_, err := f.Request(ctx, "m", one(perDay))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.True(t, useCommon())
		require.Zero(t, values(t, reg, "adsync_ratelimit_redis_errors_total")["adsync_ratelimit_redis_errors_total"])

		f.timeout = 5 * time.Millisecond
		got, err := f.Request(t.Context(), "m", one(perDay))
		require.NoError(t, err, "a ledger that does not answer in time costs its timeout")
		require.False(t, useCommon(), "and is not tried for a while")
		require.Empty(t, got.Wants[0].Starts, "Redis may have granted calls a moment ago")
		time.Sleep(probeEvery)
		require.True(t, useCommon())
		require.False(t, useCommon(), "one request at a time finds out whether it is back")
	})
}

func TestFallback_ALateAnswerDoesNotEndAnAbsence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFallback("m", &slowly{Ledger: grant.NewMemory(testSpread, 1), answers: []time.Duration{time.Second}},
			grant.NewMemory(testSpread, 1), time.Minute, quiet, newMetrics(nil))
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = f.Request(t.Context(), "m", one(perDay)) })
		time.Sleep(time.Millisecond)
		f.noteLoss(t.Context(), context.DeadlineExceeded)
		wg.Wait()
		require.False(t, f.awaySince.IsZero(), "the request was sent before the loss")
	})
}

// refusing cannot be reached.
type refusing struct{ grant.Ledger }

func (refusing) Request(context.Context, string, grant.Request) (grant.Answer, error) {
	return grant.Answer{}, errors.New("no route to host")
}

// deaf never answers.
type deaf struct{ grant.Ledger }

func (deaf) Request(ctx context.Context, _ string, _ grant.Request) (grant.Answer, error) {
	<-ctx.Done()
	return grant.Answer{}, ctx.Err()
}

// A process that finds the common ledger long after its last try comes after others, which may have been granted
// everything. Its own part would exceed the limits.
func TestFallback_ALateReturnHasNoPartOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		late time.Duration
		want int
	}{
		{"it tried a second ago", time.Second, 1},
		{"others may have come back meanwhile", 5 * time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(1_000_000_000, 0)
			f := newFallback("m", nil, grant.NewMemoryBy(func() time.Time { return now }, testSpread, 2), 0, quiet,
				newMetrics(nil))
			f.noteLoss(t.Context(), errGone)
			now = now.Add(10 * time.Second)
			f.noteLoss(t.Context(), errGone)
			now = now.Add(tt.late)
			f.noteReturn(t.Context(), now)
			f.noteContact(useAfterAbsence, now)
			got, err := f.requestOwn(t.Context(), "m", some(1,
				grant.Key{Media: "m", Endpoint: "x", Scope: grant.ScopePlatform, Period: time.Second, Limit: 50, Share: 1}))
			require.NoError(t, err)
			require.Len(t, got.Wants[0].Starts, tt.want)
		})
	}
}

func TestFallback_AStartWithoutRedisHasAPartIfOneIsLeft(t *testing.T) {
	t.Parallel()
	const parts = 3
	for others, none := range map[int]bool{parts - 1: false, parts: true, parts + 1: true} {
		f := newFallback("m", nil, grant.NewMemory(testSpread, parts), 0, quiet, newMetrics(nil))
		f.noteLoss(t.Context(), errGone)
		var s Records
		for i := range others {
			s.Reached = append(s.Reached, Reach{Process: fmt.Sprint(i), Media: "m", Ago: time.Minute})
		}
		f.applyRecords(t.Context(), s, f.own.Clock())
		require.Equal(t, none, f.noPart, "%d others of %d parts", others, parts)
	}
}

func TestFallback_RestoresPausesThatRedisHasLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.NewVirtual(t)
		settle(t, server)
		open := func() *Waiter {
			return New(DefaultConfig(), server.Client(t), redis.NewKeys("test"), nil, grant.NewRules(), nil, quiet)
		}
		here, there := open(), open()
		paused, other := grant.Call{Media: "m", Endpoint: "x", App: "1"}, grant.Call{Media: "m", Endpoint: "y", App: "1"}
		require.NoError(t, await(t.Context(), here, other))
		time.Sleep(2 * firstQuiet)
		require.NoError(t, here.Pause(t.Context(), paused, grant.ScopeApp, 5*time.Minute))
		require.NoError(t, await(t.Context(), here, other), "it reads the pauses")
		server.Mini.Del(redis.NewKeys("test").Of("m", "pauses"))
		time.Sleep(pauseTrust)
		require.NoError(t, await(t.Context(), here, other), "it finds that they are gone")
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.Error(t, await(short, here, paused), "its own pause holds")
		require.Error(t, await(short, there, paused), "and others learn of it")
	})
}
