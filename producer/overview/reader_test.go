package overview_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/config"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/ratelimit/grant"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/client"
	"adsync/producer"
	"adsync/producer/overview"
	"adsync/producer/overview/overviewtest"
)

// limits returns fixed states, pauses and an error.
type limits struct {
	states []grant.LimitState
	pauses []grant.PauseState
	err    error
}

func (l limits) State(_ context.Context, media string) ([]grant.LimitState, []grant.PauseState, error) {
	if media != "tulip" {
		return nil, nil, l.err
	}
	return l.states, l.pauses, l.err
}

func options(s *store.Store) overview.Options {
	return overview.Options{Store: s, Platforms: overviewtest.Platforms(), Clock: overviewtest.Clock{}}
}

func kinds(o overview.Overview) map[string]client.Attention {
	found := map[string]client.Attention{}
	for _, a := range o.Attention {
		found[a.Kind] = a
	}
	return found
}

func TestRead_ReportsWhatTheTablesHold(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	at := overviewtest.Fill(t, s)
	o := overview.NewReader(options(s)).Read(t.Context())
	require.Empty(t, o.Troubles)
	require.WithinDuration(t, at, o.At, time.Minute)
	require.Equal(t, overviewtest.Now, o.Business)
	require.Equal(t, overview.DayTotals, o.Theirs)

	require.Len(t, o.Media, 2)
	tulip, orchid := o.Media[0], o.Media[1]
	require.Equal(t, []int64{overviewtest.Fresh, overviewtest.Late, overviewtest.Frozen + overviewtest.Revoked +
		overviewtest.NoLogin, overviewtest.Quiet},
		[]int64{tulip.Fresh, tulip.Late, tulip.Parked, tulip.Quiet})
	require.Equal(t, tulip.Accounts, tulip.Pulled+tulip.Parked+tulip.Quiet, "each account is counted once")
	require.EqualValues(t, -1, tulip.OldestSeconds, "one was never pulled")
	require.Equal(t, []client.ParkedReason{{Reason: "login", Accounts: 3}, {Reason: "frozen", Accounts: 2},
		{Reason: "revoked", Accounts: 1}}, tulip.ParkedReasons)
	require.Equal(t, []int64{4, 0}, []int64{orchid.Fresh, orchid.Late})
	require.InDelta(t, 30, orchid.OldestSeconds, 30)

	require.Len(t, tulip.Spend, 1)
	require.Len(t, orchid.Spend, 2, "currencies are not added up")
	for _, m := range o.Media {
		for _, spend := range m.Spend {
			require.Equal(t, sumOf(t, s, m.Name, spend.Currency, spend.Zone), spend.Ours, "%s in %s", m.Name, spend.Currency)
		}
	}
	require.EqualValues(t, 38_000*overviewtest.Micros, tulip.Spend[0].Ours)
	require.EqualValues(t, 38_300*overviewtest.Micros, *tulip.Spend[0].Theirs)
	require.EqualValues(t, 18, tulip.Spend[0].Hour)
	require.EqualValues(t, 2900*overviewtest.Micros, tulip.Spend[0].Hours[18])
	require.Zero(t, tulip.Spend[0].Hours[19])
	require.EqualValues(t, 3300*overviewtest.Micros, tulip.Spend[0].Before[23])
	require.Nil(t, orchid.Spend[0].Theirs, "no total was pulled")
	require.EqualValues(t, 19*300*overviewtest.Micros, orchid.Spend[0].Unassigned)
	require.Equal(t, []any{"USD", "America/Los_Angeles", "2026-11-21", int64(2), int64(37_037_034)},
		[]any{orchid.Spend[1].Currency, orchid.Spend[1].Zone, orchid.Spend[1].Day, orchid.Spend[1].Hour,
			orchid.Spend[1].Ours})

	require.Len(t, o.Open, 3)
	require.EqualValues(t, -1, o.Open[0].Total, "the newest is being fanned out")
	require.Len(t, o.Ended, 3, "those of the platforms")
	require.Equal(t, []client.RunState{client.RunStateSucceeded, client.RunStatePartial, client.RunStateFailed},
		[]client.RunState{o.Ended[0].State, o.Ended[1].State, o.Ended[2].State})
	require.InDelta(t, 8./60, o.Ended[0].PerSecond, 0.01)
}

// sumOf returns today's spend in summary_hourly.
func sumOf(t *testing.T, s *store.Store, media, currency, zone string) (sum int64) {
	t.Helper()
	require.NoError(t,
		s.Data.Writer(t.Context()).Raw(
			"SELECT SUM(cost) FROM summary_hourly WHERE day = ? AND media = ? AND currency = ? AND day_zone = ?",
			overviewtest.Today, media, currency, zone).Row().Scan(&sum))
	return sum
}

func TestRead_NamesCauseAccountsMoneyAndRemedy(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	o := overview.NewReader(options(s)).Read(t.Context())
	found := kinds(o)
	for _, want := range []struct {
		kind     string
		severity string
		accounts int64
		money    []client.Money
		cause    string
		command  string
	}{
		{"login", overview.Bad, 3, cny(12 + 13 + 14),
			"The platform refuses the refresh token: code 11017, it was revoked by the owner.",
			"adsync bind tulip --app-id 1110000001 --redirect-uri https://HOST/oauth/tulip/callback --wait"},
		{"late", overview.Warn, 2, cny(7 + 8),
			"1 subtask waits to be tried again: Get hourly_reports/get: no answer within 20s.",
			"adsync subtasks due --state retrying --media tulip"},
		{"summary", overview.Bad, 2, cny(1 + 2), "Figures of 2026-11-21 were pulled and wait for system.summary.",
			"adsync tasks run system.summary --all --wait"},
		{"dead", overview.Bad, 2, cny(1 + 2), "Code 18006: field 'x' is refused.",
			`adsync dead redrive --media tulip --print 'code 18006: field '\''x'\'' is refused'`},
		{"suspect", overview.Warn, 1, []client.Money{{Currency: "USD", Micros: 1900 * overviewtest.Micros}},
			"The answer has no rows of a day that had spend.",
			"adsync tasks run orchid.report_daily.account --accounts ID --from 2026-11-20 --to 2026-11-20 --confirm"},
		{"unassigned", overview.Warn, 4, []client.Money{{Currency: "CNY", Micros: 5700 * overviewtest.Micros}},
			"The accounts have no binding that holds today.", "adsync bind account orchid/ID --game GAME --os OS"},
		{"difference", overview.Warn, 1, []client.Money{{Currency: "CNY", Micros: 2_500_000}},
			"What differs: cost, of 2026-11-20.", "adsync reconcile --media tulip"},
		{"retry", overview.Note, 1, cny(7), "Get hourly_reports/get: no answer within 20s.",
			"adsync subtasks due --state retrying --media tulip"},
	} {
		a, ok := found[want.kind]
		require.True(t, ok, want.kind)
		require.Equal(t, []any{want.severity, want.accounts, want.money, want.cause, want.command},
			[]any{a.Severity, a.Accounts, a.Money, a.Cause, a.Command}, want.kind)
		require.NotEmpty(t, a.Remedy, want.kind)
		require.NotEmpty(t, a.Examples, want.kind)
	}
	require.Equal(t, []string{"tulip/20000012", "tulip/20000013", "tulip/20000014"}, found["login"].Examples)
	parked := map[string]client.Attention{}
	for _, a := range o.Attention {
		if a.Kind == "parked" {
			parked[a.Title] = a
		}
	}
	require.Equal(t, cny(9+10), parked["The platform has closed accounts"].Money)
	require.Equal(t, "Code 35001, 账户已冻结.", parked["The platform has closed accounts"].Cause)
	require.Contains(t, parked["The login has lost its permission for accounts"].Remedy, "the next at 10:50:00 UTC")
	require.Contains(t, found["pause"].Remedy, "or when it is resumed")
	require.Equal(t,
		"In runs of tulip.adgroup.changes (1), tulip.creative.full (1): 6 subtasks failed. The newest error is: 2 of its "+
			"accounts have no login.", found["run"].Cause)
	require.Equal(t, overview.Bad, o.Attention[0].Severity, "the worst comes first")
	require.Equal(t, overview.Note, o.Attention[len(o.Attention)-1].Severity)
	require.NotContains(t, found, "leader")
}

// cny returns hundreds of CNY: account n spent n hundreds yesterday.
func cny(hundreds int64) []client.Money {
	return []client.Money{{Currency: "CNY", Micros: hundreds * 100 * overviewtest.Micros}}
}

func TestRead_ReportsTasksTheLeadLimitsAndChecks(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	options := options(s)
	options.Tasks = func() []producer.Task {
		return []producer.Task{
			{Task: task.Task{ID: 1, Name: "my.task", Media: "tulip"},
				Errors: []*config.FieldError{{Key: "cron", Value: "x", Want: "five fields"}}},
			{Usable: true, Task: task.Task{ID: 2, Name: "hours", Handler: "tulip.report_hourly", Enabled: true,
				Cron: "*/10 * * * *", Timezone: "UTC", Settings: task.Settings{Scope: "active",
					Params: []byte(`{"level":"account"}`)}}},
		}
	}
	until := overviewtest.Now.Add(time.Minute)
	options.Limits = limits{
		states: []grant.LimitState{
			{Key: grant.Key{Media: "tulip", Endpoint: "free", Period: time.Minute, Limit: 100, Share: 1}, Part: 1, Window: 5},
			{Key: grant.Key{Media: "tulip", Endpoint: "full", Scope: "app", Subject: "1", Period: time.Minute, Limit: 100,
				Share: 0.5}, Part: 1, Window: 48, Lanes: []grant.LaneState{{Wanted: 3}, {Wanted: 4}}},
		},
		pauses: []grant.PauseState{{Media: "tulip", Endpoint: "full", Until: until, Times: 4},
			{Media: "tulip", Endpoint: "over", Times: 1}},
	}
	options.Checks = func(context.Context) []httpapi.FailedCheck {
		return []httpapi.FailedCheck{{Name: "kafka", Reason: "no route to host"}}
	}
	o := overview.NewReader(options).Read(t.Context())
	require.Equal(t, []client.Trouble{{What: "kafka", Why: "no route to host"}}, o.Troubles)
	found := kinds(o)
	require.Equal(t, "Nothing is planned: no producer leads", found["leader"].Title)
	require.Contains(t, found["task"].Cause, "five fields")
	require.EqualValues(t, 2*10*60, o.Media[0].LateSeconds, "two ticks of the task")
	require.EqualValues(t, 2*2*60, o.Media[1].LateSeconds, "two ticks of the default task")
	require.Len(t, o.Limits, 2)
	full := o.Limits[0]
	require.Equal(t, []any{"full", int64(50), int64(48), int64(7)},
		[]any{full.Endpoint, full.Allowed, full.Window, full.Waiting}, "the fullest comes first")
	require.InDelta(t, 0.96, full.Full, 1e-9)
	require.Equal(t, []client.PauseOverview{{Media: "tulip", Endpoint: "full", Until: until, Times: 4}}, o.Pauses,
		"one that is over is left out")
	require.Contains(t, found["calls_paused"].Cause, "4 times")
	require.Contains(t, found["calls_paused"].Remedy, "lower share", "a pause that repeats needs an operator")

	options.Limits = limits{err: errors.New("redis: no answer")}
	o = overview.NewReader(options).Read(t.Context())
	require.Contains(t, o.Troubles, client.Trouble{What: "limits", Why: "redis: no answer"})
	require.False(t, o.At.IsZero(), "the tables are still read")
}

// A pause holds back the accounts of its app, or its account, or all.
func TestRead_NamesTheAccountsAndTheMoneyBehindAPause(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	var of struct{ AppID, ExternalID string }
	require.NoError(t, s.Config.Writer(t.Context()).Raw(
		"SELECT t.app_id, a.external_id FROM media_account a JOIN media_token t ON t.id = a.token_id"+
			" WHERE a.media = 'tulip' AND a.tier = 'active' AND a.parked = '' AND a.bound = 1 AND t.state = 'ok'"+
			" ORDER BY a.id LIMIT 1").Scan(&of).Error)
	options := options(s)
	until := overviewtest.Now.Add(time.Minute)
	options.Limits = limits{pauses: []grant.PauseState{
		{Media: "tulip", Endpoint: "all", Until: until, Times: 1},
		{Media: "tulip", Endpoint: "app", Scope: grant.ScopeApp, Subject: of.AppID, Until: until, Times: 1},
		{Media: "tulip", Endpoint: "other_app", Scope: grant.ScopeApp, Subject: of.AppID + "0", Until: until, Times: 1},
		{Media: "tulip", Endpoint: "account", Scope: grant.ScopeAccount, Subject: of.ExternalID, Until: until, Times: 1},
	}}
	o := overview.NewReader(options).Read(t.Context())
	accounts, money := map[string]int64{}, map[string]bool{}
	for _, a := range o.Attention {
		if a.Kind == "calls_paused" {
			endpoint := strings.Fields(a.Title)[3]
			accounts[endpoint], money[endpoint] = a.Accounts, len(a.Money) > 0
		}
	}
	pulled := o.Media[0].Pulled
	require.Greater(t, pulled, int64(1))
	require.Equal(t, map[string]int64{"all": pulled, "app": pulled, "other_app": 0, "account": 1}, accounts)
	require.True(t, money["all"] && money["app"] && !money["other_app"], money)
}

func TestRead_ReadsThePlatformsFiguresIfItCan(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	options := options(s)
	options.Theirs = func(_ context.Context, media, currency string, d day.Day) (int64, error) {
		require.Equal(t, overviewtest.Today, d)
		return int64(len(media + currency)), nil
	}
	o := overview.NewReader(options).Read(t.Context())
	require.Equal(t, overview.Ledger, o.Theirs)
	require.EqualValues(t, len("tulipCNY"), *o.Media[0].Spend[0].Theirs)
	require.EqualValues(t, len("orchidUSD"), *o.Media[1].Spend[1].Theirs)
}

func TestRead_ReportsThatTheTablesCannotBeRead(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	reader := overview.NewReader(options(s))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := reader.Read(ctx)
	require.True(t, o.At.IsZero())
	require.Len(t, o.Troubles, 1)
	require.Equal(t, "tables", o.Troubles[0].What)
}
