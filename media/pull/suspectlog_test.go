package pull

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/rawtable"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
)

// bothPlatform has daily and hourly reports of accounts, and a level that need not hold all of their spend.
type bothPlatform struct{ fakePlatform }

func (b *bothPlatform) Reports() []media.Report {
	page := func(_ context.Context, _ media.API, q media.ReportQuery, _ string) (media.Page, error) {
		return b.next(fmt.Sprintf("%s..%s", q.From, q.To))
	}
	return []media.Report{
		{Name: "report_daily", Level: "account", MaxDays: 3, LookBack: 30, Table: dailyTable, Page: page},
		{Name: "report_daily", Level: "creative", MaxDays: 3, LookBack: 30, Table: dailyTable, Overlaps: true, Page: page},
		{Name: "report_hourly", Level: "account", Hourly: true, MaxDays: 3, LookBack: 30, Table: hourlyTable, Page: page},
	}
}

// setupBoth starts in the morning of 2026-11-22 in the account's zone.
func setupBoth(t *testing.T, log *bytes.Buffer, pages ...pageAnswer) *bundle {
	t.Helper()
	s := storetest.New(t)
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{dailyTable, hourlyTable}))
	platform := &bothPlatform{fakePlatform{pages: pages}}
	morning := time.Date(2026, 11, 21, 21, 0, 0, 0, time.UTC) // 05:00 in Shanghai
	return &bundle{store: s, platform: &platform.fakePlatform, handlers: media.NewRegistry(Handlers(platform, Deps{
		Store: s, Accounts: fakeAccounts{}, Caller: fakeCaller{}, Clock: clock.NewScaled(morning, 1, true),
		Logger:     slog.New(slog.NewTextHandler(log, nil)),
		Registerer: prometheus.NewRegistry(),
	})...)}
}

func (b *bundle) coverageStates(t *testing.T) map[string]string {
	t.Helper()
	coverage, err := b.store.ReadCoverage(t.Context(), 7, "2026-11-21", "2026-11-22")
	require.NoError(t, err)
	states := map[string]string{}
	for _, c := range coverage {
		states[fmt.Sprintf("%s %s %s", c.Report, c.Level, c.Day)] = string(c.State)
	}
	return states
}

func TestReport_AFirstAnswerWithoutRowsIsJudgedByTheHours(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := setupBoth(t, &log, reportPage(1, "", hourRow(9, 452_388_000_000)), reportPage(0, ""))
	_, err := b.run(t, "fake.report_hourly", "2026-11-21", levelAccount)
	require.NoError(t, err)
	_, err = b.run(t, "fake.report_daily", "2026-11-21", levelAccount)
	require.ErrorContains(t, err,
		"suspect: the answer for [2026-11-21] is not believed: the platform's answer has CNY 0.00, and report_hourly by "+
			"account of the same day has 452,388.00")
	_, err = b.run(t, "fake.report_daily", "2026-11-22", levelAccount)
	require.NoError(t, err, "the present day is not judged")
	require.Equal(t, map[string]string{
		"report_daily account 2026-11-21": "suspect", "report_daily account 2026-11-22": "complete",
		"report_hourly account 2026-11-21": "complete",
	}, b.coverageStates(t))
}

func TestReport_WhatAnAnswerContradictsIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := setupBoth(t, &log, reportPage(0, ""), reportPage(1, "", hourRow(9, 452_388_000_000)))
	for i, name := range []string{"fake.report_daily", "fake.report_hourly"} {
		h, known := b.handlers.Get(name)
		require.True(t, known)
		run := task.NewRunID(time.Date(2026, 11, 21, 21, i, 0, 0, time.UTC))
		_, err := h.Run(t.Context(), media.Work{Key: task.Key{RunID: run, AccountID: 7, Part: "2026-11-21"},
			Params: []byte(levelAccount)})
		require.NoError(t, err)
	}
	require.Equal(t, map[string]string{"report_daily account 2026-11-21": "suspect",
		"report_hourly account 2026-11-21": "complete"}, b.coverageStates(t))
	require.Equal(t, 1, strings.Count(log.String(), "answer contradicts an earlier one"), log.String())
}

// A material may be counted with several promotions or with none.
func TestReport_ALevelThatOverlapsNeitherContradictsNorIsContradicted(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	creative := reportRow("2026-11-21", 900_000_000)
	creative.Object = "1"
	spent := reportPage(1, "", reportRow("2026-11-21", 400_000_000))
	b := setupBoth(t, &log, reportPage(1, "", creative), spent, spent, reportPage(0, ""))
	_, err := b.run(t, "fake.report_daily", "2026-11-21", `{"level":"creative"}`)
	require.NoError(t, err)
	_, err = b.run(t, "fake.report_daily", "2026-11-21", levelAccount)
	require.NoError(t, err)
	_, err = b.runFor(t, 8, "fake.report_daily", "2026-11-21", levelAccount)
	require.NoError(t, err)
	_, err = b.runFor(t, 8, "fake.report_daily", "2026-11-21", `{"level":"creative"}`)
	require.NoError(t, err)
	require.Empty(t, log.String())
}
