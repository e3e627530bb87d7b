package pull

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/media"
)

var hourlyTable = rawtable.Table{Name: "fake_report_hourly", Shape: rawtable.HourlyRows,
	Columns: []rawtable.Column{{Name: "cost_fen", Kind: rawtable.Int}}}

// hourlyPlatform can report some hours of a day for accounts, but not for campaigns.
type hourlyPlatform struct{ fakePlatform }

func (h *hourlyPlatform) Reports() []media.Report {
	page := func(_ context.Context, _ media.API, q media.ReportQuery, _ string) (media.Page, error) {
		return h.next(fmt.Sprintf("%s..%s from %d", q.From, q.To, q.FromHour))
	}
	return []media.Report{
		{Name: "report_hourly", Level: "account", Hourly: true, MaxDays: 7, LookBack: 30, Table: hourlyTable, HasHours: true,
			Page: page},
		{Name: "report_hourly", Level: "campaign", Hourly: true, MaxDays: 7, LookBack: 30, Table: hourlyTable, Page: page},
	}
}

func setupHours(t *testing.T, pages ...pageAnswer) *bundle {
	t.Helper()
	s := storetest.New(t)
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{hourlyTable}))
	platform := &hourlyPlatform{fakePlatform{pages: pages}}
	return &bundle{store: s, platform: &platform.fakePlatform, handlers: media.NewRegistry(Handlers(platform, Deps{
		Store: s, Accounts: fakeAccounts{}, Caller: fakeCaller{}, Clock: clock.System{},
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})...)}
}

func hourRow(hour int, cost int64) media.Row {
	row := reportRow("2026-11-21", cost)
	row.Hour = hour
	return row
}

func (b *bundle) hours(t *testing.T) map[int]int64 {
	t.Helper()
	var rows []struct {
		Hour int
		Cost int64
	}
	require.NoError(t, b.store.Data.Writer(t.Context()).Raw("SELECT hour, cost FROM report_hourly").Scan(&rows).Error)
	costs := map[int]int64{}
	for _, r := range rows {
		costs[r.Hour] = r.Cost
	}
	return costs
}

const moving = `{"level":"account","days":1,"moving_hours":3}`

func TestMovingHours_PullTheLastHoursOfAKnownDay(t *testing.T) {
	t.Parallel()
	b := setupHours(t,
		reportPage(4, "", hourRow(0, 10_000), hourRow(12, 20_000), hourRow(13, 30_000), hourRow(14, 40_000)),
		reportPage(3, "", hourRow(0, 990_000), hourRow(13, 35_000), hourRow(15, 50_000)))
	_, err := b.run(t, "fake.report_hourly", "2026-11-21@13", moving)
	require.NoError(t, err)
	_, err = b.run(t, "fake.report_hourly", "2026-11-21@13", moving)
	require.NoError(t, err)
	require.Equal(t, []string{"2026-11-21..2026-11-21 from 0", "2026-11-21..2026-11-21 from 13"}, b.platform.asked,
		"what was never pulled is pulled whole")
	require.Equal(t, map[int]int64{0: 10_000, 12: 20_000, 13: 35_000, 14: 40_000, 15: 50_000}, b.hours(t),
		"only a whole pull deletes hour 14, and hour 0 was not requested")
}

func TestMovingHours_WriteNothingWhenPagesDisagree(t *testing.T) {
	t.Parallel()
	b := setupHours(t, reportPage(1, "", hourRow(13, 10_000)), reportPage(2, "", hourRow(13, 20_000)))
	_, err := b.run(t, "fake.report_hourly", "2026-11-21", moving)
	require.NoError(t, err)
	_, err = b.run(t, "fake.report_hourly", "2026-11-21@13", moving)
	require.ErrorIs(t, err, errNotWhole)
	require.Len(t, b.platform.asked, 1+restartsMax)
	require.Equal(t, map[int]int64{13: 10_000}, b.hours(t))
	require.Equal(t, []results.CoverageState{results.Complete}, b.states(t),
		"the day keeps the state of its last whole pull")
}

func TestMovingHours_PlanHoursOfTheAccountsDays(t *testing.T) {
	t.Parallel()
	b := setupHours(t)
	h, _ := b.handlers.Get("fake.report_hourly")
	load := func(name string) *time.Location {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		return zone
	}
	china, pacific := load("Asia/Shanghai"), load("America/Los_Angeles")
	at := func(zone *time.Location, text string) time.Time {
		moment, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
		require.NoError(t, err)
		return moment
	}
	for _, c := range []struct {
		name     string
		at       time.Time
		zone     *time.Location
		params   string
		from, to day.Day
		want     []string
	}{
		{name: "the current hour and the two before it", at: at(china, "2026-11-21 15:59"), zone: china,
			want: []string{"2026-11-21@13"}},
		{name: "at three the day's first hour is not among them", at: at(china, "2026-11-21 03:00"), zone: china,
			want: []string{"2026-11-21@1"}},
		{name: "before three it is the whole day", at: at(china, "2026-11-21 02:58"), zone: china,
			want: []string{"2026-11-21"}},
		{name: "after midnight the last hours of yesterday move too", at: at(china, "2026-11-21 01:10"), zone: china,
			want: []string{"2026-11-20@23", "2026-11-21"}},
		{name: "at midnight two of them", at: at(china, "2026-11-21 00:00"), zone: china,
			want: []string{"2026-11-20@22", "2026-11-21"}},
		{name: "one hour is the current one", at: at(china, "2026-11-21 00:00"), zone: china,
			params: `{"level":"account","moving_hours":1}`, want: []string{"2026-11-21"}},
		{name: "a whole day back", at: at(china, "2026-11-21 22:30"), zone: china, params: `{"level":"account",` +
			`"moving_hours":24}`,
			want: []string{"2026-11-20@23", "2026-11-21"}},
		{name: "an order's days are whole", at: at(china, "2026-11-21 15:59"), zone: china, from: "2026-11-20",
			to: "2026-11-21", want: []string{"2026-11-20..2026-11-21"}},
		{name: "where two o'clock was left out", at: at(pacific, "2026-03-08 04:30"), zone: pacific,
			want: []string{"2026-03-08@1"}},
		{name: "where one o'clock came twice", at: at(pacific, "2026-11-01 03:30"), zone: pacific,
			want: []string{"2026-11-01@1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.params == "" {
				c.params = moving
			}
			parts, err := h.Parts(media.Plan{PlannedAt: c.at.UTC(), Zone: c.zone, Params: json.RawMessage(c.params),
				From: c.from, To: c.to})
			require.NoError(t, err)
			require.Equal(t, c.want, parts)
			for _, part := range parts {
				from, to, hour, err := parsePart(part)
				require.NoError(t, err)
				if hour > 0 {
					require.Equal(t, from, to)
					require.Equal(t, part, formatHours(from, hour))
				}
			}
		})
	}
}

func TestMovingHours_RefuseInvalidParams(t *testing.T) {
	t.Parallel()
	b := setupHours(t)
	h, _ := b.handlers.Get("fake.report_hourly")
	for params, want := range map[string]string{
		moving:                                  "",
		`{"level":"account","moving_hours":24}`: "",
		`{"level":"account","moving_hours":25}`: "params.moving_hours: 25 is refused: want 1 to 24",
		`{"level":"account","moving_hours":-1}`: "params.moving_hours: -1 is refused: want 1 to 24",
		`{"level":"account","days":2,"moving_hours":3}`: "params.moving_hours: 3 is refused with params.days 2: want " +
			"days 1",
		`{"level":"campaign","moving_hours":3}`: "params.moving_hours: 3 is refused: the platform's " +
			"report_hourly only has whole days",
		`{"level":"account","moving_hours":"all of them"}`: "params",
	} {
		if err := h.Check(json.RawMessage(params)); want == "" {
			require.NoError(t, err, params)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	for _, part := range []string{"2026-11-21@", "2026-11-21@0", "2026-11-21@24", "2026-11-21@x",
		"2026-11-20..2026-11-21@3", "@3"} {
		_, _, _, err := parsePart(part)
		require.Error(t, err, part)
		_, err = b.run(t, "fake.report_hourly", part, moving)
		require.ErrorContains(t, err, "part", part)
	}
}
