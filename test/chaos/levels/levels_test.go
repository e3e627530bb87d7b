package levels

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// noteAll notes a figure for each minute of an hour, from a minute on.
func noteAll(name string, kind Kind, from int, value func(minute int) float64) *Levels {
	l := &Levels{}
	for m := from; m < 60; m++ {
		l.Note(name, kind, time.Duration(m)*time.Minute, value(m))
	}
	return l
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	steady := func(value float64) func(int) float64 { return func(int) float64 { return value } }
	for name, tt := range map[string]struct {
		kind        Kind
		from        int
		value       func(minute int) float64
		first, last float64
		want        string
	}{
		"a steady count":                {Count, 0, steady(40), 40, 40, Level},
		"ten more goroutines are noise": {Count, 0, func(m int) float64 { return 40 + float64(m)/5 }, 43, 51, Level},
		"one more every minute":         {Count, 0, func(m int) float64 { return float64(40 + m) }, 55, 95, Rises},
		"a peak at the end": {Count, 0, func(m int) float64 { return 40 + 400*float64(m/57) }, 40, 40,
			Level},
		"memory that is collected": {Memory, 0, func(m int) float64 { return float64(30+10*(m%4)) * mib },
			30 * mib, 30 * mib, Level},
		"half a MiB every minute": {Memory, 0, func(m int) float64 { return (30 + float64(m)/2) * mib },
			35 * mib, 55 * mib, Rises},
		"what grows while it warms up": {Memory, 0, func(m int) float64 { return float64(30+5*min(m, 9)) * mib },
			75 * mib, 75 * mib, Level},
		"rows that come and go": {Rows, 0, func(m int) float64 { return float64(m % 10 * 100) }, 900, 900,
			Level},
		"rows that stay":                       {Rows, 0, func(m int) float64 { return float64(100 * m) }, 1900, 5900, Rises},
		"a ledger that grows at a steady rate": {Growth, 0, func(m int) float64 { return float64(100 * m) }, 100, 100, Level},
		"a ledger that grows ever faster":      {Growth, 0, func(m int) float64 { return float64(m * m) }, 29, 109, Rises},
		"a process that was started late":      {Count, 25, steady(40), 40, 40, Level},
		"one that was started too late":        {Count, 45, steady(40), 0, 0, Short},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := noteAll("it", tt.kind, tt.from, tt.value).Judge(time.Hour)
			require.Equal(t, []Line{{Name: "it", Kind: tt.kind.Name, First: tt.first, Last: tt.last, Verdict: tt.want}}, lines)
		})
	}
}

func TestJudge_HasALineForEachSeriesInOrder(t *testing.T) {
	t.Parallel()
	l := &Levels{}
	require.Empty(t, l.Judge(time.Hour))
	l.Note("b", Count, 0, 1)
	l.Note("a", Rows, 0, 1)
	lines := l.Judge(time.Hour)
	require.Len(t, lines, 2)
	require.Equal(t, "a", lines[0].Name)
	require.Equal(t, Short, lines[0].Verdict, "one figure is not level")
}
