package watch_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/roster"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/client"
	"adsync/media"
	"adsync/media/mediatest/invented"
	"adsync/producer/overview"
	"adsync/producer/watch"
)

// now is 17:00:30 in Shanghai, and 01:00:30 in Los Angeles.
var now = time.Date(2026, 11, 21, 9, 0, 30, 0, time.UTC)

const today, yesterday = day.Day("2026-11-21"), day.Day("2026-11-20")

type stopped struct{}

func (stopped) Now() time.Time { return now }

func (stopped) Until(t time.Time) time.Duration { return t.Sub(now) }

type bench struct {
	*watch.Watch
	t        *testing.T
	store    *store.Store
	registry *prometheus.Registry
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, store: storetest.New(t), registry: prometheus.NewPedanticRegistry()}
	platforms := invented.Both()
	require.NoError(t, b.store.EnsureRawTables(t.Context(),
		slices.Concat(media.Tables(platforms[0]), media.Tables(platforms[1]))))
	var err error
	b.Watch, err = watch.New(watch.Options{Store: b.store, Platforms: platforms, Clock: stopped{}, Registerer: b.registry})
	require.NoError(t, err)
	return b
}

func (b *bench) exec(db *sqldb.DB, sql string, args ...any) {
	b.t.Helper()
	require.NoError(b.t, db.Writer(b.t.Context()).Exec(sql, args...).Error)
}

// told reads all metrics, by name and labels.
func (b *bench) exported() map[string]float64 {
	b.t.Helper()
	families, err := b.registry.Gather()
	require.NoError(b.t, err)
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetValue())
			}
			name := f.GetName() + " " + strings.Join(labels, " ")
			if h := m.Histogram; h != nil {
				all[name] = float64(h.GetSampleCount())
				for _, bucket := range h.Bucket {
					all[fmt.Sprint(name, " le ", bucket.GetUpperBound())] = float64(bucket.GetCumulativeCount())
				}
				continue
			}
			all[name] = m.Gauge.GetValue()
		}
	}
	return all
}

func (b *bench) pass(tasks ...task.Task) map[string]float64 {
	b.t.Helper()
	require.NoError(b.t, b.Pass(b.t.Context(), tasks))
	require.NoError(b.t, b.LookForHoles(b.t.Context()))
	return b.exported()
}

// summary adds a row of summary_hourly.
func (b *bench) summary(d day.Day, hour int, game, media, os, currency, zone string, cost any) {
	b.t.Helper()
	b.exec(b.store.Data,
		"INSERT INTO summary_hourly (day, hour, game, media, os, currency, day_zone, start_utc, cost, version, updated_at) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)",
		d, hour, game, media, os, currency, zone, sqldb.At(now), cost, sqldb.At(now))
}

func TestPass_TellsTodayBesideTheSameHoursOfYesterday(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const shanghai, losAngeles = "Asia/Shanghai", "America/Los_Angeles"
	b.summary(today, 3, "starfall", "tulip", "ios", "CNY", shanghai, 100)
	b.summary(today, 3, "starfall", "tulip", "android", "CNY", shanghai, 20)
	b.summary(today, 16, "starfall", "tulip", "ios", "CNY", shanghai, 3)
	b.summary(today, 17, "starfall", "tulip", "ios", "CNY", shanghai, 4)
	b.summary(today, 17, "starfall", "tulip", "ios", "USD", shanghai, 5000)
	b.summary(today, 5, "starfall", "orchid", "ios", "CNY", shanghai, nil)
	b.summary(yesterday, 16, "starfall", "tulip", "ios", "CNY", shanghai, 200)
	b.summary(yesterday, 17, "starfall", "tulip", "ios", "CNY", shanghai, 1000)
	b.summary(yesterday.Add(-1), 1, "starfall", "tulip", "ios", "CNY", shanghai, 9999)
	// Today began an hour ago there.
	b.summary(today, 0, "tinyfarm", "tulip", "ios", "USD", losAngeles, 7)
	b.summary(today, 1, "tinyfarm", "tulip", "ios", "USD", losAngeles, 8)
	b.summary(yesterday, 0, "tinyfarm", "tulip", "ios", "USD", losAngeles, 9)

	told := b.pass()
	for name, want := range map[string]float64{
		"adsync_spend_today_micros CNY Asia/Shanghai starfall tulip":                 127,
		"adsync_spend_today_hours_micros CNY Asia/Shanghai starfall tulip":           123,
		"adsync_spend_yesterday_micros CNY Asia/Shanghai starfall tulip":             1200,
		"adsync_spend_yesterday_hours_micros CNY Asia/Shanghai starfall tulip":       200,
		"adsync_spend_today_micros USD Asia/Shanghai starfall tulip":                 5000,
		"adsync_spend_today_micros CNY Asia/Shanghai starfall orchid":                0,
		"adsync_spend_today_micros USD America/Los_Angeles tinyfarm tulip":           15,
		"adsync_spend_today_hours_micros USD America/Los_Angeles tinyfarm tulip":     7,
		"adsync_spend_yesterday_hours_micros USD America/Los_Angeles tinyfarm tulip": 9,
		"adsync_spend_day_start_timestamp_seconds Asia/Shanghai": float64(time.Date(2026, 11, 20, 16, 0,
			0, 0, time.UTC).Unix()),
		"adsync_spend_day_start_timestamp_seconds America/Los_Angeles": float64(time.Date(2026, 11, 21, 8, 0, 0,
			0, time.UTC).Unix()),
	} {
		require.Contains(t, told, name)
		require.Equal(t, want, told[name], name)
	}

	b.Forget()
	require.Empty(t, b.exported(), "the new leader exports them")
}

func TestPass_NamesNoMoreGamesThanASeriesCanBear(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 203 {
		b.summary(today, 3, fmt.Sprintf("game%03d", i), "tulip", "ios", "CNY", "Asia/Shanghai", 1000-i)
	}
	told := b.pass()
	require.Contains(t, told, "adsync_spend_today_micros CNY Asia/Shanghai game199 tulip")
	require.NotContains(t, told, "adsync_spend_today_micros CNY Asia/Shanghai game200 tulip")
	require.Equal(t, 800.0+799+798, told["adsync_spend_today_micros CNY Asia/Shanghai (other) tulip"])
}

// account adds an account of tulip, in Shanghai unless its columns say otherwise.
func (b *bench) account(id int64, columns map[string]any) {
	b.t.Helper()
	b.exec(b.store.Config, "INSERT INTO media_account (id, media, external_id, token_id) VALUES (?, 'tulip', ?, 1)", id,
		fmt.Sprint("e", id))
	for column, value := range columns {
		b.exec(b.store.Config, "UPDATE media_account SET "+column+" = ? WHERE id = ?", value, id)
	}
}

// pulled notes a pull of an account's day so long ago, which was whole or not.
func (b *bench) pulled(account int64, report, level string, d day.Day, state results.CoverageState, ago,
	wholeAgo time.Duration) {
	b.t.Helper()
	at, err := b.store.Data.Now(b.t.Context())
	require.NoError(b.t, err)
	whole := int64(0)
	if wholeAgo > 0 {
		whole = at.Add(-wholeAgo).UnixMicro()
	}
	b.exec(b.store.Data,
		"INSERT INTO coverage (account_id, report, level, day, media, complete_version, pulled_at, state) VALUES (?, ?, ?, "+
			"?, 'tulip', ?, ?, ?)",
		account, report, level, d, whole, sqldb.At(at.Add(-ago)), string(state))
}

func (b *bench) spent(account int64, d day.Day, currency string, cost int64) {
	b.t.Helper()
	b.exec(b.store.Data,
		"INSERT INTO report_daily (day, account_id, level, object_id, media, currency, day_zone, cost, version, "+
			"updated_at) VALUES (?, ?, 'account', '', 'tulip', ?, 'Asia/Shanghai', ?, 1, ?)",
		d, account, currency, cost, sqldb.At(now))
}

func (b *bench) login(id int64, state string, refreshLeft time.Duration) {
	b.t.Helper()
	b.exec(b.store.Config,
		"INSERT INTO media_token (id, media, app_id, login, access_token, refresh_token, access_expires_at, "+
			"refresh_expires_at, state) VALUES (?, 'tulip', 'a', ?, '', '', ?, ?, ?)",
		id, fmt.Sprint(id), sqldb.At(now.Add(time.Hour)), sqldb.At(now.Add(refreshLeft)), state)
}

func TestPass_TellsWhatMustHaveBeenSpentAndWasNotPulled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.login(1, "ok", time.Hour)
	b.login(2, "reauthorise", time.Hour)
	const second = 1_000_000 // an account's spend in a second
	spends := func(id int64, currency string, lasted time.Duration, days ...day.Day) {
		for _, d := range days {
			b.spent(id, d, currency, int64(lasted.Seconds())*second/int64(len(days)))
		}
	}
	sinceYesterday := now.Sub(yesterday.Start(shanghai(t)))

	b.account(1, nil)
	b.pulled(1, "report_daily", "account", today, results.Complete, 10*time.Minute, 30*time.Minute)
	spends(1, "CNY", sinceYesterday-10*time.Minute, yesterday, today)
	b.account(2, nil) // its newest pull was not believed: the one before it counts
	b.pulled(2, "report_daily", "account", today, results.Suspect, time.Minute, time.Hour)
	spends(2, "CNY", sinceYesterday-time.Hour, yesterday, today)
	// today was never pulled, yesterday this morning: nothing is known since midnight
	b.account(3, map[string]any{"currency": "USD"})
	b.pulled(3, "report_daily", "account", yesterday, results.Complete, 8*time.Hour, 8*time.Hour)
	spends(3, "USD", 48*time.Hour, yesterday.Add(-1), yesterday)
	b.account(4, map[string]any{"token_id": 2})
	b.pulled(4, "report_daily", "account", today, results.Complete, 20*time.Minute, 20*time.Minute)
	spends(4, "CNY", sinceYesterday-20*time.Minute, yesterday, today)
	b.account(5, map[string]any{"parked": "revoked: by somebody"})
	b.pulled(5, "report_daily", "account", yesterday.Add(-2), results.Complete, 40*time.Hour, 40*time.Hour)
	spends(5, "CNY", 48*time.Hour, yesterday.Add(-3), yesterday.Add(-2))
	b.account(6, map[string]any{"parked": "ask Otto"})
	b.account(8, map[string]any{"token_id": 2, "tier": settings.TierInvalid, "tier_reason": "login"})
	b.account(9, map[string]any{"tier": settings.TierInvalid, "tier_reason": "parked"})
	b.account(7, map[string]any{"bound": 0})
	b.pulled(7, "report_daily", "account", today, results.Complete, time.Hour, time.Hour)
	spends(7, "CNY", time.Hour, today)

	told := b.pass()
	unpulled := map[string]float64{}
	for name, value := range told {
		if labels, ok := strings.CutPrefix(name, "adsync_unpulled_spend_micros "); ok {
			unpulled[labels] = value / second
		}
	}
	const slack = 120 // seconds that the test itself may take
	require.InDelta(t, 70*60, unpulled["late CNY tulip"], slack)
	require.InDelta(t, (17*time.Hour + 30*time.Second).Seconds(), unpulled["late USD tulip"], slack)
	require.InDelta(t, 20*60, unpulled["login CNY tulip"], slack)
	require.InDelta(t, (65*time.Hour + 30*time.Second).Seconds(), unpulled["revoked CNY tulip"], slack,
		"since the end of the last day that was pulled")
	require.Len(t, unpulled, 4, slices.Collect(maps.Keys(unpulled)))
	require.Equal(t, 1.0, told["adsync_coverage_days tulip suspect"])
	require.Equal(t, 3.0, told["adsync_accounts tulip none active"])
	require.Equal(t, 1.0, told["adsync_accounts tulip login active"],
		"its login waits for a person, though nobody has parked it yet")
	require.Equal(t, 1.0, told["adsync_accounts tulip login invalid"],
		"the hour's check has made it invalid, and its money is missed all the same")
	require.NotContains(t, told, "adsync_accounts tulip none invalid")
	require.Equal(t, 1.0, told["adsync_accounts tulip revoked active"])
	require.Equal(t, 1.0, told["adsync_accounts tulip operator active"])
}

func shanghai(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	return zone
}

func TestPass_FindsAccountsThatAreSilentThoughTheirAdsAreShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.login(1, "ok", time.Hour)
	hour := func(account int64, d day.Day, hour int, cost int64) {
		b.exec(b.store.Data,
			"INSERT INTO report_hourly (day, account_id, level, object_id, hour, media, currency, day_zone, cost, version, "+
				"updated_at)"+
				" VALUES (?, ?, 'account', '', ?, 'tulip', 'CNY', 'Asia/Shanghai', ?, 1, ?)", d, account, hour, cost, sqldb.At(now))
	}
	ad := func(account int64, id, status string, deleted any) {
		b.exec(b.store.Data,
			"INSERT INTO tulip_adgroup (account_id, object_id, status, row_json, last_seen_at, deleted_at, version) VALUES "+
				"(?, ?, ?, '{}', ?, ?, 1)",
			account, id, status, sqldb.At(now), deleted)
	}
	for id := int64(1); id <= 7; id++ {
		b.account(id, nil)
		b.pulled(id, "report_hourly", "account", today, results.Complete, 2*time.Minute, 2*time.Minute)
		hour(id, yesterday, 15, 500)
		ad(id, "1", "running", nil)
	}
	hour(2, today, 14, 1) // it spends
	b.exec(b.store.Data, "UPDATE tulip_adgroup SET status = 'paused' WHERE account_id = 3")
	b.exec(b.store.Data, "UPDATE tulip_adgroup SET deleted_at = last_seen_at WHERE account_id = 4")
	// it did not spend at this time yesterday either
	b.exec(b.store.Data, "UPDATE report_hourly SET hour = 13 WHERE account_id = 5")
	b.exec(b.store.Data, "UPDATE coverage SET pulled_at = '2020-01-01 00:00:00.000' WHERE account_id = 6")
	// nobody knows its hours of today
	b.exec(b.store.Data, "UPDATE coverage SET report = 'report_daily' WHERE account_id = 7")

	told := b.pass()
	require.Equal(t, 4.0, told["adsync_accounts_spending_before tulip"])
	require.Equal(t, 1.0, told["adsync_accounts_silent tulip"])
	hour(1, today, 16, 1)
	require.Zero(t, b.pass()["adsync_accounts_silent tulip"])
}

func TestPass_FindsBalancesThatDoNotLastADay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.login(1, "ok", time.Hour)
	balance := func(account int64, currency string, micros int64) {
		b.exec(b.store.Data,
			"INSERT INTO account_balance (account_id, fund, media, currency, balance, version, updated_at) VALUES (?, "+
				"'total', 'tulip', ?, ?, 1, ?), (?, 'cash', 'tulip', ?, 1, 1, ?)",
			account, currency, micros, sqldb.At(now), account, currency, sqldb.At(now))
	}
	for id := int64(1); id <= 4; id++ {
		b.account(id, nil)
		b.pulled(id, "report_daily", "account", today, results.Complete, time.Minute, time.Minute)
		b.spent(id, today, "CNY", 41_000_000) // in 41 hours
	}
	balance(1, "CNY", 23_000_000)
	balance(2, "CNY", 25_000_000)
	balance(3, "USD", 1) // not comparable
	told := b.pass()
	require.Equal(t, 1.0, told["adsync_accounts_balance_low tulip"])
	require.Equal(t, 48_000_000.0, told["adsync_balance_micros CNY tulip"])
	require.Equal(t, 1.0, told["adsync_balance_micros USD tulip"])
	b.exec(b.store.Data, "UPDATE account_balance SET balance = 50000000 WHERE account_id = 1")
	require.Zero(t, b.pass()["adsync_accounts_balance_low tulip"])
}

func TestPass_TellsTheFreshnessOfEachTaskAndTier(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.login(1, "ok", time.Hour)
	report := func(name, cron, scope, params string) task.Task {
		return task.Task{Name: name, Media: "tulip", Handler: "tulip.report_hourly", Cron: cron, Timezone: "Asia/Shanghai",
			Settings: task.Settings{Scope: scope, Params: []byte(params)}}
	}
	list := task.Task{Name: "ads", Media: "tulip", Handler: "tulip.adgroup", Cron: "*/10 * * * *", Timezone: "UTC",
		Settings: task.Settings{Scope: "active", Params: []byte(`{"mode":"changes"}`)}}
	other := task.Task{Name: "tokens", Media: "tulip", Handler: "tulip.token_refresh", Cron: "17 * * * *", Timezone: "UTC"}
	for id := int64(1); id <= 4; id++ {
		b.account(id, nil)
	}
	b.exec(b.store.Config, "UPDATE media_account SET tier = 'inactive' WHERE id = 3")
	b.exec(b.store.Config, "UPDATE media_account SET parked = 'frozen: closed' WHERE id = 4")
	b.pulled(1, "report_hourly", "account", today, results.Complete, 90*time.Second, 50*time.Minute)
	// Of account 2 today was not pulled.
	b.pulled(2, "report_hourly", "account", yesterday, results.Complete, 18*time.Hour, 18*time.Hour)
	b.pulled(3, "report_hourly", "account", yesterday, results.Partial, time.Hour, 15*time.Hour)
	b.pulled(1, "adgroup", "adgroup", day.Epoch, results.Complete, 200*time.Second, 20*time.Hour)

	told := b.pass(report("now", "*/2 * * * *", "active", `{"level":"account","moving_hours":3}`),
		report("day", "~ * * * *", "active", `{"level":"account","days":1}`),
		report("back", "40 1,8 * * *", "active,inactive", `{"level":"account","days":2}`),
		report("mature", "20 5 * * 1", "all", `{"level":"account","days":2,"skip":1}`), list, other)
	for name, want := range map[string]float64{
		"adsync_freshness_age_seconds tulip now active":             2,
		"adsync_freshness_age_seconds tulip now active le 300":      1, // its last hours
		"adsync_freshness_late_accounts tulip now active":           1,
		"adsync_freshness_age_seconds tulip day active le 1800":     0, // its whole day
		"adsync_freshness_age_seconds tulip day active le 3600":     1,
		"adsync_freshness_late_accounts tulip day active":           1,
		"adsync_freshness_age_seconds tulip back active":            2,
		"adsync_freshness_age_seconds tulip back inactive le 57600": 1, // when it was last whole
		"adsync_freshness_late_accounts tulip back inactive":        0,
		"adsync_freshness_age_seconds tulip ads active le 600":      1,
		"adsync_freshness_late_accounts tulip ads active":           1,
		"adsync_freshness_oldest_seconds tulip now active":          (17*time.Hour + 30*time.Second).Seconds(),
	} {
		require.Contains(t, told, name)
		require.Equal(t, want, told[name], name)
	}
	for name := range told {
		require.NotContains(t, name, "mature")
		require.NotContains(t, name, "tokens")
	}
}

func TestPass_TellsHowLoginsStand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.login(1, "ok", 20*24*time.Hour)
	b.login(2, "ok", 5*24*time.Hour)
	b.login(3, "reauthorise", time.Hour)
	b.login(4, "ok", time.Hour) // it reaches nothing that is pulled
	b.login(5, "ok", 0)
	b.exec(b.store.Config, "UPDATE media_token SET refresh_expires_at = '9999-12-31 00:00:00.000' WHERE id = 5")
	b.account(7, nil)
	b.account(8, map[string]any{"bound": 0})
	for _, login := range []int{1, 2, 3, 5} {
		b.exec(b.store.Config, "INSERT INTO account_login (account_id, token_id, seen_at) VALUES (7, ?, ?)", login,
			sqldb.At(now))
	}
	b.exec(b.store.Config, "INSERT INTO account_login (account_id, token_id, seen_at) VALUES (8, 4, ?)", sqldb.At(now))
	told := b.pass()
	require.Equal(t, 3.0, told["adsync_token_logins tulip ok"])
	require.Equal(t, 0.0, told["adsync_token_logins tulip reauthorise"])
	require.Equal(t, 1.0, told["adsync_token_logins tulip unneeded"], "the account is pulled with another login")
	b.exec(b.store.Config, "UPDATE media_account SET token_id = 3 WHERE id = 7")
	told = b.pass()
	require.Equal(t, 1.0, told["adsync_token_logins tulip reauthorise"])
	require.Equal(t, 0.0, told["adsync_token_logins tulip unneeded"])
	require.Equal(t, (5 * 24 * time.Hour).Seconds(), told["adsync_token_refresh_left_seconds tulip"])
	require.Zero(t, told["adsync_token_logins orchid ok"])
	require.NotContains(t, told, "adsync_token_refresh_left_seconds orchid")
}

func TestPass_TellsOfFieldsThatNobodyHasDecidedAbout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Zero(t, b.pass()["adsync_report_fields_retired tulip"])
	for _, level := range []string{"account", "adgroup"} {
		_, err := b.store.RetireReportField(t.Context(),
			settings.ReportField{Media: invented.Tulip, Report: "report_daily", Level: level, Field: "signups"})
		require.NoError(t, err)
	}
	told := b.pass()
	require.Equal(t, 2.0, told["adsync_report_fields_retired tulip"])
	require.Zero(t, told["adsync_report_fields_retired orchid"])
	require.NoError(t, b.store.PutReportField(t.Context(), "otto",
		settings.ReportField{Media: invented.Tulip, Field: "signups", State: settings.FieldAsked}))
	require.Zero(t, b.pass()["adsync_report_fields_retired tulip"], "it is back for all reports")
}

func TestPass_TellsOfSummariesThatAreBehindAndOfHoles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(b.store.Config,
		"INSERT INTO cron_task (name, media, handler, cron, params) VALUES ('back', 'tulip', 'tulip.report_daily', '40 1 * "+
			"* *', '{\"level\":\"account\",\"days\":3}')")
	b.account(1, nil)
	b.exec(b.store.Config, "UPDATE media_account SET initialised_at = '2026-01-01 00:00:00.000'")
	told := b.pass()
	require.Zero(t, told["adsync_summary_oldest_change_seconds tulip"])
	require.Equal(t, 2.0, told["adsync_holes account tulip report_daily"], "yesterday and the day before")
	require.Contains(t, told, "adsync_holes adgroup tulip report_daily")

	b.pulled(1, "report_daily", "account", today, results.Complete, time.Minute, time.Minute)
	at, err := b.store.Data.Now(t.Context())
	require.NoError(t, err)
	b.exec(b.store.Data, "UPDATE coverage SET dirty = ?", at.Add(-20*time.Minute).UnixMicro())
	require.InDelta(t, 20*60, b.pass()["adsync_summary_oldest_change_seconds tulip"], 120)
	require.Zero(t, b.exported()["adsync_summary_oldest_change_seconds orchid"])

	b.exec(b.store.Config, "UPDATE media_account SET bound = 0")
	require.NoError(t, b.Pass(t.Context(), nil))
	require.Equal(t, 2.0, b.exported()["adsync_holes account tulip report_daily"], "holes have a pace of their own")
	require.Zero(t, b.pass()["adsync_holes account tulip report_daily"])
}

func TestPass_TellsWhatTheFirstPageSays(t *testing.T) {
	t.Parallel()
	var shown overview.Overview
	b := &bench{t: t, store: storetest.New(t), registry: prometheus.NewPedanticRegistry()}
	platforms := []media.Platform{invented.New()}
	require.NoError(t, b.store.EnsureRawTables(t.Context(), media.Tables(platforms[0])))
	var err error
	b.Watch, err = watch.New(watch.Options{
		Store: b.store, Platforms: platforms, Clock: stopped{}, Registerer: b.registry,
		Overview: func(context.Context) overview.Overview { return shown },
	})
	require.NoError(t, err)
	require.ErrorContains(t, b.Pass(t.Context(), nil), "the first page has not been read yet")

	shown = overview.Overview{Overview: client.Overview{At: now, Attention: []client.Attention{
		{Kind: "dead", Severity: overview.Bad, Media: "tulip"},
		{Kind: "dead", Severity: overview.Bad, Media: "tulip"},
		{Kind: "leader", Severity: overview.Bad},
	}}, Stakes: []overview.Stake{
		{Kind: "dead", Media: "tulip", Accounts: 5, Money: []client.Money{{Currency: "CNY", Micros: 5},
			{Currency: "USD", Micros: 7}}}, {Kind: "leader"},
	}}
	told := b.pass()
	for name, want := range map[string]float64{
		"adsync_attention_items dead tulip bad":  2,
		"adsync_attention_accounts dead tulip":   5,
		"adsync_attention_micros CNY dead tulip": 5,
		"adsync_attention_micros USD dead tulip": 7,
		"adsync_attention_items leader  bad":     1,
		"adsync_attention_accounts leader ":      0,
	} {
		require.Contains(t, told, name)
		require.Equal(t, want, told[name], name)
	}

	shown.Troubles = []client.Trouble{{What: overview.Tables, Why: "gone"}}
	require.ErrorContains(t, b.Pass(t.Context(), nil), "gone", "what is shown is old")
}

type consumers []roster.Process

func (c consumers) List(context.Context) ([]roster.Process, error) { return c, nil }

func TestPass_TellsWhichWorkNobodyDoes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	alive := consumers{{Pools: []roster.Pool{{Media: "tulip", Lane: "normal"}}, Kinds: []string{"system.wide", "tulip.a"}}}
	b.Consumers = alive
	of := func(handler, media, lane string) task.Task {
		return task.Task{Name: handler, Handler: handler, Media: media, Settings: task.Settings{Lane: lane}}
	}
	told := b.pass(of("tulip.a", "tulip", "normal"), of("tulip.b", "tulip", "normal"), of("tulip.b", "tulip", "normal"),
		of("system.wide", "system", "normal"))
	require.Equal(t, 2.0, told["adsync_tasks_unserved tulip.b normal tulip"])
	require.Equal(t, 1.0, told["adsync_tasks_unserved system.wide normal system"], "its lane is read by nobody")
	require.Contains(t, told, "adsync_tasks_unserved tulip.a normal tulip")
	require.Zero(t, told["adsync_tasks_unserved tulip.a normal tulip"])
	alive[0].Pools = append(alive[0].Pools, roster.Pool{Media: "system", Lane: "normal"})
	alive[0].Kinds = nil
	told = b.pass(of("tulip.b", "tulip", "normal"), of("system.wide", "system", "normal"))
	for _, name := range []string{"adsync_tasks_unserved tulip.b normal tulip",
		"adsync_tasks_unserved system.wide normal system"} {
		require.Contains(t, told, name)
		require.Zero(t, told[name], name)
	}
	require.NotContains(t, told, "adsync_tasks_unserved tulip.a normal tulip")
}
