package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit"
	"adsync/base/store"
)

func TestMergeLimits_RowsReplaceDefaultsOfTheSame(t *testing.T) {
	t.Parallel()
	rule := func(limit int) ratelimit.Rule {
		return ratelimit.Rule{Media: "tencent", Endpoint: "*", Scope: ratelimit.ScopeApp, Period: time.Second, Limit: limit}
	}
	minute := rule(600)
	minute.Period = time.Minute
	defaults := []ratelimit.Rule{rule(10), minute}
	for name, c := range map[string]struct {
		rows []store.LimitRow
		want []ratelimit.Rule
	}{
		"no rows leave the defaults":             {nil, defaults},
		"a row replaces the default of its kind": {[]store.LimitRow{{Rule: rule(20), Enabled: true}}, []ratelimit.Rule{rule(20), minute}},
		"a disabled row takes the default away":  {[]store.LimitRow{{Rule: rule(20)}}, []ratelimit.Rule{minute}},
		"a row that is refused takes nothing":    {[]store.LimitRow{{Rule: rule(0), Enabled: true}}, []ratelimit.Rule{rule(0), rule(10), minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, mergeLimits(c.rows, defaults))
		})
	}
}
