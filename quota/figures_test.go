package quota

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func callsAt(at ...time.Duration) (c calls) {
	for _, t := range at {
		c = append(c, Arrival{At: t})
	}
	return c
}

func TestFigures_AStrictLedgerRefusesCallsInAFullWindow(t *testing.T) {
	t.Parallel()
	limits := []Limit{{2, time.Second}}
	ms := time.Millisecond
	require.Zero(t, callsAt(0, 1*ms, 1000*ms, 1001*ms).refused(limits))
	c := callsAt(0, 1*ms, 999*ms, 1000*ms, 1001*ms)
	require.Equal(t, 1, c.refused(limits), "the third; it takes no room")
	require.Equal(t, 1, c.overspent(limits))
	require.Equal(t, 2, callsAt(0, 1*ms, 2*ms, 3*ms).overspent(limits))
}

func TestFigures_ConvergenceIsWhenAllIsUsedAgain(t *testing.T) {
	t.Parallel()
	var c calls
	for at := time.Duration(0); at < 20*time.Second; at += 100 * time.Millisecond {
		if at < 5*time.Second || at >= 8*time.Second {
			c = append(c, Arrival{At: at})
		}
	}
	require.Equal(t, 3*time.Second, c.converged(5*time.Second, 20*time.Second, 10).Round(time.Second))
	require.Zero(t, c.converged(8*time.Second, 20*time.Second, 10))
}
