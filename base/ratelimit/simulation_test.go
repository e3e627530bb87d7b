package ratelimit

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever processes want, however wrong their clocks are and whenever they die, join, lose Redis or find it empty: no window overflows.
func TestSimulation_NoSlidingWindowOverflows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const members = 4
		app := Rule{Media: "m", Endpoint: "*", Scope: ScopeApp, Period: time.Second, Share: 1, Limit: rapid.IntRange(members, 40).Draw(t, "a second")}
		minute, account := app, app
		minute.Period, minute.Limit = 20*time.Second, rapid.IntRange(members, 400).Draw(t, "in twenty seconds")
		account.Scope, account.Limit = ScopeAccount, rapid.IntRange(members, 10).Draw(t, "of an account")
		rules := NewRules()
		if err := rules.Set([]Rule{app, minute, account}); err != nil {
			t.Fatal(err)
		}
		s := NewSimulation(rapid.Uint64().Draw(t, "seed"), rules, testSpread, members)
		s.timeout = rapid.SampledFrom([]time.Duration{50 * time.Millisecond, time.Second}).Draw(t, "timeout")
		alive := map[int]bool{}
		join := func() {
			var demands []Demand
			for range rapid.IntRange(1, 3).Draw(t, "demands") {
				demands = append(demands, Demand{
					Call: Call{Media: "m", Endpoint: "x", App: "1"}, Importance: rapid.SampledFrom([]int{30, 20, 10, ImportanceSpare}).Draw(t, "importance"),
					PerSecond: rapid.SampledFrom([]float64{1e-6, 0.5, 5, 30}).Draw(t, "a second"), Most: 50, Accounts: []string{"1", "2", "3"},
				})
			}
			alive[s.Join(demands...)] = true
		}
		died := time.Duration(0) // of those that died of late there may be calls under way
		join()
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			switch rapid.SampledFrom([]string{"join", "kill", "lose", "silence", "return", "flush", "rush", "nothing"}).Draw(t, "event") {
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
			case "rush":
				if p := s.processes[rapid.IntRange(0, len(s.processes)-1).Draw(t, "process")]; !p.dead {
					for range rapid.IntRange(1, 40).Draw(t, "calls") {
						p.stand(&standing{importance: 10, waiting: new(int)}, Call{Media: "m", Endpoint: "x", App: "1", Account: "1"})
					}
				}
			}
			s.Run(time.Duration(rapid.IntRange(0, 6000).Draw(t, "ms")) * time.Millisecond)
		}
		s.Run(3 * time.Second)
		came := newArrivals()
		for _, c := range s.Calls() {
			for _, k := range rules.keys(Call{Media: "m", Endpoint: "x", App: "1", Account: c.Account}) {
				came.note(k, c.At.Microseconds())
			}
		}
		for k := range came.at {
			for _, r := range []Rule{app, minute, account} {
				if k.Scope == r.Scope && k.Period == r.Period && came.worst(k) > r.Limit {
					t.Fatalf("%s: %d calls arrived within %s, %d are allowed", fmt.Sprint(k.Scope, " ", k.Subject), came.worst(k), r.Period, r.Limit)
				}
			}
		}
	})
}
