package platforms_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/ratelimit/grant"
	"adsync/base/task"
	"adsync/engine"
	"adsync/media"
	"adsync/media/mediatest"
	"adsync/media/pull"
	"adsync/simulator"
	"adsync/test/platforms/simclient"
)

var pacific = must(time.LoadLocation("America/Los_Angeles"))

// abroad is an account in a zone and currency, in a world whose time stands still.
type abroad struct {
	t        *testing.T
	platform media.Platform
	server   *mediatest.Server
	process  simclient.Process
	now      time.Time
	handlers *media.Registry
	account  simclient.OneAccount
}

func newAbroad(t *testing.T, platform media.Platform, now time.Time, currency string) *abroad {
	t.Helper()
	server := simclient.ServeWorld(simulator.Config{Accounts: simclient.OfEach(12), Seed: 7, USD: 4, Start: now},
		platform.Name())(t)
	facts := map[string]simclient.Fact{}
	for _, f := range simclient.Of(t, platform.Name(), server).Truth(t, url.Values{"kind": {"account"}}) {
		facts[f.Account] = f
	}
	zone, external := zoneOf(t, facts, currency), ""
	yesterday := day.Of(now, zone).Add(-1)
	for _, id := range slices.Backward(server.Accounts) { // the smallest that is shown most of the day
		hours := server.Rows(t, "report_hourly", "account", id, yesterday, yesterday)
		if facts[id].Currency == currency && len(hours) >= 12 {
			external = id
			break
		}
	}
	require.NotEmpty(t, external)
	a := &abroad{t: t, platform: platform, server: server, process: simclient.Start(t, platform, server), now: now}
	require.NoError(t, a.process.Rules.Set([]grant.Rule{}))
	require.NoError(t, a.process.AnyCall(t, platform)) // The client learns the platform's time from its answers.
	a.account = simclient.OneAccount{ID: 1, Media: platform.Name(), ExternalID: external,
		Name: server.Names[external], TokenID: a.process.Login, Zone: zone, Currency: currency}
	a.handlers = media.NewRegistry(pull.Handlers(platform, pull.Deps{
		Store: a.process.Store, Accounts: a.account, Caller: a.process.Client, Clock: clock.NewScaled(now, 1, true),
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})...)
	return a
}

// zoneOf returns the zone of the accounts in a currency. It skips the test of a platform that has none.
func zoneOf(t *testing.T, facts map[string]simclient.Fact, currency string) *time.Location {
	t.Helper()
	for _, f := range facts {
		if f.Currency == currency {
			return must(time.LoadLocation(f.Zone))
		}
	}
	t.Skip("the platform has no account in " + currency)
	return nil
}

// pull runs the handler for all parts of a tick.
func (a *abroad) pull(what, params string) {
	a.t.Helper()
	handler, ok := a.handlers.Get(a.platform.Name() + "." + what)
	require.True(a.t, ok)
	parts, err := handler.Parts(media.Plan{PlannedAt: a.now, Zone: a.account.Zone, Params: json.RawMessage(params)})
	require.NoError(a.t, err)
	for _, part := range parts {
		_, err := handler.Run(a.t.Context(), media.Work{Key: task.Key{RunID: 1, AccountID: 1, Part: part}, PlannedAt: a.now,
			Params: json.RawMessage(params)})
		require.NoError(a.t, err, part)
	}
}

// costs returns the costs of the rows of a public table. Each row must be in the account's currency and zone.
func (a *abroad) costs(table, level string) map[string]int64 {
	a.t.Helper()
	hour := "0"
	if table == "report_hourly" {
		hour = "hour"
	}
	var rows []struct {
		Day               day.Day
		Hour              int
		ObjectID          string
		Cost              int64
		Currency, DayZone string
	}
	err := a.process.Store.Data.Writer(a.t.Context()).Raw("SELECT day, "+hour+
		" AS hour, object_id, cost, currency, day_zone FROM "+table+" WHERE level = ?", level).Scan(&rows).Error
	require.NoError(a.t, err)
	costs := map[string]int64{}
	for _, r := range rows {
		require.Equal(a.t, a.account.Currency, r.Currency)
		require.Equal(a.t, a.account.Zone.String(), r.DayZone)
		costs[fmt.Sprint(r.Day, " ", r.Hour, " ", r.ObjectID)] = r.Cost
	}
	return costs
}

// Days follow the account's own zone, also days of 23 and 25 hours, and money is in its own currency. A platform whose
// documents know only China's days and money has accounts in CNY alone.
func TestAbroad_EveryDayIsPulledCorrectly(t *testing.T) {
	t.Parallel()
	for name, now := range map[string]time.Time{
		"a day of 23 hours": time.Date(2026, 3, 8, 20, 34, 56, 0, pacific), // noon of the 9th in China
		"a day of 25 hours": time.Date(2026, 11, 1, 20, 34, 56, 0, pacific),
	} {
		for _, platform := range engine.Platforms() {
			for currency, zone := range map[string]string{"CNY": "Asia/Shanghai", "USD": "America/Los_Angeles",
				"JPY": "Asia/Tokyo", "KWD": "Etc/GMT"} {
				t.Run(name+" in "+zone+" on "+platform.Name(), func(t *testing.T) {
					t.Parallel()
					a := newAbroad(t, platform, now, currency)
					require.Equal(t, zone, a.account.Zone.String())
					a.requireTrue(day.Of(now, a.account.Zone))
				})
			}
		}
	}
}

// requireTrue pulls the reports and the cash flow, and compares them with the truth.
func (a *abroad) requireTrue(today day.Day) {
	a.t.Helper()
	for _, report := range []string{"report_daily", "report_hourly"} {
		for _, level := range []string{"account", "adgroup", "creative"} {
			a.pull(report, fmt.Sprintf(`{"level":%q,"days":2}`, level))
			want := map[string]int64{}
			for _, r := range a.server.Rows(a.t, report, level, a.account.ExternalID, today.Add(-1), today.Add(1)) {
				want[fmt.Sprint(r.Day, " ", r.Hour, " ", r.Object)] = r.Metrics["cost"]
			}
			require.NotEmpty(a.t, want)
			require.Equal(a.t, want, a.costs(report, level), "%s by %s", report, level)
		}
	}
	if a.platform.Funds().Daily.Page == nil {
		return
	}
	a.pull(media.FundDailyName, `{"days":3}`)
	var days []day.Day
	require.NoError(a.t, a.process.Store.Data.Writer(a.t.Context()).Raw(
		"SELECT day FROM fund_daily WHERE fund = 'total' AND currency = ? ORDER BY day",
		a.account.Currency).Scan(&days).Error)
	require.Equal(a.t, []day.Day{today.Add(-3), today.Add(-2), today.Add(-1)}, days,
		"the day that is over in China is not over in Los Angeles")
	for _, flow := range a.server.Flow(a.t, a.account.ExternalID, days[0], days[2]) {
		for _, f := range flow.Funds {
			var paid *int64
			require.NoError(a.t, a.process.Store.Data.Writer(a.t.Context()).Raw(
				"SELECT paid FROM fund_daily WHERE fund = ? AND day = ?", f.Kind, flow.Day).Row().Scan(&paid))
			require.Equal(a.t, f.Values[fund.Paid], fund.Of(*paid), "%s %s", flow.Day, f.Kind)
		}
	}
}
