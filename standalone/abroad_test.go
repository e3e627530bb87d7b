package standalone

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/engine"
	"adsync/producer/overview"
	"adsync/simulator"
	"adsync/simulator/control"
	"adsync/standalone/verify"
)

// requireOwnDaysAndMoney checks that the rows of each account, abroad or not, have the account's own zone and
// currency.
func requireOwnDaysAndMoney(t *testing.T, dir string) {
	t.Helper()
	file := func(name string) sqldb.Database {
		return sqldb.Database{Driver: sqldb.SQLite, Writer: secret.NewText(filepath.Join(dir, name)), MaxOpenConns: 1}
	}
	s, err := store.Open(t.Context(), sqldb.Config{Config: file("config.db"), Data: file("data.db")},
		options("", nil).Logger)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for _, table := range []string{"report_daily", "report_hourly", "summary_daily", "summary_hourly"} {
		for currency, zone := range map[string]string{"CNY": "Asia/Shanghai", "USD": "America/Los_Angeles"} {
			var right, wrong int
			require.NoError(t,
				s.Data.Writer(t.Context()).Raw(
					"SELECT COUNT(CASE WHEN day_zone = ? THEN 1 END), COUNT(CASE WHEN day_zone <> ? THEN 1 END) FROM "+table+
						" WHERE currency = ?", zone, zone, currency).Row().Scan(&right, &wrong))
			require.Positive(t, right, "%s in %s", table, currency)
			require.Zero(t, wrong, "%s in %s", table, currency)
		}
	}
}

func TestWatcher_EveryAccountHasItsOwnToday(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC) // the 21st in China, the 20th in Los Angeles
	sim, err := simulator.New(simulator.Config{Accounts: ofEach(4), Seed: 5, USD: 2, Start: now, Frozen: true})
	require.NoError(t, err)
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, sim.Close())
	})
	s := storetest.New(t)
	box, err := secret.NewBox(secret.NewKey("k"))
	require.NoError(t, err)
	creds, err := askCredentials(t.Context(), server.URL)
	require.NoError(t, err)
	bound, isNew, err := bind(t.Context(), s, box, server.URL, creds)
	require.NoError(t, err)
	require.Equal(t, ofEach(4), bound)
	require.True(t, isNew)
	again, isNew, err := bind(t.Context(), s, box, server.URL, creds)
	require.NoError(t, err)
	require.Zero(t, again)
	require.False(t, isNew)

	var accounts []struct {
		ID              int64
		Media, Timezone string
	}
	require.NoError(t,
		s.Config.Writer(t.Context()).Raw("SELECT id, media, timezone FROM media_account").Scan(&accounts).Error)
	require.Len(t, accounts, ofEach(4))
	days, abroad := map[day.Day]int{}, 0
	pulled, err := s.Data.Now(t.Context())
	require.NoError(t, err)
	for _, a := range accounts {
		zone, err := time.LoadLocation(a.Timezone)
		require.NoError(t, err)
		today := day.Of(now, zone)
		if days[today]++; a.Timezone != "Asia/Shanghai" {
			abroad++
		}
		for _, d := range []day.Day{today.Add(-1), today} {
			at := pulled
			if d != today {
				at = pulled.Add(-3 * time.Hour)
			}
			require.NoError(t,
				s.Data.Writer(t.Context()).Exec(
					"INSERT INTO coverage (account_id, report, level, day, media, pulled_at, state, claimed_by, note)"+
						" VALUES (?, 'report_hourly', 'account', ?, ?, ?, 'complete', '', '')", a.ID, d, a.Media, sqldb.At(at)).Error)
		}
	}
	require.Positive(t, abroad)
	require.Equal(t, map[day.Day]int{"2026-11-20": abroad, "2026-11-21": ofEach(4) - abroad}, days)

	reader := overview.NewReader(overview.Options{Store: s, Platforms: engine.PlatformNames(),
		Clock: clock.NewScaled(now, 1, true)})
	every := func(string) bool { return true }
	w := &watcher{store: s, overview: reader.Read, truth: newTruth(http.DefaultClient, server.URL, every),
		simulator: control.Client{Address: server.URL}}
	status, err := w.read(t.Context())
	require.NoError(t, err)
	for _, m := range status.Media {
		require.Equal(t, 4, m.Fresh, m.Name)
		require.Zero(t, m.Late, m.Name)
		inCNY, err := verify.Spend(t.Context(), http.DefaultClient, server.URL, m.Name, "CNY", "2026-11-21")
		require.NoError(t, err)
		require.Equal(t, inCNY, m.Platform, "other currencies are not added to it")
	}
}
