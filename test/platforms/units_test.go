package platforms_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/metric"
	"adsync/base/store/results"
	"adsync/base/task"
	"adsync/engine"
	"adsync/media"
	"adsync/media/pull"
	"adsync/upkeep"
)

// misreading is a platform's package that reads the money of one level in a wrong unit.
type misreading struct {
	media.Platform
	level         string
	times, divide int64
}

// Reports implements media.Platform.
func (m misreading) Reports() []media.Report {
	reports := m.Platform.Reports()
	for i, r := range reports {
		reports[i].AccountsMax = 0 // A query of several accounts waits for others.
		if r.Level != m.level {
			continue
		}
		reports[i].HasSums = false
		reports[i].Page = func(ctx context.Context, api media.API, q media.ReportQuery, token string) (media.Page, error) {
			page, err := r.Page(ctx, api, q, token)
			page.Sums = nil // They would be in the same unit.
			for i := range page.Rows {
				for at, of := range metric.All {
					if value, set := page.Rows[i].Metrics.Get(at); set && of.Unit == metric.Micros {
						page.Rows[i].Metrics.Set(at, value*m.times/m.divide)
					}
				}
			}
			return page, err
		}
	}
	return reports
}

// A level whose money is read in a unit that is off by 100 or 1,000 contradicts the account's. An answer of a level
// that need not have all spend is believed, any other only when a person confirms it. The comparison of levels then
// records the difference. The truth and the golden samples find a unit that is wrong at all levels alike.
func TestCases_AWrongUnitAtOneLevelIsFound(t *testing.T) {
	t.Parallel()
	eachTrapped(t, func(t *testing.T, x *trapped) {
		t.Helper()
		_, err := x.Store.SeedTasks(t.Context(), engine.DefaultTasks([]media.Platform{x.Platform}))
		require.NoError(t, err)
		account, err := x.Account(t.Context(), 2)
		require.NoError(t, err)
		require.NoError(t, x.Store.Config.Writer(t.Context()).Exec("INSERT INTO media_account (id, media, external_id, "+
			"token_id, tier, timezone, currency) VALUES (2, ?, ?, 1, 'active', ?, ?)", account.Media, account.ExternalID,
			account.Zone.String(), account.Currency).Error)
		yesterday := x.Server.Today.Add(-1)
		for _, r := range x.Platform.Reports() {
			if r.Hourly || r.Level == "account" {
				continue
			}
			for _, m := range []misreading{{times: 100, divide: 1}, {times: 1000, divide: 1}, {times: 1, divide: 100},
				{times: 1, divide: 1000}, {times: 1, divide: 1}} {
				m.Platform, m.level = x.Platform, r.Level
				name := fmt.Sprintf("%s × %d / %d", r.Level, m.times, m.divide)
				require.NoError(t, x.Store.Data.Writer(t.Context()).Exec("DELETE FROM coverage").Error)
				require.NoError(t, x.Store.Data.Writer(t.Context()).Exec("DELETE FROM report_daily").Error)
				require.NoError(t, x.Store.Data.Writer(t.Context()).Exec("DELETE FROM reconciliation").Error)
				require.NoError(t, x.pullAs(t, m, "account", false))
				isRight := m.times == m.divide
				if err := x.pullAs(t, m, r.Level, false); isRight || r.Overlaps {
					require.NoError(t, err, name)
				} else {
					require.True(t, err != nil || x.suspects(t) > 0, "%s: an answer contradicts the account's", name)
				}
				require.NoError(t, x.pullAs(t, m, "account", true))
				require.NoError(t, x.pullAs(t, m, r.Level, true))
				x.upkeep(t, upkeep.ReconcileName)
				found, err := x.Store.Differences(t.Context(), results.DifferenceFilter{}, results.Difference{}, 1000)
				require.NoError(t, err)
				require.Equal(t, !isRight, len(found) > 0, "%s on %s: %v", name, yesterday, found)
				for _, d := range found {
					require.Equal(t, r.Level, d.Level)
				}
			}
		}
	})
}

// suspects returns the number of days that are not believed.
func (x *trapped) suspects(t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, x.Store.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM coverage WHERE state = ?",
		results.Suspect).Row().Scan(&n))
	return n
}

// pullAs pulls yesterday's report of the second account at a level with another reading, after the day has settled.
func (x *trapped) pullAs(t *testing.T, platform media.Platform, level string, confirmed bool) error {
	t.Helper()
	h, ok := media.NewRegistry(pull.Handlers(platform, pull.Deps{Store: x.Store, Accounts: x, Caller: x.Client, Clock: x,
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})...).Get(
		platform.Name() + ".report_daily")
	require.True(t, ok)
	_, err := h.Run(t.Context(), media.Work{
		Key:    task.Key{RunID: task.NewRunID(x.Now().Add(time.Second)), AccountID: 2, Part: x.Server.Today.Add(-1).String()},
		Params: []byte(`{"level":"` + level + `"}`), Confirmed: confirmed,
	})
	return err
}
