package metric_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/metric"
)

func TestValues_UnsetMetricsAreNullAndStayUnset(t *testing.T) {
	t.Parallel()
	require.Len(t, metric.All, metric.N)
	var a, b metric.Values
	a.Set(metric.Index("cost"), 5)
	b.Set(metric.Index("cost"), 7)
	b.Set(metric.Index("clicks"), 0)
	a.Add(&b)
	args := a.Args(nil)
	require.Equal(t, int64(12), args[metric.Index("cost")])
	require.Equal(t, int64(0), args[metric.Index("clicks")], "a figure of 0 is not NULL")
	require.Nil(t, args[metric.Index("installs")])
	require.Equal(t, -1, metric.Index("ctr"), "rates are computed when read")
}
