package grant

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/clock"
	"adsync/base/redis"
	"adsync/base/redis/redistest"
)

// The script and its Go counterpart must decide alike, so that tests of one hold for the other.
func TestShared_ScriptDecidesAsThePlanDoes(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	client := goredis.NewClient(&goredis.Options{Addr: m.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
		s := drawScene(rt)
		r := NewRedis(client, redis.NewKeys(fmt.Sprint("run", run)), s.spread, quiet)
		p := newPlan()
		p.from, p.lastRequest = now.UnixMicro()+horizon, now.UnixMicro()
		m.SetTime(now)
		_, err := r.Request(context.Background(), "m", Request{})
		require.NoError(rt, err)
		for range rapid.IntRange(1, 12).Draw(rt, "requests") {
			now = now.Add(Microseconds(step(rt)))
			m.SetTime(now)
			if rapid.IntRange(0, 9).Draw(rt, "edit") == 0 {
				s.all.Limit = rapid.IntRange(s.all.Cost, 90).Draw(rt, "edited")
			}
			a := s.drawRequest(rt)
			s.drawReports(rt, &a)
			want := p.Answer(now.UnixMicro(), a)
			s.granted = nil
			for i, g := range want {
				s.note(a, i, g, now.UnixMicro())
			}
			got, err := r.Request(context.Background(), "m", a)
			require.NoError(rt, err)
			require.Len(rt, got.Wants, len(want))
			for i := range want {
				require.InDelta(rt, want[i].Rate, got.Wants[i].Rate, 0.002)
				require.Equal(rt, want[i].Rate > 0, got.Wants[i].Rate > 0, "no share is not the same as no limit")
				want[i].Rate, got.Wants[i].Rate = 0, 0
				require.Equal(rt, want[i], got.Wants[i], "want %d of %d", i, len(want))
			}
		}
	})
}

// Neither loads old grants, so they do not affect the step.
func TestShared_ExpectedCallsAreInStepAsThePlanHasThem(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	client := goredis.NewClient(&goredis.Options{Addr: m.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	r, p := NewRedis(client, redis.NewKeys("step"), testSpread, quiet), newPlan()
	p.from, p.lastRequest = now.UnixMicro()+horizon, now.UnixMicro()
	m.SetTime(now)
	_, err := r.Request(t.Context(), "m", Request{})
	require.NoError(t, err)
	// Every 505 ms.
	k := Key{Media: "m", Endpoint: "*", Scope: ScopePlatform, Period: 10 * time.Second, Limit: 20, Share: 1}
	for _, tt := range []struct {
		later  time.Duration
		calls  int
		starts []int64
	}{
		{2600 * time.Millisecond, 1, []int64{0, 505_000}}, // with the call that waits
		{time.Second, 0, []int64{10_000, 515_000}},        // with the one of 495 ms ago
		{2 * time.Second, 0, []int64{13_000, 518_000}},    // with none: the last is longer ago than a step
	} {
		now = now.Add(tt.later)
		m.SetTime(now)
		w := Want{Importance: usual, Group: "g", Demand: 2, Common: []int{0}, Costs: []int{1},
			Calls: make([]Wanted, tt.calls)}
		w.Expected = Expected{Calls: 2 - tt.calls, After: 5_000, Every: 200_000}
		if tt.later > time.Second {
			w.Expected.After = 13_000
		}
		a := Request{Process: "p", Limits: []Limit{limitOf(k, testSpread, 1)}, Wants: []Want{w}}
		planned := p.Answer(now.UnixMicro(), a)
		got, err := r.Request(t.Context(), "m", a)
		require.NoError(t, err)
		require.Equal(t, planned[0].Starts, got.Wants[0].Starts)
		var starts []int64
		for _, s := range got.Wants[0].Starts {
			starts = append(starts, s.At)
		}
		require.Equal(t, tt.starts, starts)
	}
}

// ledgers returns n ledgers on one Redis that has not lost data recently.
func ledgers(t *testing.T, n int) (all []*Redis, client goredis.UniversalClient, keys redis.Keys) {
	t.Helper()
	client, keys = redistest.New(t)
	require.NoError(t, client.Set(t.Context(), keys.Of("m", "from"), 1, 0).Err())
	require.NoError(t, client.HSet(t.Context(), keys.Of("m", "last"), "", "").Err())
	for range n {
		all = append(all, NewRedis(client, keys, testSpread, quiet))
	}
	return all, client, keys
}

func TestShared_ManyProcessesShareOneRecord(t *testing.T) {
	t.Parallel()
	all, client, _ := ledgers(t, 8)
	// Grants older than a period are forgotten: the period is longer than the test.
	k := Key{Media: "m", Endpoint: "x", Scope: ScopeApp, Subject: "1", Period: time.Minute, Limit: 3000, Share: 1}
	var granted atomic.Int64
	var wg sync.WaitGroup
	for p, r := range all {
		wg.Go(func() {
			for range 5 {
				a := some(20, k)
				a.Process = fmt.Sprint(p)
				got, err := r.Request(t.Context(), "m", a)
				if assert.NoError(t, err) {
					granted.Add(int64(len(got.Wants[0].Starts)))
				}
			}
		})
	}
	wg.Wait()
	moments, err := client.ZRangeWithScores(t.Context(), all[0].name(k, "granted"), 0, -1).Result()
	require.NoError(t, err)
	require.Len(t, moments, int(granted.Load()))
	var last int64
	for _, m := range moments {
		at := int64(m.Score)
		require.GreaterOrEqual(t, at-last, paceOf(k, testSpread, 1).Every)
		last = at
	}
}

func TestShared_APauseReachesAllAndIsNeverShortened(t *testing.T) {
	t.Parallel()
	all, _, _ := ledgers(t, 2)
	point := Key{Media: "m", Endpoint: "x\ny", Scope: ScopeApp, Subject: "1"}
	pausesSeen := func() map[Key]time.Time {
		got, err := all[1].Request(t.Context(), "m", Request{})
		require.NoError(t, err)
		return got.Pauses
	}
	require.Empty(t, pausesSeen())
	require.Nil(t, pausesSeen(), "a known pause is not reported again")
	require.NoError(t, all[0].Pause(t.Context(), point, time.Minute))
	require.NoError(t, all[1].Pause(t.Context(), point, time.Second))
	pauses := pausesSeen()
	require.Len(t, pauses, 1)
	require.InDelta(t, time.Minute, clock.Until(pauses[point]), float64(10*time.Second))
	require.NoError(t, all[0].Pause(t.Context(), point, 0))
	pauses = pausesSeen()
	require.NotNil(t, pauses)
	require.Empty(t, pauses)
}

// New users of Redis 7 may use no channel. A pause then stayed unread in Redis, and each ordered pause counted as a
// Redis that is away.
func TestShared_WithoutItsChannelAPauseSpreadsWithRequests(t *testing.T) {
	t.Parallel()
	client, keys := redistest.New(t)
	var log safeBuffer
	point := Key{Media: "m", Endpoint: "reports", Scope: ScopePlatform}
	refused := NewRedis(redistest.As(t, client, "~"+keys.Prefix()+":*", "+@all"), keys, 0,
		slog.New(slog.NewTextHandler(&log, nil)))
	other := NewRedis(client, keys, 0, quiet)
	_, err := other.Request(t.Context(), "m", Request{})
	require.NoError(t, err)

	require.NoError(t, refused.Pause(t.Context(), point, time.Minute))
	got, err := other.Request(t.Context(), "m", Request{})
	require.NoError(t, err)
	require.Len(t, got.Pauses, 1)
	require.Contains(t, log.String(), "redis refuses the channel of pauses")

	log.Reset()
	refused = NewRedis(refused.client, keys, 0, slog.New(slog.NewTextHandler(&log, nil)))
	ctx, stop := context.WithCancel(t.Context())
	listened := make(chan struct{})
	go func() {
		defer close(listened)
		refused.Listen(ctx, "m", func(Key, time.Duration) {}, func(err error) { assert.NoError(t, err, "it is not away") })
	}()
	require.Eventually(t, func() bool { return log.String() != "" }, time.Minute, time.Millisecond)
	stop()
	<-listened
	require.Contains(t, log.String(), "redis refuses the channel of pauses")
}

// safeBuffer is a buffer for concurrent reading and writing.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *safeBuffer) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Reset()
}

// When a Redis that lost all keys grants anything, its earlier grants are over.
func TestShared_AnEmptiedRedisGrantsNothingWithinTheHorizon(t *testing.T) {
	t.Parallel()
	all, client, keys := ledgers(t, 1)
	a := some(5, Key{Media: "m", Endpoint: "x", Scope: ScopePlatform, Period: time.Second, Limit: 50, Share: 1})
	got, err := all[0].Request(t.Context(), "m", a)
	require.NoError(t, err)
	require.Len(t, got.Wants[0].Starts, 5)
	require.NoError(t, client.Del(t.Context(), keys.Of("m", "from")).Err())
	got, err = all[0].Request(t.Context(), "m", a)
	require.NoError(t, err)
	require.Empty(t, got.Wants[0].Starts)
	require.InDelta(t, horizon, got.Wants[0].Opens, horizon/10)
}

// Redis's client resends a request whose answer is lost. By then a returned moment may belong to another process.
func TestShared_ARepeatedRequestReturnsNothingOfOthers(t *testing.T) {
	t.Parallel()
	all, client, _ := ledgers(t, 1)
	r := all[0]
	k := Key{Media: "m", Endpoint: "x", Scope: ScopePlatform, Period: 10 * time.Second, Limit: 25, Share: 1}
	a := some(5, k)
	a.Process = "one"
	got, err := r.Request(t.Context(), "m", a)
	require.NoError(t, err)
	require.Len(t, got.Wants[0].Starts, 5)
	last := got.Clock.UnixMicro() + got.Wants[0].Starts[4].At // more than a second ahead
	back := Request{Process: "one", Limits: a.Limits, Unused: []Unused{{At: last, Limits: []int{0}, Costs: []int{1}}}}
	_, err = r.Request(t.Context(), "m", back)
	require.NoError(t, err)
	other := some(1, k)
	other.Process = "other"
	got, err = r.Request(t.Context(), "m", other)
	require.NoError(t, err)
	require.Equal(t, last, got.Clock.UnixMicro()+got.Wants[0].Starts[0].At, "the other has what was returned")
	_, err = r.Request(t.Context(), "m", back)
	require.NoError(t, err)
	require.EqualValues(t, 5, client.ZCard(t.Context(), r.name(k, "granted")).Val())
}

// Rows beyond the estimate also count if their limit had no state left.
func TestShared_SettledRowsCountAfterARest(t *testing.T) {
	t.Parallel()
	all, _, _ := ledgers(t, 1)
	k := Key{Media: "m", Endpoint: "ads", Scope: ScopePlatform, Period: 10 * time.Second, Limit: 40_000, Share: 1,
		Unit: UnitRows}
	a := some(1, k)
	a.Settled = []Settled{{Limit: 0, More: 40_000}}
	got, err := all[0].Request(t.Context(), "m", a)
	require.NoError(t, err)
	require.Empty(t, got.Wants[0].Starts)
	require.InDelta(t, 10*time.Second.Microseconds(), got.Wants[0].Opens, float64(time.Second.Microseconds()))
}

func TestShared_SurvivesALossOfItsScripts(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	client := goredis.NewClient(&goredis.Options{Addr: m.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	r := NewRedis(client, redis.NewKeys("test"), testSpread, quiet)
	for range 2 {
		_, err := r.Request(t.Context(), "m", some(1, perDay))
		require.NoError(t, err)
		require.NoError(t, client.ScriptFlush(t.Context()).Err())
	}
}

func TestShared_AFullCountHoldsBackUntilItsWindowEnds(t *testing.T) {
	t.Parallel()
	all, client, keys := ledgers(t, 1)
	perHour := Key{Media: "m", Endpoint: "x", Scope: ScopePlatform, Period: time.Hour, Limit: 100, Share: 1}
	_, err := all[0].counts.add(t.Context(), perHour, 99)
	require.NoError(t, err)
	perSecond := Key{Media: "m", Endpoint: "y", Scope: ScopePlatform, Period: time.Second, Limit: 50, Share: 1}
	a := some(1, perHour, perSecond)
	got, err := all[0].Request(t.Context(), "m", a)
	require.NoError(t, err)
	require.Len(t, got.Wants[0].Starts, 1)
	got, err = all[0].Request(t.Context(), "m", a)
	require.NoError(t, err)
	require.Empty(t, got.Wants[0].Starts)
	require.Equal(t, 0, got.Wants[0].By)
	require.InDelta(t, time.Hour.Microseconds(), got.Wants[0].Opens, float64(time.Minute.Microseconds()))
	got, err = all[0].Request(t.Context(), "m", some(1, perSecond))
	require.NoError(t, err)
	require.Len(t, got.Wants[0].Starts, 1, "other limits are not affected")

	// A count that never ends would hold back forever.
	require.NoError(t, client.Persist(t.Context(), keys.Of("m", perHour.parts("count")...)).Err())
	got, err = all[0].Request(t.Context(), "m", a)
	require.NoError(t, err)
	require.Len(t, got.Wants[0].Starts, 1)
}

func TestShared_AnErrorNamesTheMedia(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	client := goredis.NewClient(&goredis.Options{Addr: m.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	r := NewRedis(client, redis.NewKeys("test"), testSpread, quiet)
	m.SetError("LOADING")
	_, err := r.Request(t.Context(), "tulip", Request{})
	require.ErrorContains(t, err, "request calls of tulip")
	require.ErrorContains(t, r.Pause(t.Context(), Key{Media: "tulip", Scope: ScopePlatform}, time.Second), "pause tulip")
}

func BenchmarkShared_Request(b *testing.B) {
	client, keys := redistest.New(b)
	r := NewRedis(client, keys, testSpread, quiet)
	k := Key{Media: "m", Endpoint: "x", Scope: ScopePlatform, Period: time.Second, Limit: 1e5, Share: 1}
	for _, n := range []int{1, 70, 500} {
		b.Run(fmt.Sprint(n, " calls"), func(b *testing.B) {
			for b.Loop() {
				if _, err := r.Request(b.Context(), "m", some(n, k)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestShared_GrantsAheadAreNotInTheWindow(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	client := goredis.NewClient(&goredis.Options{Addr: m.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	m.SetTime(now)
	r := NewRedis(client, redis.NewKeys("x"), testSpread, quiet)
	require.NoError(t, client.Set(t.Context(), redis.NewKeys("x").Of("m", "from"), 1, 0).Err())
	require.NoError(t, client.HSet(t.Context(), redis.NewKeys("x").Of("m", "last"), "", "").Err())
	k := Key{Media: "m", Endpoint: "e", Scope: ScopePlatform, Period: time.Second, Limit: 10, Share: 1}
	_, err := r.Request(t.Context(), "m", some(100, k))
	require.NoError(t, err)
	total := 0
	for after := range 5 {
		s, err := r.limitState(t.Context(), k, now.Add(time.Duration(after)*time.Second))
		require.NoError(t, err)
		require.LessOrEqual(t, s.Window, k.Limit, "a window holds no more than the limit")
		if after == 0 {
			require.Greater(t, s.Window+s.Ahead, k.Limit, "more is granted ahead than one window holds")
			total = s.Window + s.Ahead
		}
		total -= s.Window
		require.Equal(t, total, s.Ahead, "each is in one window")
	}
	require.Zero(t, total)
}

func TestShared_AServerWithKeysOfAnotherGrantsNothingForAWhile(t *testing.T) {
	t.Parallel()
	if os.Getenv(redistest.Env) == "" {
		t.Skip("the embedded Redis has no run id: set " + redistest.Env)
	}
	all, client, keys := ledgers(t, 1)
	a := some(5, Key{Media: "m", Endpoint: "x", Scope: ScopePlatform, Period: time.Second, Limit: 50, Share: 1})
	got, err := all[0].Request(t.Context(), "m", a)
	require.NoError(t, err)
	require.NotEmpty(t, got.Wants[0].Starts)
	require.Len(t, got.Server, 40)
	require.Equal(t, got.Server, client.HGet(t.Context(), keys.Of("m", "last"), "").Val())

	require.NoError(t, client.HSet(t.Context(), keys.Of("m", "last"), "", "another").Err())
	got, err = all[0].Request(t.Context(), "m", a)
	require.NoError(t, err)
	require.Empty(t, got.Wants[0].Starts)
	require.InDelta(t, longQuiet, got.Wants[0].Opens, float64(longQuiet/10))
}
