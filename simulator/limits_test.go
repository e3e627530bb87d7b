package simulator

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// timedLimits is limits whose time a test moves.
func timedLimits(rules ...LimitRule) (*limits, *time.Duration) {
	l := newLimits()
	now := new(time.Duration)
	l.now = func() time.Duration { return *now }
	l.change(rules, nil)
	return l, now
}

func TestLimits_RefuseExactlyWhatASlidingWindowRefuses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		second, minute, account := rapid.IntRange(1, 5).Draw(t, "second"), rapid.IntRange(1, 20).Draw(t, "minute"), rapid.IntRange(1, 4).Draw(t, "account")
		l, now := timedLimits(
			LimitRule{Media: "m", Endpoint: "*", Scope: ScopeApp, Seconds: 1, Limit: second},
			LimitRule{Media: "m", Endpoint: "*", Scope: ScopeApp, Seconds: 60, Limit: minute},
			LimitRule{Media: "m", Endpoint: "*", Scope: ScopeAccount, Seconds: 1, Limit: account},
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
				wantScope = ScopeAccount
			case holds(time.Second, "") >= second, holds(time.Minute, "") >= minute:
				wantScope = ScopeApp
			}
			r, ok := l.take("m", "e", "app", who)
			require.Equal(t, wantScope == "", ok)
			require.Equal(t, wantScope, r.rule.Scope)
			if ok {
				log = append(log, accepted{*now, who})
			} else {
				require.Positive(t, r.retryIn)
			}
		}
	})
}

func TestLimits_AppsAndEndpointsCountApart(t *testing.T) {
	t.Parallel()
	l, _ := timedLimits(
		LimitRule{Media: "m", Endpoint: "*", Scope: ScopeApp, Seconds: 1, Limit: 1},
		LimitRule{Media: "m", Endpoint: "free", Scope: ScopeApp, Seconds: 1, Limit: 0},
		LimitRule{Media: "m", Endpoint: "double", Scope: ScopeApp, Seconds: 1, Limit: 2},
	)
	take := func(endpoint, app string) bool {
		_, ok := l.take("m", endpoint, app, "")
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

func TestLimits_AChangeKeepsWhatWasCounted(t *testing.T) {
	t.Parallel()
	rule := LimitRule{Media: "m", Endpoint: "*", Scope: ScopeApp, Seconds: 60, Limit: 3}
	l, now := timedLimits(rule)
	for range 3 {
		_, ok := l.take("m", "e", "a", "")
		require.True(t, ok)
		*now += time.Second
	}
	rule.Limit = 2
	l.change([]LimitRule{rule}, nil)
	*now = 61*time.Second - 1
	_, ok := l.take("m", "e", "a", "")
	require.False(t, ok, "two of the last minute are left")
	*now = 61 * time.Second
	_, ok = l.take("m", "e", "a", "")
	require.True(t, ok)
}

func TestLimits_IdleOnesAreForgotten(t *testing.T) {
	t.Parallel()
	l, now := timedLimits(LimitRule{Media: "m", Endpoint: "*", Scope: ScopeAccount, Seconds: 1, Limit: 10})
	for i := range 100_000 {
		*now += time.Millisecond
		_, ok := l.take("m", "e", "a", fmt.Sprint(i))
		require.True(t, ok)
	}
	require.Less(t, len(l.gates), 25_000)
}

func TestLimits_PenaltiesShutTheEndpoint(t *testing.T) {
	t.Parallel()
	on := true
	strict, now := timedLimits(LimitRule{Media: "tencent", Endpoint: "*", Scope: ScopeApp, Seconds: 60, Limit: 1})
	strict.change(nil, &on)
	take := func(l *limits) (refusal, bool) { return l.take("tencent", "e", "a", "") }
	_, ok := take(strict)
	require.True(t, ok)
	_, ok = take(strict)
	require.False(t, ok)
	*now = penaltyLength - 1
	r, ok := take(strict)
	require.False(t, ok)
	require.True(t, r.penalty)
	*now = penaltyLength
	_, ok = take(strict)
	require.True(t, ok)

	tolerant, later := timedLimits(LimitRule{Media: "oceanengine", Endpoint: "*", Scope: ScopeApp, Seconds: 1, Limit: 1})
	tolerant.tolerant["oceanengine"] = true
	tolerant.change(nil, &on)
	refused := 0
	for range 100 {
		r, ok := tolerant.take("oceanengine", "e", "a", "")
		require.False(t, r.penalty)
		if !ok {
			refused++
		}
	}
	require.Equal(t, 99, refused)
	*later += 2 * time.Second
	r, ok = tolerant.take("oceanengine", "e", "a", "")
	require.False(t, ok, "a hundred attempts of the last minute shut it")
	require.True(t, r.penalty)
	*later += penaltyLength
	_, ok = tolerant.take("oceanengine", "e", "a", "")
	require.True(t, ok)
}

// A penalty is five minutes of the world: a night that is sixty times as fast as real time would else be over before it.
func TestLimits_PenaltiesGoByTheWorldsClock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		speed  float64
		frozen bool
		want   time.Duration
	}{
		{1, false, 5 * time.Minute}, {60, false, 5 * time.Second}, {60, true, 5 * time.Minute}, {0.001, false, 5 * time.Minute},
	} {
		s := newSim(t, Config{Frozen: test.frozen, Start: noon})
		require.NoError(t, s.sim.clock.SetSpeed(test.speed))
		now := new(time.Duration)
		s.sim.limits.now = func() time.Duration { return *now }
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
	s.order("limits", fields{"rules": []fields{{"media": "tencent", "endpoint": "hourly_reports/get", "scope": "app", "period_seconds": 1, "limit": 1}}})

	require.Equal(t, 0, code(t, s.oceanCall(oce, "v3.0/project/list/")))
	w = s.oceanCall(oce, "v3.0/project/list/")
	require.Equal(t, 40130, code(t, w))
	for range 2 {
		require.Equal(t, 0, code(t, s.oceanCall(oce, "v3.0/promotion/list/")))
	}
	w = s.oceanCall(oce, "v3.0/promotion/list/")
	require.Equal(t, 40110, code(t, w))
	require.NotEmpty(t, w.Header().Get("X-RateLimit-Dimension"))
	total, _ := s.ledger.query(ledgerQuery{})
	require.Equal(t, Counts{Calls: 10, Refused: 3}, total)
}

func TestLimits_HoldUnderManyCallersAtOnce(t *testing.T) {
	t.Parallel()
	l, _ := timedLimits(LimitRule{Media: "m", Endpoint: "*", Scope: ScopeApp, Seconds: 1, Limit: 100},
		LimitRule{Media: "m", Endpoint: "*", Scope: ScopeAccount, Seconds: 1, Limit: 30})
	var group sync.WaitGroup
	counts := make([]int, 8)
	for i := range counts {
		group.Go(func() {
			for range 100 {
				if _, ok := l.take("m", "e", "a", fmt.Sprint(i%4)); ok {
					counts[i]++
				}
				if i == 0 {
					l.change(nil, nil) // rules may be read anew at any time
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
	l, now := timedLimits(LimitRule{Media: "m", Endpoint: "*", Scope: ScopeRows, Seconds: 10, Limit: 100})
	open := func(kind, app string) time.Duration {
		r, open := l.open("m", kind, app)
		require.Equal(t, r.retryIn == 0, open)
		return r.retryIn
	}
	*now = time.Second
	l.match("m", "ads", "1", 60)
	*now = 3 * time.Second
	l.match("m", "ads", "1", 40)
	require.Zero(t, open("ads", "1"), "a hundred are allowed")
	*now = 4 * time.Second
	l.match("m", "ads", "1", 150)
	require.Equal(t, 7*time.Second+20*time.Second, open("ads", "1"), "the rest of the period, and two more for 250 rows")
	require.Zero(t, open("ads", "2"))
	require.Zero(t, open("accounts", "1"))
	*now = 31 * time.Second
	require.Zero(t, open("ads", "1"))
	l.match("m", "ads", "1", 100)
	require.Zero(t, open("ads", "1"), "what was matched before is forgotten")
}
