package quota

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const testSpread = 100 * time.Millisecond

// batch is about how many calls one request grants where calls wait.
const batch = 80

func TestSimulate_LimitsAreUsedAndKept(t *testing.T) {
	t.Parallel()
	for i, s := range Scenarios(time.Minute) {
		if s.Virtual {
			s = Scenarios(5 * time.Second)[i]
			s.WarmUp = 6 * time.Second
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			f := Simulate(s, 1, testSpread)
			require.Zero(t, f.Refused)
			require.LessOrEqual(t, f.Overspent, 0)
			require.LessOrEqual(t, f.FairnessError, float64(batch))
			require.LessOrEqual(t, f.ConvergenceSeconds, 5.)
			switch {
			case strings.HasPrefix(s.Name, "Redis away"):
				require.GreaterOrEqual(t, f.UseRatio, 0.95)
			case strings.HasPrefix(s.Name, "FLUSHALL"):
				require.GreaterOrEqual(t, f.UseRatio, 0.965,
					"for 2 s of a minute nothing is granted, less what had been granted ahead")
			default:
				require.GreaterOrEqual(t, f.UseRatio, 0.98)
			}
			switch {
			case strings.HasPrefix(s.Name, "steady"):
				require.True(t, f.RoundTripsPerCall <= 0.02 || f.RoundTripsPerProcess <= 1.01, "%+v", f)
			case strings.Contains(s.Name, "want less"):
				require.LessOrEqual(t, f.RoundTripsPerProcess, 1.35, "about once in 2 s, including requests ahead")
			}
		})
	}
}

func TestSimulate_ThousandsOfAccountsCallNextToAHotOne(t *testing.T) {
	t.Parallel()
	s := Named(Scenarios(time.Minute), []string{"hot account"})[0]
	w := NewSimulation(1, s.Rules(), testSpread, s.Members)
	require.Zero(t, s.Play(w, testSpread).Refused)
	calls, apps := map[string]int{}, map[string]bool{}
	for _, c := range w.Calls() {
		calls[c.Account]++
		apps[c.App] = true
	}
	require.Len(t, apps, 1, "they share one quota")
	require.Greater(t, len(calls), 3000, "of 8,000, in 70 s of 100 calls")
	require.Greater(t, calls[hotName], 1500, "it gets what the others leave")
}

func TestSimulate_TheSameSeedGivesTheSameFigures(t *testing.T) {
	t.Parallel()
	s := Named(Scenarios(20*time.Second), []string{"killed"})[0]
	first := Simulate(s, 7, testSpread)
	require.Equal(t, first, Simulate(s, 7, testSpread))
}
