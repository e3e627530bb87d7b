package show

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/client"
)

func TestUsage_CountsTheLimitsThatAreUnused(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	limit := func(endpoint string, used int64) client.LimitLeft {
		return client.LimitLeft{Media: "tulip", Endpoint: endpoint, Unit: "calls", Period: "24h0m0s", Used: used}
	}
	usage := client.LimitUsage{Limits: []client.LimitLeft{limit("list", 0), limit("report", 7), limit("money", 0)}}
	require.NoError(t, Usage(&out, &usage))
	require.Contains(t, out.String(), "tulip report")
	require.NotContains(t, out.String(), "tulip list")
	require.Contains(t, out.String(), "2 limits are unused in the present window.")
	require.Len(t, usage.Limits, 3, "the answer itself is whole")

	out.Reset()
	usage.Limits = usage.Limits[1:2]
	require.NoError(t, Usage(&out, &usage))
	require.NotContains(t, out.String(), "unused")
}
