// Package overviewtest fills a store with rows from which tests know the overview that must result.
package overviewtest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/task"
)

// Now is the time of the business clock: half past six in the evening in Shanghai, half past two in the morning in Los
// Angeles. Days, planned times and the ids of runs follow it. Times that the store takes from its database count back
// from the time that Fill returns.
var Now = time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)

// Today is the day of Now in both zones.
const Today = day.Day("2026-11-21")

// Clock stands still at Now.
type Clock struct{ clock.System }

// Now implements clock.Clock.
func (Clock) Now() time.Time { return Now }

// Platforms returns the platforms of the rows.
func Platforms() []string { return []string{"tulip", "orchid"} }

// LongName is the name of every account. It is wider than any column of the page.
const LongName = "超长的投放计划名称-2026年双十一大促-全渠道-安卓与苹果-素材组A17-自动出价-深度转化-付费ROI-华东华南华北"

// How many accounts of tulip are in each state.
const (
	Fresh   = 6
	Late    = 2 // one of them was never pulled
	Frozen  = 2
	Revoked = 1
	NoLogin = 3 // parked: their login must be authorised again
	Quiet   = 1 // of the tier inactive
)

// Micros is one unit of a currency, in the millionths that the tables hold.
const Micros = 1_000_000

// Fill writes the rows into an empty store and returns the database's time, from which pulled_at, created_at, ended_at
// and updated_at count back.
func Fill(t testing.TB, s *store.Store) time.Time {
	t.Helper()
	at, err := s.Data.Now(t.Context())
	require.NoError(t, err)
	f := filler{TB: t, s: s, at: at}
	f.accounts()
	f.spend()
	f.runs()
	f.troubles()
	return at
}

type filler struct {
	testing.TB

	s  *store.Store
	at time.Time
}

func (f *filler) config(statement string, args ...any) {
	f.Helper()
	require.NoError(f, f.s.Config.Writer(f.Context()).Exec(statement, args...).Error, statement)
}

func (f *filler) data(statement string, args ...any) {
	f.Helper()
	require.NoError(f, f.s.Data.Writer(f.Context()).Exec(statement, args...).Error, statement)
}

func (f *filler) ago(d time.Duration) sqldb.Time { return sqldb.At(f.at.Add(-d)) }

func (f *filler) accounts() {
	f.data("DELETE FROM leader")
	f.data("INSERT INTO leader (id, epoch, holder, expires_at) VALUES (1, 7, 'producer-a-1', ?)", f.ago(-time.Hour))
	for _, login := range []struct {
		id                         int64
		media, name, state, reason string
	}{
		{1, "tulip", "agency-north", settings.TokenOK, ""},
		{2, "tulip", "agency-south", "reauthorise",
			"the platform refuses the refresh token: code 11017, it was revoked by the owner"},
		{3, "orchid", "agency-north", settings.TokenOK, ""},
	} {
		f.config(
			"INSERT INTO media_token (id, media, app_id, login, access_token, refresh_token, access_expires_at, "+
				"refresh_expires_at, state, state_reason)"+
				" VALUES (?, ?, '1110000001', ?, 'a', 'r', ?, ?, ?, ?)", login.id, login.media, login.name,
			sqldb.At(Now.Add(24*time.Hour)), sqldb.At(Now.Add(90*24*time.Hour)), login.state, login.reason)
	}
	id := int64(0)
	add := func(media string, token int64, n int, tier, parked, zone, currency string, then func(id int64)) {
		for range n {
			id++
			var until any
			if strings.HasPrefix(parked, "frozen") || strings.HasPrefix(parked, "revoked") {
				until = sqldb.At(Now.Add(20 * time.Minute))
			}
			f.config(
				"INSERT INTO media_account (id, media, external_id, name, token_id, tier, timezone, currency, parked, "+
					"parked_since, parked_until, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				id, media, 20_000_000+id, LongName, token, tier, zone, currency, parked, sqldb.At(Now.Add(-26*time.Hour)), until,
				f.ago(24*time.Hour))
			f.data(
				"INSERT INTO report_daily (day, account_id, level, object_id, media, currency, day_zone, cost, version, "+
					"updated_at) VALUES (?, ?, 'account', '', ?, ?, ?, ?, 1, ?)",
				Today.Add(-1), id, media, currency, zone, id*100*Micros, f.ago(0))
			if zone == "Asia/Shanghai" && media == "tulip" {
				f.data(
					"INSERT INTO binding_applied (account_id, from_day, to_day, game, os) VALUES (?, '2026-01-01', '9999-12-31', "+
						"'starfall', 'ios')", id)
			}
			if then != nil {
				then(id)
			}
		}
	}
	const china, america = "Asia/Shanghai", "America/Los_Angeles"
	pulled := func(media, state string, d day.Day, ago time.Duration) func(int64) {
		return func(id int64) {
			f.data(
				"INSERT INTO coverage (account_id, report, level, day, media, pulled_at, state, claimed_by, note) VALUES (?, "+
					"'report_hourly', 'account', ?, ?, ?, ?, '', '')", id, d, media, f.ago(ago), state)
		}
	}
	add("tulip", 1, Fresh, settings.TierActive, "", china, "CNY", pulled("tulip", "complete", Today, time.Minute))
	add("tulip", 1, Late-1, settings.TierActive, "", china, "CNY", pulled("tulip", "complete", Today, 40*time.Minute))
	add("tulip", 1, 1, settings.TierActive, "", china, "CNY", nil)
	add("tulip", 1, Frozen, settings.TierInvalid, "frozen: code 35001, 账户已冻结", china, "CNY", nil)
	add("tulip", 1, Revoked, settings.TierInvalid, "revoked: code 35016, the login has no permission for the account",
		china, "CNY", nil)
	add("tulip", 2, NoLogin, settings.TierActive, settings.ParkedLogin, china, "CNY", nil)
	add("tulip", 1, Quiet, settings.TierInactive, "", china, "CNY", nil)
	fresh := pulled("orchid", "complete", Today, 30*time.Second)
	add("orchid", 3, 3, settings.TierActive, "", china, "CNY", fresh)
	add("orchid", 3, 1, settings.TierActive, "", america, "USD", func(id int64) {
		fresh(id)
		f.data(
			"INSERT INTO coverage (account_id, report, level, day, media, pulled_at, state, claimed_by, note) VALUES (?, "+
				"'report_daily', 'account', ?, 'orchid', ?, 'suspect', '',"+
				" 'the answer has no rows of a day that had spend')", id, Today.Add(-1), f.ago(time.Hour))
	})
}

func (f *filler) spend() {
	hour := func(d day.Day, h int, game, media, currency, zone string, cost int64) {
		f.data(
			"INSERT INTO summary_hourly (day, hour, game, media, os, currency, day_zone, start_utc, cost, version, "+
				"updated_at) VALUES (?, ?, ?, ?, 'ios', ?, ?, ?, ?, 1, ?)",
			d, h, game, media, currency, zone, sqldb.At(Now), cost, f.ago(0))
	}
	for h := range 24 {
		hour(Today.Add(-1), h, "starfall", "tulip", "CNY", "Asia/Shanghai", int64(1000+100*h)*Micros)
		hour(Today.Add(-1), h, "starfall", "orchid", "CNY", "Asia/Shanghai", int64(500+20*((h*7)%24))*Micros)
		if h <= 18 {
			hour(Today, h, "starfall", "tulip", "CNY", "Asia/Shanghai", int64(1100+100*h)*Micros)
			hour(Today, h, "unassigned", "orchid", "CNY", "Asia/Shanghai", 300*Micros)
			hour(Today, h, "starfall", "orchid", "CNY", "Asia/Shanghai", int64(200+20*((h*5)%24))*Micros)
		}
		if h <= 2 {
			hour(Today, h, "starfall", "orchid", "USD", "America/Los_Angeles", 12_345_678)
		}
	}
	// The platforms' daily totals: tulip's is a little higher than the sum of its hours, as if an hour that is over had
	// lacked some spend. orchid's in USD is the sum.
	f.data(
		"INSERT INTO summary_daily (day, game, media, os, currency, day_zone, cost, version, updated_at) VALUES (?, "+
			"'starfall', 'tulip', 'ios', 'CNY', 'Asia/Shanghai', ?, 1, ?)", Today, int64(38_300*Micros), f.ago(0))
	f.data(
		"INSERT INTO summary_daily (day, game, media, os, currency, day_zone, cost, version, updated_at) VALUES (?, "+
			"'starfall', 'orchid', 'ios', 'USD', 'America/Los_Angeles', ?, 1, ?)", Today, int64(37_037_034), f.ago(0))
}

func (f *filler) runs() {
	run := func(ago time.Duration, name, state string, total any, succeeded, failed int64, ended any, text string) {
		media, _, _ := strings.Cut(name, ".")
		f.data(
			"INSERT INTO run (id, task_id, task_name, media, handler, lane, task_revision, settings, kind, planned_at, state, "+
				"epoch, total, succeeded, failed, error_text, created_at, ended_at)"+
				" VALUES (?, 1, ?, ?, ?, 'important', 1, '{}', 'cron', ?, ?, 1, ?, ?, ?, ?, ?, ?)",
			task.NewRunID(Now.Add(-ago)), name, media, name, sqldb.At(Now.Add(-ago)), state, total, succeeded, failed, text,
			f.ago(ago), ended)
	}
	run(30*time.Second, "tulip.report_hourly.account", "running", 8, 5, 0, nil, "")
	run(20*time.Second, "orchid.adgroup.changes", "fanning_out", nil, 3, 0, nil, "")
	run(4*time.Minute, "orchid.report_daily.material."+strings.Repeat("a_very_long_suffix.", 2)+"look_back", "running",
		12_840, 3_123, 12, nil, "")
	run(3*time.Minute, "tulip.report_hourly.account", "succeeded", 8, 8, 0, f.ago(2*time.Minute), "")
	run(12*time.Minute, "tulip.adgroup.changes", "partial", 8, 6, 2, f.ago(11*time.Minute), "")
	run(15*time.Minute, "tulip.creative.full", "failed", 4, 0, 4, f.ago(14*time.Minute), "2 of its accounts have no login")
	run(time.Minute, "system.summary", "succeeded", 1, 1, 0, f.ago(50*time.Second), "")
}

func (f *filler) troubles() {
	// The summaries of accounts 1 and 2 are overdue. Those of account 3 have only just become outdated.
	f.data("UPDATE coverage SET dirty = ? WHERE account_id IN (1, 2) AND report = 'report_hourly'",
		f.at.Add(-12*time.Minute).UnixMicro())
	f.data("UPDATE coverage SET dirty = ? WHERE account_id = 3 AND report = 'report_hourly'", f.at.UnixMicro())
	for account := int64(1); account <= 2; account++ {
		f.data(
			"INSERT INTO subtask_dead (run_id, account_id, part, task_id, media, attempt, error_class, error_print, "+
				"error_text, dead_at) VALUES (?, ?, '2026-11-21', 5, 'tulip', 5, 'invalid', ?, ?, ?)",
			task.FirstRunIDAt(Now), account, "code 18006: field 'x' is refused", "code 18006: field 'x' is refused",
			f.ago(11*time.Minute))
	}
	f.data(
		"INSERT INTO subtask_due (run_id, account_id, part, state, media, lane, due_at, delivery, attempt, reason) VALUES "+
			"(?, 7, '2026-11-21', 'retrying', 'tulip', 'important', ?, 2, 1, ?)",
		task.FirstRunIDAt(Now), f.ago(-30*time.Second), "get hourly_reports/get: no answer within 20s")
	f.data(
		"INSERT INTO reconciliation (account_id, day, level, metric, media, account_value, sum_value, first_seen_at, "+
			"last_seen_at, pulled_again_run_id, confirmed_at, state)"+
			" VALUES (1, ?, 'adgroup', 'cost', 'tulip', ?, ?, ?, ?, 5, ?, 'open')", Today.Add(-1), int64(100*Micros),
		int64(97_500_000), f.ago(9*time.Hour), f.ago(time.Hour), f.ago(time.Hour))
	f.data(
		"INSERT INTO stop_order (id, verb, kind, target, target_name, reason, ordered_by, ordered_at, until_at, state) "+
			"VALUES (?, 'pause', 'task', '9', 'orchid.creative.full', 'maintenance', 'otto', ?, ?, 'active')",
		task.FirstRunIDAt(Now), f.ago(time.Hour), f.ago(-2*time.Hour))
}
