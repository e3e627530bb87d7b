package grant

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRule_Validate(t *testing.T) {
	t.Parallel()
	good := Rule{ID: 7, Media: "tulip", Endpoint: "reports/*", Scope: ScopeApp, Period: time.Minute, Limit: 600,
		Share: 0.9}
	require.NoError(t, good.Validate())
	for _, tt := range []struct {
		name   string
		change func(*Rule)
		want   string
	}{
		{"no media", func(r *Rule) { r.Media = "" }, "media is missing"},
		{"no endpoint", func(r *Rule) { r.Endpoint = "" }, "endpoint is missing"},
		{"a star in the middle", func(r *Rule) { r.Endpoint = "a*b" }, "is allowed only at the end"},
		{"two stars", func(r *Rule) { r.Endpoint = "a**" }, "is allowed only at the end"},
		{"an unknown scope", func(r *Rule) { r.Scope = "user" }, `scope "user" is none of`},
		{"a period too short", func(r *Rule) { r.Period = time.Millisecond }, "period 1ms is not within"},
		{"a period too long", func(r *Rule) { r.Period = 25 * time.Hour }, "period 25h0m0s is not within"},
		{"no calls at all", func(r *Rule) { r.Limit = 0 }, "limit 0 is not within"},
		{"a share above one", func(r *Rule) { r.Share = 1.01 }, "share 1.01 is not within"},
		{"a negative share", func(r *Rule) { r.Share = -0.1 }, "share -0.1 is not within"},
		{"a share that is no number", func(r *Rule) { r.Share = math.NaN() }, "share NaN is not within"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bad := good
			tt.change(&bad)
			err := bad.Validate()
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, "rate limit 7 ", "the row is named")
		})
	}
}

func TestRules_SlashesAroundAnEndpointDoNotMatter(t *testing.T) {
	t.Parallel()
	for _, written := range []string{"v3.0/report/get", "v3.0/report/get/", "/v3.0/report/get"} {
		rules := NewRules()
		require.NoError(t, rules.Set([]Rule{
			{ID: 1, Media: "a", Endpoint: "*", Each: true, Scope: ScopeApp, Period: time.Second, Limit: 10},
			{ID: 2, Media: "a", Endpoint: written, Scope: ScopeApp, Period: time.Second, Limit: 5},
		}))
		for _, called := range []string{"v3.0/report/get/", "v3.0/report/get"} {
			key := keysOf(rules, Call{Media: "a", Endpoint: called, App: "1"})[0]
			require.Equal(t, 5, key.Limit, "%s is limited by %s", called, written)
			require.Equal(t, "v3.0/report/get", key.Endpoint)
		}
	}
	require.ErrorContains(t, NewRules().Set([]Rule{
		{ID: 1, Media: "a", Endpoint: "x", Scope: ScopeApp, Period: time.Second, Limit: 10},
		{ID: 2, Media: "a", Endpoint: "x/", Scope: ScopeApp, Period: time.Second, Limit: 5},
	}), "row 1 already has a limit for these calls")
}

func TestRules_Keys(t *testing.T) {
	t.Parallel()
	rules := NewRules()
	require.NoError(t, rules.Set([]Rule{
		{ID: 1, Media: "a", Endpoint: "*", Scope: ScopeApp, Period: time.Second, Limit: 100},
		{ID: 2, Media: "a", Endpoint: "*", Each: true, Scope: ScopeApp, Period: time.Second, Limit: 10},
		{ID: 3, Media: "a", Endpoint: "report/*", Each: true, Scope: ScopeApp, Period: time.Second, Limit: 5},
		{ID: 4, Media: "a", Endpoint: "report/hourly", Scope: ScopeApp, Period: time.Second, Limit: 20, Share: 0.5},
		{ID: 5, Media: "a", Endpoint: "report/*", Scope: ScopeAccount, Period: time.Minute, Limit: 60},
		{ID: 6, Media: "b", Endpoint: "*", Scope: ScopePlatform, Period: time.Hour, Limit: 1000},
	}))
	limits := func(c Call) map[Key]int {
		out := map[Key]int{}
		for _, k := range slices.Concat(keysOf(rules, c), Points(c)) {
			require.Equal(t, c.Media, k.Media)
			require.NotContains(t, out, k.ID(), "keys are unique")
			out[k.ID()] = k.Limit
		}
		return out
	}
	sec := func(endpoint string) Key {
		return Key{Media: "a", Endpoint: endpoint, Scope: ScopeApp, Subject: "1", Period: time.Second}
	}
	pauses := func(c Call, m map[Key]int) map[Key]int {
		m[Key{Media: c.Media, Scope: ScopePlatform}] = 0
		if c.App != "" {
			m[Key{Media: c.Media, Endpoint: c.Endpoint, Scope: ScopeApp, Subject: c.App}] = 0
		}
		if c.Account != "" {
			m[Key{Media: c.Media, Endpoint: c.Endpoint, Scope: ScopeAccount, Subject: c.Account}] = 0
		}
		return m
	}
	perMinute := Key{Media: "a", Endpoint: "report/*", Scope: ScopeAccount, Subject: "9", Period: time.Minute}
	for _, tt := range []struct {
		name string
		call Call
		want map[Key]int
	}{
		{"a default for each endpoint", Call{Media: "a", Endpoint: "list", App: "1", Account: "9"},
			map[Key]int{sec("*"): 100, sec("list"): 10}},
		{"a longer pattern replaces it", Call{Media: "a", Endpoint: "report/daily", App: "1", Account: "9"},
			map[Key]int{sec("*"): 100, sec("report/daily"): 5, perMinute: 60}},
		{"a name replaces both", Call{Media: "a", Endpoint: "report/hourly", App: "1", Account: "9"},
			map[Key]int{sec("*"): 100, sec("report/hourly"): 20, perMinute: 60}},
		{"no account, no limit per account", Call{Media: "a", Endpoint: "report/hourly", App: "1", Account: ""},
			map[Key]int{sec("*"): 100, sec("report/hourly"): 20}},
		{"no app, no limit per app", Call{Media: "a", Endpoint: "report/hourly", App: "", Account: "9"},
			map[Key]int{perMinute: 60}},
		{"a platform's limit covers what has neither", Call{Media: "b", Endpoint: "x", App: "", Account: ""},
			map[Key]int{{Media: "b", Endpoint: "*", Scope: ScopePlatform, Period: time.Hour}: 1000}},
		{"an unknown platform can only be paused", Call{Media: "c", Endpoint: "x", App: "1", Account: ""}, map[Key]int{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, pauses(tt.call, tt.want), limits(tt.call))
		})
	}
	for _, k := range keysOf(rules, Call{Media: "a", Endpoint: "report/hourly", App: "1"}) {
		switch k.Limit {
		case 20:
			require.InDelta(t, 0.5, k.Share, 0)
		case 100:
			require.InDelta(t, ShareDefault, k.Share, 0, "no share means the default")
		}
	}
}

func TestRules_SetKeepsTheLastGoodValueOfABadRow(t *testing.T) {
	t.Parallel()
	rules := NewRules()
	call := Call{Media: "a", Endpoint: "x", App: "1"}
	limits := func() (out []int) {
		for _, k := range keysOf(rules, call) {
			if k.Limit > 0 {
				out = append(out, k.Limit)
			}
		}
		return out
	}
	row := func(id int64, period time.Duration, limit int) Rule {
		return Rule{ID: id, Media: "a", Endpoint: "x", Scope: ScopeApp, Period: period, Limit: limit}
	}
	require.NoError(t, rules.Set([]Rule{row(1, time.Second, 10), row(2, time.Minute, 300)}))

	err := rules.Set([]Rule{row(1, 0, 10), row(2, time.Minute, 200), row(3, time.Hour, -1)})
	require.ElementsMatch(t, []int{10, 200}, limits(), "the bad row keeps its last value, the good one is applied")
	require.ErrorContains(t, err, "rate limit 1 (a x per app, every 0s)")
	require.ErrorContains(t, err, "rate limit 3 (a x per app, every 1h0m0s)")
	require.NotContains(t, err.Error(), "rate limit 2")
	bad, ok := errors.AsType[*RuleError](err)
	require.True(t, ok)
	require.EqualValues(t, 1, bad.Rule.ID)

	err = rules.Set([]Rule{row(1, time.Second, 10), row(4, time.Second, 99)})
	require.ErrorContains(t, err, "rate limit 4 (a x per app, every 1s): row 1 already has a limit for these calls")
	require.Equal(t, []int{10}, limits())

	require.NoError(t, rules.Set(nil))
	require.Empty(t, limits(), "deleted rows limit nothing")
}

func TestRules_CostAndCalendar(t *testing.T) {
	t.Parallel()
	rules := NewRules()
	require.NoError(t, rules.Set([]Rule{
		{Media: "a", Endpoint: "*", Scope: ScopeApp, Period: 24 * time.Hour, Limit: 100, Cost: 3, Calendar: "Asia/Shanghai"},
		{Media: "a", Endpoint: "*", Scope: ScopeApp, Period: time.Minute, Limit: 10, Calendar: "Asia/Shanghai"},
	}))
	at := time.Date(2026, 11, 23, 15, 59, 59, 0, time.UTC)
	before, _ := rules.Cover(Call{Media: "a", Endpoint: "x", App: "1"}, at)
	after, _ := rules.Cover(Call{Media: "a", Endpoint: "x", App: "1"}, at.Add(time.Second))
	require.Equal(t, []string{"2026-11-23", ""}, []string{before[0].Window, before[1].Window},
		"a window of a minute may slide")
	require.Equal(t, "2026-11-24", after[0].Window)
	require.Equal(t, 3, before[0].Cost)
	require.NotEqual(t, before[0].ID(), after[0].ID())
	require.Equal(t, before[0].AnyWindow(), after[0].AnyWindow())

	for change, want := range map[string]Rule{
		"cost 11 is not within":      {Limit: 10, Cost: 11, Period: time.Minute},
		"limits of accounts are not": {Limit: 10, LimitMax: 20, Scope: ScopeAccount, Period: time.Minute},
		"calls_max 9 is below calls": {Limit: 10, LimitMax: 9, Period: time.Minute},
		`"x=0" is not like`:          {Limit: 10, Costs: "y=2, x=0", Period: time.Minute},
		"11 is above calls":          {Limit: 10, Costs: "y=11", Period: time.Minute},
		`unit "bytes" is none of`:    {Limit: 10, Unit: "bytes", Period: time.Minute},
		"unit rows goes with":        {Limit: 10, Unit: UnitRows, Period: time.Hour},
		"penalty 25h0m0s is not":     {Limit: 10, Penalty: 25 * time.Hour, Period: time.Minute},
		`calendar zone "Mars" is`:    {Limit: 10, Calendar: "Mars", Period: time.Minute},
		"want a minute, an hour or":  {Limit: 10, Calendar: "UTC", Period: 2 * time.Minute},
		"want 0.95 or less, for cal": {Limit: 10, Calendar: "UTC", Period: time.Minute, Share: 1},
	} {
		want.Media, want.Endpoint, want.Scope = "a", "*", cmp.Or(want.Scope, ScopeApp)
		require.ErrorContains(t, want.Validate(), change)
	}
}

// Costs of calls of single endpoints, and one limit of rows for all endpoints whose calls match the same kind.
func TestRules_CostsAndRows(t *testing.T) {
	t.Parallel()
	rules := NewRules()
	rows := Rule{Media: "a", Endpoint: "*", Scope: ScopeApp, Period: 10 * time.Second, Limit: 40_000, Unit: UnitRows}
	require.NoError(t, rules.Set([]Rule{
		{Media: "a", Endpoint: "*", Scope: ScopeApp, Period: time.Minute, Limit: 100, Costs: "report/get=5, list/*=2"}, rows,
	}))
	cost := func(endpoint, kind string) (costs []int, names []string) {
		common, _ := rules.Cover(Call{Media: "a", Endpoint: endpoint, App: "1", Rows: kind}, time.Now())
		for _, x := range common {
			costs, names = append(costs, x.Cost), append(names, x.Endpoint)
		}
		return costs, names
	}
	costs, _ := cost("report/get/", "")
	require.Equal(t, []int{5}, costs)
	costs, _ = cost("list/ads", "")
	require.Equal(t, []int{2}, costs)
	costs, names := cost("x", "ads")
	require.ElementsMatch(t, []int{1, 0}, costs)
	require.ElementsMatch(t, []string{"*", "ads"}, names)
	more := rows
	more.Endpoint, more.ID = "report/*", 7
	require.ErrorContains(t, rules.Set([]Rule{rows, more}), "already has a limit for these calls")
}
