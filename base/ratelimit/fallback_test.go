package ratelimit

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/redis"
	"adsync/base/redis/redistest"
)

func TestWaiter_WithoutRedisProcessesKeepToTheirParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const processes = 2
		rules := NewRules()
		rule := Rule{Media: "m", Endpoint: "*", Scope: ScopeApp, Period: time.Second, Limit: 20}
		require.NoError(t, rules.Set([]Rule{rule}))
		call := Call{Media: "m", Endpoint: "x", App: "1"}
		key := rules.Keys(call)[0]

		server := redistest.NewVirtual(t)
		cfg := DefaultConfig()
		cfg.Members = processes
		var regs []*prometheus.Registry
		var logs [processes]bytes.Buffer
		book := newLedger()
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for p := range processes {
			reg := prometheus.NewRegistry()
			regs = append(regs, reg)
			w := New(cfg, server.Client(t), redis.NewKeys("test"), rules, reg, slog.New(slog.NewTextHandler(&logs[p], nil)))
			for range 30 {
				wg.Go(func() {
					for w.Wait(ctx, call) == nil {
						book.note(key, time.Now().UnixMicro())
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
		time.Sleep(10 * time.Second)
		shared := book.count(key)
		require.InDelta(t, 180, shared, 8)
		require.Equal(t, []float64{0, 0}, fallback())

		server.Mini.SetError("MASTERDOWN Link with MASTER is down")
		time.Sleep(30 * time.Second)
		alone := book.count(key) - shared
		require.InDelta(t, 2*30*9, alone, 4, "each has a half, 9 of 10 a second")
		require.Equal(t, []float64{1, 1}, fallback())

		server.Mini.SetError("")
		server.Mini.FlushAll()
		time.Sleep(10 * time.Second)
		require.Equal(t, []float64{0, 0}, fallback())
		require.InDelta(t, 180, book.count(key)-shared-alone, 12)

		stop()
		wg.Wait()
		require.LessOrEqual(t, book.worst(key), key.Limit, "neither the loss nor the return is seen by the platform")
		for p := range processes {
			require.Equal(t, 1, strings.Count(logs[p].String(), "redis does not answer"), "one line, not one a call")
			require.Equal(t, 1, strings.Count(logs[p].String(), "redis answers again"))
		}
	})
}

func TestFallback_OneProcessCutOffAddsNoMoreThanItsPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const members = 4
		rules := NewRules()
		rule := Rule{Media: "m", Endpoint: "*", Scope: ScopeApp, Period: time.Second, Limit: 40}
		require.NoError(t, rules.Set([]Rule{rule}))
		call := Call{Media: "m", Endpoint: "x", App: "1"}
		key := rules.Keys(call)[0]
		server := redistest.NewVirtual(t)
		cfg := DefaultConfig()
		cfg.Members = members
		book := newLedger()
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		within := New(cfg, server.Client(t), redis.NewKeys("test"), rules, nil, quiet)
		without := NewWaiter(&fallback{
			common: refusing{}, own: NewLocal(cfg.ArrivalSpread, members), timeout: cfg.RedisTimeout, log: quiet, metrics: newMetrics(nil),
		}, rules, nil)
		for _, w := range []*Waiter{within, without} {
			for range 30 {
				wg.Go(func() {
					for w.Wait(ctx, call) == nil {
						book.note(key, time.Now().UnixMicro())
						time.Sleep(20 * time.Millisecond)
					}
				})
			}
		}
		time.Sleep(30 * time.Second)
		stop()
		wg.Wait()
		require.Greater(t, book.worst(key), key.Limit, "the others cannot know of it: this is what is not promised")
		require.LessOrEqual(t, book.worst(key), key.Limit+key.Limit/members)
	})
}

func TestFallback_CarriesPausesOverALossOfRedis(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.NewVirtual(t)
		open := func() *Waiter {
			return New(DefaultConfig(), server.Client(t), redis.NewKeys("test"), NewRules(), nil, quiet)
		}
		here, there := open(), open()
		call := Call{Media: "m", Endpoint: "x", App: "1"}

		server.Mini.SetError("LOADING Redis is loading the dataset in memory")
		require.ErrorContains(t, here.Pause(t.Context(), call, ScopeApp, 5*time.Minute), "LOADING", "the caller learns that nobody else knows")
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, here.Wait(short, call), context.DeadlineExceeded, "but this process keeps it")

		server.Mini.SetError("")
		time.Sleep(2 * probeEvery)
		require.NoError(t, here.Wait(short, Call{Media: "m", Endpoint: "y", App: "1"}))
		require.ErrorIs(t, there.Wait(short, call), context.DeadlineExceeded, "once Redis is back, all keep it")
	})
}

func TestFallback_AnImpatientCallerSaysNothingAboutRedis(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		f := &fallback{
			common: deaf{}, own: NewLocal(testSpread, 1), timeout: time.Minute, log: quiet, metrics: newMetrics(reg),
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		_, err := f.Take(ctx, []Key{perDay}, 1)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.True(t, f.askCommon())
		require.Zero(t, values(t, reg, "adsync_ratelimit_redis_errors_total")["adsync_ratelimit_redis_errors_total"])

		f.timeout = 5 * time.Millisecond
		g, err := f.Take(t.Context(), []Key{{Media: "m", Scope: ScopePlatform}}, 1)
		require.NoError(t, err)
		require.Equal(t, 1, g.N, "a ledger that does not answer in time costs its timeout")
		require.False(t, f.askCommon(), "and is left alone for a while")
		g, err = f.Take(t.Context(), []Key{perDay}, 1)
		require.NoError(t, err)
		require.Zero(t, g.N, "the burst may have been granted by Redis a moment ago")
		time.Sleep(probeEvery)
		require.True(t, f.askCommon())
		require.False(t, f.askCommon(), "one call at a time finds out whether it is back")
	})
}

func TestFallback_ALateAnswerDoesNotEndAnAbsence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fallback{own: NewLocal(testSpread, 1), timeout: time.Minute, log: quiet, metrics: newMetrics(nil)}
		f.common = &slowly{Limiter: NewLocal(testSpread, 1), answers: []time.Duration{time.Second}}
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = f.Take(t.Context(), []Key{perDay}, 1) })
		time.Sleep(time.Millisecond)
		f.away(t.Context(), context.DeadlineExceeded)
		wg.Wait()
		require.False(t, f.awaySince.IsZero(), "it was asked before the ledger went away")
	})
}

// refusing cannot be reached.
type refusing struct{ Limiter }

func (refusing) Take(context.Context, []Key, int) (Grant, error) {
	return Grant{}, errors.New("no route to host")
}

// deaf never answers.
type deaf struct{ Limiter }

func (deaf) Take(ctx context.Context, _ []Key, _ int) (Grant, error) {
	<-ctx.Done()
	return Grant{}, ctx.Err()
}
