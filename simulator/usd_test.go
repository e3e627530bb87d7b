package simulator

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/world"
)

var losAngeles = func() *time.Location {
	location, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		panic(err)
	}
	return location
}()

// day returns the number of a date in the form of calendars.
func day(year int, month time.Month, date int) int {
	return int(time.Date(year, month, date, 0, 0, 0, 0, time.UTC).Unix() / world.DayLength)
}

func TestCalendar_DaysBeginAtMidnightAndHaveTheirHours(t *testing.T) {
	t.Parallel()
	c := world.Pacific()
	for name, x := range map[string]struct {
		day   int
		hours int64
		names []int
	}{
		"an ordinary day":      {day(2026, 11, 14), 24, []int{0, 1, 2, 3, 4}},
		"one hour is skipped":  {day(2026, 3, 8), 23, []int{0, 1, 3, 4, 5}},
		"one hour comes twice": {day(2026, 11, 1), 25, []int{0, 1, 2, 3, 4}},
		"before the world":     {day(1999, 4, 4), 23, []int{0, 1, 3, 4, 5}},
	} {
		require.Equal(t, x.hours*world.HourLength, c.Length(x.day), name)
		start := time.Unix(c.Start(x.day), 0).In(losAngeles)
		require.Equal(t, world.FormatDay(x.day)+" 00:00:00", start.Format(time.DateTime), name)
		require.Equal(t, x.day, c.DayOf(c.Start(x.day)), name)
		require.Equal(t, x.day-1, c.DayOf(c.Start(x.day)-1), name)
		hours, end := c.Hours(x.day), int64(0)
		for i, h := range hours {
			require.Equal(t, end, h.From, "%s: hours follow each other", name)
			require.Equal(t, h.Name, time.Unix(c.Start(x.day)+h.From, 0).In(losAngeles).Hour(), name)
			if i < len(x.names) {
				require.Equal(t, x.names[i], h.Name, name)
			}
			end = h.To
		}
		require.Equal(t, c.Length(x.day), end, name)
		require.Equal(t, 23, hours[len(hours)-1].Name, name)
	}
	require.Equal(t, world.DayStart(20_000), (*world.Calendar)(nil).Start(20_000))
	require.Len(t, (*world.Calendar)(nil).Hours(20_000), 24)
}

func TestUSD_UsesTheConfiguredShareOfAccounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newSim(t, Config{Accounts: ofEach(40), USD: 10, DataDir: dir})
	for _, p := range s.sim.World.Specs {
		abroad, media := map[string]int{}, p.Name
		for _, line := range s.truthLines("media", media, "kind", "account") {
			var r struct{ Currency, Timezone string }
			require.NoError(t, json.Unmarshal([]byte(line), &r))
			require.Equal(t, map[string]string{"USD": "America/Los_Angeles", "CNY": "Asia/Shanghai", "JPY": "Asia/Tokyo",
				"KWD": "Etc/GMT"}[r.Currency], r.Timezone)
			abroad[r.Currency]++
		}
		want := map[string]int{"USD": 4, "CNY": 36}
		switch {
		case p.ChinaOnly:
			want = map[string]int{"CNY": 40}
		case p.AnyCurrency:
			want = map[string]int{"USD": 4, "JPY": 4, "KWD": 4, "CNY": 28}
		}
		require.Equal(t, want, abroad, "of 40 of %s", media)
	}
	require.NoError(t, s.Close())
	again := newSim(t, Config{Accounts: ofEach(40), DataDir: dir})
	require.Equal(t, "USD", again.account(clients[0], 9).Calendar.CurrencyCode(), "a kept world has its own share")
	require.Equal(t, "JPY", again.account("tiktok", 8).Calendar.CurrencyCode())
	require.NoError(t, again.Close())
	path := filepath.Join(dir, stateFile)
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(kept), `"currencies":true,`)
	require.NoError(t, os.WriteFile(path, bytes.Replace(kept, []byte(`"currencies":true,`), nil, 1), 0o600))
	older := newSim(t, Config{Accounts: ofEach(40), DataDir: dir})
	require.Nil(t, older.account("tiktok", 8).Calendar, "the world of an earlier program keeps its accounts")
	require.Equal(t, "USD", older.account("tiktok", 9).Calendar.CurrencyCode())
	require.Nil(t, newSim(t, Config{}).account(clients[0], 9).Calendar, "the default is none")
	_, err = New(Config{Accounts: 2, USD: -1})
	require.ErrorContains(t, err, "-1")
}

// abroad returns a world at a moment of Los Angeles whose accounts are all in USD.
func abroad(t *testing.T, text string) *sim {
	t.Helper()
	now, err := time.ParseInLocation(time.DateTime, text, losAngeles)
	require.NoError(t, err)
	return newSim(t, Config{Accounts: 12, USD: 1, Start: now, Frozen: true}).unlimited()
}

func TestUSD_FiguresOfADayBeginAtItsMidnight(t *testing.T) {
	t.Parallel()
	s := abroad(t, "2026-11-14 00:02:00") // long past noon of the 14th in China
	a := s.account(clients[0], 0)
	today := day(2026, 11, 14)
	require.Empty(t, s.truth().Rows(a, world.Scope{From: today, To: today + 1}))
	require.Len(t, s.truth().Rows(a, world.Scope{From: today - 1, To: today - 1}), 1)
	require.NoError(t, s.sim.Clock.Set(s.sim.Clock.Now().Add(6*time.Hour)))
	require.Len(t, s.truth().Rows(a, world.Scope{From: today, To: today + 1}), 1)
}

func TestUSD_UnusualDaysAddUp(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		now      string
		day      int
		isAbsent int
	}{
		"23 hours": {now: "2026-03-10 12:00:00", day: day(2026, 3, 8), isAbsent: 2},
		"25 hours": {now: "2026-11-03 12:00:00", day: day(2026, 11, 1), isAbsent: -1},
	} {
		s := abroad(t, x.now)
		for _, p := range s.sim.World.Specs {
			if p.ChinaOnly {
				continue
			}
			media := p.Name
			for _, level := range []world.Level{world.LevelAccount, world.LevelAd, world.LevelCreative} {
				a := s.account(media, 0)
				days := totals(s.truth().Rows(a, world.Scope{Level: level, From: x.day, To: x.day}))
				rows := s.truth().Rows(a, world.Scope{Level: level, Hourly: true, From: x.day, To: x.day})
				hours := totals(rows)
				require.Equal(t, days, hours, "%s: hours of %s by %s add up to the day", name, media, level)
				seen := map[int]bool{}
				for _, r := range rows {
					seen[r.Hour] = true
				}
				require.NotContains(t, seen, x.isAbsent, name)
				for _, h := range []int{0, 1, 3, 22, 23} {
					require.Contains(t, seen, h, "%s of %s by %s", name, media, level)
				}
			}
		}
	}
}

func TestUSD_AClientThatPullsAllHasTheTruth(t *testing.T) {
	t.Parallel()
	for now, days := range map[string][2]string{
		"2026-03-10 12:00:00": {"2026-03-07", "2026-03-10"},
		"2026-11-01 20:00:00": {"2026-10-31", "2026-11-01"},
	} {
		s := abroad(t, now)
		for _, media := range clients {
			for _, x := range []set{
				{kind: "report_daily", level: "account", from: days[0], to: days[1]},
				{kind: "report_daily", level: "ad", from: days[0], to: days[1]},
				{kind: "report_hourly", level: "account", hourly: true, from: days[0], to: days[1]},
				{kind: "report_hourly", level: "ad", hourly: true, from: days[0], to: days[1]},
			} {
				want := s.truthOf(media, x)
				require.NotEmpty(t, want)
				require.Equal(t, want, s.pull(media, x), "%s %s %+v", now, media, x)
			}
		}
	}
}

func TestUSD_MoneyFollowsTheAccountsDays(t *testing.T) {
	t.Parallel()
	s := abroad(t, "2026-11-03 12:00:00")
	for _, media := range s.sim.World.Names() {
		a := s.account(media, 0)
		first := day(2026, 10, 25)
		costs := totals(s.truth().Rows(a, world.Scope{From: first, To: first + 8}))
		days := s.truth().FundDays(a, first, first+20)
		require.Len(t, days, 9, "the days up to yesterday")
		for _, d := range days {
			require.Equal(t, costs[d.Day][world.Cost], d.Paid.Total(), "%s: the amount paid is the cost in the report",
				world.FormatDay(d.Day))
		}
		toldAt := a.Calendar.Start(day(2026, 11, 3)) + world.FundsPublishedAfter
		require.Equal(t, day(2026, 11, 1), a.Calendar.LastPublished(toldAt-1))
		require.Equal(t, day(2026, 11, 2), a.Calendar.LastPublished(toldAt))
	}
}
