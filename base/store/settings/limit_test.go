package settings_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit/grant"
	"adsync/base/store/settings"
)

func TestLimitsInForce_RowsReplaceDefaultsForTheSameCalls(t *testing.T) {
	t.Parallel()
	rule := func(limit int) grant.Rule {
		return grant.Rule{Media: "tulip", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: limit}
	}
	minute := rule(600)
	minute.Period = time.Minute
	defaults := []grant.Rule{rule(10), minute}
	for name, c := range map[string]struct {
		rows []settings.LimitRow
		want []grant.Rule
	}{
		"no rows leave the defaults": {nil, defaults},
		"a row replaces the default of its kind": {[]settings.LimitRow{{Rule: rule(20), Enabled: true}},
			[]grant.Rule{rule(20), minute}},
		"a disabled row removes the default": {[]settings.LimitRow{{Rule: rule(20)}}, []grant.Rule{minute}},
		"a refused row removes nothing": {[]settings.LimitRow{{Rule: rule(0), Enabled: true}},
			[]grant.Rule{rule(0), rule(10), minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, settings.LimitsInForce(c.rows, defaults))
		})
	}
}
