package simulator

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/simulator/ledger"
	"adsync/simulator/limit"
)

// timedLimits returns limits with a clock that the test advances.
func timedLimits(rules ...limit.Rule) (*limit.Limits, *time.Duration) {
	l := limit.New()
	now := new(time.Duration)
	l.Now = func() time.Duration { return *now }
	l.Change(rules, nil)
	return l, now
}

func TestLimits_AreExactSlidingWindows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		second, minute, account := rapid.IntRange(1, 5).Draw(t, "second"), rapid.IntRange(1, 20).Draw(t, "minute"),
			rapid.IntRange(1, 4).Draw(t, "account")
		l, now := timedLimits(
			limit.Rule{Media: "m", Endpoint: "*", Scope: limit.ScopeApp, Seconds: 1, Limit: second},
			limit.Rule{Media: "m", Endpoint: "*", Scope: limit.ScopeApp, Seconds: 60, Limit: minute},
			limit.Rule{Media: "m", Endpoint: "*", Scope: limit.ScopeAccount, Seconds: 1, Limit: account},
		)
		type accepted struct {
			at      time.Duration
			account string
		}
		var log []accepted
		holds := func(period time.Duration, account string) (n int) {
			for _, x := range log {
				if x.at > *now-period && (account == "" || account == x.account) {
					n++
				}
			}
			return n
		}
		for range rapid.IntRange(1, 200).Draw(t, "calls") {
			*now += time.Duration(rapid.IntRange(0, 400).Draw(t, "gap")) * time.Millisecond
			who := fmt.Sprint(rapid.IntRange(1, 2).Draw(t, "who"))
			wantScope := ""
			switch {
			case holds(time.Second, who) >= account:
				wantScope = limit.ScopeAccount
			case holds(time.Second, "") >= second, holds(time.Minute, "") >= minute:
				wantScope = limit.ScopeApp
			}
			r, ok := l.Take("m", "e", "app", who)
			require.Equal(t, wantScope == "", ok)
			require.Equal(t, wantScope, r.Rule.Scope)
			if ok {
				log = append(log, accepted{*now, who})
			} else {
				require.Positive(t, r.RetryIn)
			}
		}
	})
}

func TestLimits_AppsAndEndpointsCountSeparately(t *testing.T) {
	t.Parallel()
	l, _ := timedLimits(
		limit.Rule{Media: "m", Endpoint: "*", Scope: limit.ScopeApp, Seconds: 1, Limit: 1},
		limit.Rule{Media: "m", Endpoint: "free", Scope: limit.ScopeApp, Seconds: 1, Limit: 0},
		limit.Rule{Media: "m", Endpoint: "double", Scope: limit.ScopeApp, Seconds: 1, Limit: 2},
	)
	take := func(endpoint, app string) bool {
		_, ok := l.Take("m", endpoint, app, "")
		return ok
	}
	require.True(t, take("e", "a"))
	require.False(t, take("e", "a"))
	require.True(t, take("e", "b"))
	require.True(t, take("f", "a"))
	for range 50 {
		require.True(t, take("free", "a"))
	}
	require.True(t, take("double", "a"))
	require.True(t, take("double", "a"))
	require.False(t, take("double", "a"))
}

func TestLimits_AChangeKeepsTheCounts(t *testing.T) {
	t.Parallel()
	rule := limit.Rule{Media: "m", Endpoint: "*", Scope: limit.ScopeApp, Seconds: 60, Limit: 3}
	l, now := timedLimits(rule)
	for range 3 {
		_, ok := l.Take("m", "e", "a", "")
		require.True(t, ok)
		*now += time.Second
	}
	rule.Limit = 2
	l.Change([]limit.Rule{rule}, nil)
	*now = 61*time.Second - 1
	_, ok := l.Take("m", "e", "a", "")
	require.False(t, ok, "two calls of the last minute remain")
	*now = 61 * time.Second
	_, ok = l.Take("m", "e", "a", "")
	require.True(t, ok)
}

func TestLimits_IdleOnesAreRemoved(t *testing.T) {
	t.Parallel()
	l, now := timedLimits(limit.Rule{Media: "m", Endpoint: "*", Scope: limit.ScopeAccount, Seconds: 1, Limit: 10})
	for i := range 100_000 {
		*now += time.Millisecond
		_, ok := l.Take("m", "e", "a", fmt.Sprint(i))
		require.True(t, ok)
	}
	require.Less(t, len(l.Gates), 25_000)
}

func TestLimits_PenaltiesShutTheEndpoint(t *testing.T) {
	t.Parallel()
	on := true
	strict, now := timedLimits(limit.Rule{Media: "tencent", Endpoint: "*", Scope: limit.ScopeApp, Seconds: 60, Limit: 1})
	strict.Change(nil, &on)
	take := func(l *limit.Limits) (limit.Refusal, bool) { return l.Take("tencent", "e", "a", "") }
	_, ok := take(strict)
	require.True(t, ok)
	_, ok = take(strict)
	require.False(t, ok)
	*now = limit.PenaltyLength - 1
	r, ok := take(strict)
	require.False(t, ok)
	require.True(t, r.Penalty)
	*now = limit.PenaltyLength
	_, ok = take(strict)
	require.True(t, ok)

	tolerant, later := timedLimits(limit.Rule{Media: "oceanengine", Endpoint: "*", Scope: limit.ScopeApp, Seconds: 1,
		Limit: 1})
	tolerant.Tolerant["oceanengine"] = true
	tolerant.Change(nil, &on)
	refused := 0
	for range 100 {
		r, ok := tolerant.Take("oceanengine", "e", "a", "")
		require.False(t, r.Penalty)
		if !ok {
			refused++
		}
	}
	require.Equal(t, 99, refused)
	*later += 2 * time.Second
	r, ok = tolerant.Take("oceanengine", "e", "a", "")
	require.False(t, ok, "a hundred attempts in the last minute shut it")
	require.True(t, r.Penalty)
	*later += limit.PenaltyLength
	_, ok = tolerant.Take("oceanengine", "e", "a", "")
	require.True(t, ok)
}

// A penalty lasts five minutes of the world: otherwise a night at sixty times real time would end before the penalty.
func TestLimits_PenaltiesUseTheWorldsClock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		speed  float64
		frozen bool
		want   time.Duration
	}{
		{1, false, 5 * time.Minute}, {60, false, 5 * time.Second}, {60, true, 5 * time.Minute},
		{0.001, false, 5 * time.Minute},
	} {
		s := newSim(t, Config{Frozen: test.frozen, Start: noon})
		require.NoError(t, s.sim.Clock.SetSpeed(test.speed))
		now := new(time.Duration)
		s.sim.Limits.Now = func() time.Duration { return *now }
		s.spec("tencent")
		s.order("limits", fields{"penalties": true, "rules": []fields{
			{"media": "tencent", "endpoint": "funds/get", "scope": "app", "period_seconds": 1, "limit": 1},
		}})
		ask := func() int {
			return code(t, s.tencentCall(s.account("tencent", 0), "funds/get", "fields", `["balance"]`))
		}
		require.Zero(t, ask(), "%+v", test)
		require.Equal(t, 11016, ask(), "%+v", test)
		*now = test.want - 1
		require.Equal(t, 11017, ask(), "%+v", test)
		*now = test.want
		require.Zero(t, ask(), "%+v", test)
	}
}

func TestLimits_AreAnsweredInThePlatformsOwnWords(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	ten, oce := s.account("tencent", 0), s.account("oceanengine", 0)
	s.order("limits", fields{"rules": []fields{
		{"media": "tencent", "endpoint": "*", "scope": "app", "period_seconds": 1, "limit": 0},
		{"media": "tencent", "endpoint": "adgroups/get", "scope": "app", "period_seconds": 60, "limit": 4},
		{"media": "oceanengine", "endpoint": "/v3.0/promotion/list/", "scope": "app", "period_seconds": 1000, "limit": 2},
		{"media": "oceanengine", "endpoint": "v3.0/project/list", "scope": "account", "period_seconds": 1000, "limit": 1},
	}})
	for n := range 4 {
		w := s.tencentCall(ten, "adgroups/get")
		require.Equal(t, 0, code(t, w))
		require.Equal(t, fmt.Sprintf("100%%,%d%%", 75-25*n), w.Header().Get("X-RateLimit-Remaining"))
	}
	w := s.tencentCall(ten, "adgroups/get")
	require.Equal(t, []any{http.StatusOK, 11017}, []any{w.Code, code(t, w)})
	s.order("limits",
		fields{"rules": []fields{{"media": "tencent", "endpoint": "hourly_reports/get", "scope": "app", "period_seconds": 1,
			"limit": 1}}})

	require.Equal(t, 0, code(t, s.oceanCall(oce, "v3.0/project/list/")))
	w = s.oceanCall(oce, "v3.0/project/list/")
	require.Equal(t, 40130, code(t, w))
	for range 2 {
		require.Equal(t, 0, code(t, s.oceanCall(oce, "v3.0/promotion/list/")))
	}
	w = s.oceanCall(oce, "v3.0/promotion/list/")
	require.Equal(t, 40110, code(t, w))
	require.NotEmpty(t, w.Header().Get("X-RateLimit-Dimension"))
	total, _ := s.ledger.Query(ledger.Query{})
	require.Equal(t, ledger.Counts{Calls: 10, Refused: 3}, total)
}

func TestLimits_HoldUnderManyCallersAtOnce(t *testing.T) {
	t.Parallel()
	l, _ := timedLimits(limit.Rule{Media: "m", Endpoint: "*", Scope: limit.ScopeApp, Seconds: 1, Limit: 100},
		limit.Rule{Media: "m", Endpoint: "*", Scope: limit.ScopeAccount, Seconds: 1, Limit: 30})
	var group sync.WaitGroup
	counts := make([]int, 8)
	for i := range counts {
		group.Go(func() {
			for range 100 {
				if _, ok := l.Take("m", "e", "a", fmt.Sprint(i%4)); ok {
					counts[i]++
				}
				if i == 0 {
					l.Change(nil, nil) // rules may change at any time
				}
			}
		})
	}
	group.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	require.Equal(t, 100, sum)
}

func TestLimits_TooManyRowsShutTheirKind(t *testing.T) {
	t.Parallel()
	l, now := timedLimits(limit.Rule{Media: "m", Endpoint: "*", Scope: limit.ScopeRows, Seconds: 10, Limit: 100})
	open := func(kind, app string) time.Duration {
		r, open := l.Open("m", kind, app)
		require.Equal(t, r.RetryIn == 0, open)
		return r.RetryIn
	}
	*now = time.Second
	l.Match("m", "ads", "1", 60)
	*now = 3 * time.Second
	l.Match("m", "ads", "1", 40)
	require.Zero(t, open("ads", "1"), "a hundred are allowed")
	*now = 4 * time.Second
	l.Match("m", "ads", "1", 150)
	require.Equal(t, 7*time.Second+20*time.Second, open("ads", "1"), "the rest of the period, and two more for 250 rows")
	require.Zero(t, open("ads", "2"))
	require.Zero(t, open("accounts", "1"))
	*now = 31 * time.Second
	require.Zero(t, open("ads", "1"))
	l.Match("m", "ads", "1", 100)
	require.Zero(t, open("ads", "1"), "earlier rows no longer count")
}
