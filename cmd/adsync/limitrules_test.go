package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const aRule = `{"id": "7", "source": "row", "media": "tulip", "endpoint": "x/*", "each_endpoint": true, "scope": "app",
  "period_ms": 60000,
  "unit": "calls", "calls": 400, "calls_max": 0, "share": 0.95, "cost": 2, "costs": "x/y=3",
  "calendar_zone": "Asia/Shanghai",
  "penalty_ms": 5000, "enabled": true}`

func TestLimitRules_AreShownAndChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args                 []string
		answer, asked, shown string
	}{
		{
			[]string{"rules", "--media", "tulip"}, `{"rules": [` + aRule + `]}`, "GET /api/v1/limits/rules?media=tulip ",
			"a call costs 2; costs x/y=3; windows of Asia/Shanghai; penalty 5s",
		},
		{
			[]string{"set", "tulip", "x/*", "--each-endpoint", "--period", "1m", "--calls", "400", "--off"}, aRule,
			`PUT /api/v1/limits/rules {"media":"tulip","endpoint":"x/*","each_endpoint":true,"scope":"app","period_ms":60000,` +
				`"unit":"calls","calls":400,"enabled":false}`,
			"400 calls per 1m0s",
		},
		{
			[]string{"delete", "7"}, `{"deleted": ` + aRule + `, "in_force": [` + aRule + `]}`, "DELETE /api/v1/limits/rules/7 ",
			"Deleted the limit 7: tulip x/*, 400 calls per 1m0s.\nThe platform's own limit holds again: 400 calls per 1m0s.\n",
		},
		{
			[]string{"delete", "7"}, `{"deleted": ` + aRule + `, "in_force": []}`, "DELETE /api/v1/limits/rules/7 ",
			"No limit of the platform's own takes its place.\n",
		},
	} {
		stdout, asked := sent(t, c.answer, append([]string{"limits"}, c.args...)...)
		require.Equal(t, c.asked, asked)
		require.Contains(t, stdout, c.shown)
	}
	require.Equal(t, exitUsage, adsync(nil, "limits", "set", "tulip").code)
}
