package quota

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
)

// No window overflows, whatever processes want, however wrong their clocks are and whenever they die, join, lose
// Redis or find it empty.
func TestSimulation_NoSlidingWindowOverflows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const members = 4
		app := grant.Rule{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Share: 1,
			Limit: rapid.IntRange(members, 40).Draw(t, "a second")}
		minute, account := app, app
		minute.Period, minute.Limit = 20*time.Second, rapid.IntRange(members, 400).Draw(t, "in twenty seconds")
		account.Scope, account.Limit = grant.ScopeAccount, rapid.IntRange(members, 10).Draw(t, "of an account")
		rules := grant.NewRules()
		if err := rules.Set([]grant.Rule{app, minute, account}); err != nil {
			t.Fatal(err)
		}
		s := NewSimulation(rapid.Uint64().Draw(t, "seed"), rules, testSpread, members)
		s.timeout = rapid.SampledFrom([]time.Duration{50 * time.Millisecond, time.Second}).Draw(t, "timeout")
		witnessed := rapid.Bool().Draw(t, "witness")
		if witnessed {
			s.witness = newWitnesses(func() time.Time { return s.now })
		}
		alive := map[int]bool{}
		join := func() {
			var demands []Demand
			for range rapid.IntRange(1, 3).Draw(t, "demands") {
				demands = append(demands, Demand{
					Call:       grant.Call{Media: "m", Endpoint: "x", App: "1"},
					Importance: rapid.SampledFrom([]int{30, 20, 10, ratelimit.ImportanceSpare}).Draw(t, "importance"),
					PerSecond:  rapid.SampledFrom([]float64{1e-6, 0.5, 5, 30}).Draw(t, "a second"), Most: 50,
					Accounts: []string{"1", "2", "3"},
				})
			}
			alive[s.Join(demands...)] = true
		}
		died := time.Duration(0) // processes that died recently may have calls under way
		join()
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			switch rapid.SampledFrom([]string{"join", "kill", "lose", "silence", "return", "flush", "promote", "rush",
				"nothing"}).Draw(t, "event") {
			case "join":
				if len(alive) < members && s.Now() > died+5*time.Second {
					join()
				}
			case "kill":
				for p := range s.processes {
					if alive[p] {
						s.Kill(p)
						delete(alive, p)
						died = s.Now()
						break
					}
				}
			case "lose":
				s.LoseRedis()
			case "silence":
				s.SilenceRedis()
			case "return":
				s.ReturnRedis()
			case "flush":
				s.Flush()
			case "promote":
				if witnessed {
					s.Promote(time.Duration(rapid.IntRange(0, 7000).Draw(t, "overlap")) * time.Millisecond)
				}
			case "rush":
				if p := s.processes[rapid.IntRange(0, len(s.processes)-1).Draw(t, "process")]; !p.dead {
					for range rapid.IntRange(1, 40).Draw(t, "calls") {
						p.join(&waitingCall{importance: 10, waiting: new(int)},
							grant.Call{Media: "m", Endpoint: "x", App: "1", Account: "1"})
					}
				}
			}
			s.Run(time.Duration(rapid.IntRange(0, 6000).Draw(t, "ms")) * time.Millisecond)
		}
		s.Run(3 * time.Second)
		came := newArrivals()
		for _, c := range s.Calls() {
			for _, k := range keysOf(rules, grant.Call{Media: "m", Endpoint: "x", App: "1", Account: c.Account}) {
				came.note(k, c.At.Microseconds())
			}
		}
		for k := range came.at {
			for _, r := range []grant.Rule{app, minute, account} {
				if k.Scope == r.Scope && k.Period == r.Period && came.worst(k) > r.Limit {
					t.Fatalf("%s: %d calls arrived within %s, %d are allowed", fmt.Sprint(k.Scope, " ", k.Subject), came.worst(k),
						r.Period, r.Limit)
				}
			}
		}
	})
}

// In a planned failover of Redis Sentinel the old server takes writes for some 7 s more, and each process changes to
// the new one at its own time, without an error.
func TestSimulation_APromotionOverspendsNothing(t *testing.T) {
	t.Parallel()
	rules := grant.NewRules()
	require.NoError(t, rules.Set([]grant.Rule{
		{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 20, Share: 1},
		{Media: "m", Endpoint: "*", Scope: grant.ScopePlatform, Period: time.Minute, Limit: 1000, Share: 1},
	}))
	call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
	play := func(seed uint64, witnessed bool) (worst int, late time.Duration) {
		s := NewSimulation(seed, rules, testSpread, 3)
		if witnessed {
			s.witness = newWitnesses(func() time.Time { return s.now })
		}
		for range 1 + s.rand.IntN(4) {
			s.Join(Demand{Call: call, PerSecond: 5 + 30*s.rand.Float64(), Most: 50})
		}
		s.Run(10*time.Second + s.upTo(2*time.Second))
		for range 1 + s.rand.IntN(2) {
			s.Promote(time.Second + s.upTo(6*time.Second))
			s.Run(20*time.Second + s.upTo(10*time.Second))
		}
		if s.rand.IntN(2) == 0 {
			s.Join(Demand{Call: call, PerSecond: 50, Most: 50})
		}
		end := s.Now()
		s.Run(5 * time.Second)
		came := newArrivals()
		for _, c := range s.Calls() {
			for _, key := range keysOf(rules, call) {
				came.note(key, c.At.Microseconds())
			}
			late = max(late, c.At-end)
		}
		for _, key := range keysOf(rules, call) {
			worst = max(worst, came.worst(key)-key.Limit)
		}
		return worst, late
	}
	const runs = 60
	overspent := 0
	for seed := range uint64(runs) {
		worst, late := play(seed, true)
		require.LessOrEqual(t, worst, 0, "seed %d", seed)
		require.Greater(t, late, 4*time.Second, "seed %d: calls are made again", seed)
		if worst, _ := play(seed, false); worst > 0 {
			overspent++
		}
	}
	require.Positive(t, overspent, "without a witness it is overspent, or this shows nothing")
	t.Logf("without a witness %d of %d were overspent", overspent, runs)
}

// An idle process has no request that stays unanswered. Others use their parts when Redis was silent for long, and
// continue for a second after its return. Whatever the idle process is granted then would exceed the limits.
func TestFallback_AnIdleProcessLearnsOfASilence(t *testing.T) {
	t.Parallel()
	rules := grant.NewRules()
	require.NoError(t,
		rules.Set([]grant.Rule{{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 20, Share: 1}}))
	call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
	for seed := range 200 {
		s := NewSimulation(uint64(seed), rules, testSpread, 2)
		s.timeout = []time.Duration{50 * time.Millisecond, time.Second}[seed%2]
		s.Join(Demand{Call: call, PerSecond: 50, Most: 50})
		idle := s.processes[s.Join(Demand{Call: call, PerSecond: 1e-9})]
		idle.join(&waitingCall{waiting: new(int)}, call)
		s.Run(10*time.Second + s.upTo(2*time.Second))
		s.SilenceRedis()
		s.Run(time.Second + s.upTo(4*time.Second))
		s.ReturnRedis()
		s.Run(s.upTo(500 * time.Millisecond))
		for range 20 {
			idle.join(&waitingCall{waiting: new(int)}, call)
		}
		s.Run(6 * time.Second)
		came, key := newArrivals(), keysOf(rules, call)[0]
		for _, c := range s.Calls() {
			came.note(key, c.At.Microseconds())
		}
		require.LessOrEqual(t, came.worst(key), 20, "seed %d", seed)
	}
}
