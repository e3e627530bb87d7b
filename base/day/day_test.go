package day_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/day"
)

func TestOf_IsTheDateInTheAccountsZone(t *testing.T) {
	t.Parallel()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	late := time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)
	require.Equal(t, day.Day("2026-11-21"), day.Of(late, shanghai))
	require.Equal(t, day.Day("2026-11-20"), day.Of(late.Add(-time.Second), shanghai))
	require.True(t, day.Day("2026-11-21").Start(shanghai).Equal(late))
}

func TestDay_CountsOverMonthsAndLeapDays(t *testing.T) {
	t.Parallel()
	require.Equal(t, day.Day("2028-02-29"), day.Day("2028-02-28").Add(1))
	require.Equal(t, day.Day("2026-12-31"), day.Day("2027-01-01").Add(-1))
	require.Equal(t, []day.Day{"2026-11-29", "2026-11-30", "2026-12-01"}, day.Between("2026-11-29", "2026-12-01"))
	require.Empty(t, day.Between("2026-11-02", "2026-11-01"))
}

func TestParse_RefusesInvalidDays(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "2026-2-1", "2026-02-30", "20261121", "2026-11-21 "} {
		_, err := day.Parse(s)
		require.Error(t, err, s)
	}
}

func TestScan_ReadsWhatDatabasesReturn(t *testing.T) {
	t.Parallel()
	for _, v := range []any{"2026-11-21", "2026-11-21T00:00:00Z", []byte("2026-11-21"),
		time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)} {
		var d day.Day
		require.NoError(t, d.Scan(v))
		require.Equal(t, day.Day("2026-11-21"), d)
	}
	var d day.Day
	require.Error(t, d.Scan(7))
	require.Error(t, d.Scan("soon"))
}

func TestHour_IsNamedAsByClocks(t *testing.T) {
	t.Parallel()
	pacific, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	for _, c := range []struct {
		day  day.Day
		hour int
		loc  *time.Location
		want string
	}{
		{"2026-11-14", 0, shanghai, "2026-11-13T16:00:00Z"},
		{"2026-11-14", 23, shanghai, "2026-11-14T15:00:00Z"},
		{"2026-11-14", 13, pacific, "2026-11-14T21:00:00Z"},
		{"2026-03-08", 1, pacific, "2026-03-08T09:00:00Z"},
		{"2026-03-08", 2, pacific, "2026-03-08T10:00:00Z"}, // skipped
		{"2026-03-08", 3, pacific, "2026-03-08T10:00:00Z"},
		{"2026-03-08", 23, pacific, "2026-03-09T06:00:00Z"},
		{"2026-11-01", 1, pacific, "2026-11-01T08:00:00Z"}, // the first of two
		{"2026-11-01", 2, pacific, "2026-11-01T10:00:00Z"},
		{"2026-11-01", 23, pacific, "2026-11-02T07:00:00Z"},
	} {
		require.Equal(t, c.want, c.day.Hour(c.hour, c.loc).UTC().Format(time.RFC3339), "%s %d", c.day, c.hour)
	}
}

// Some clocks are put forward or back at midnight, some by half an hour, and some skipped a day.
func TestStart_IsTheFirstMomentOfTheDay(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Asia/Shanghai", "UTC", "America/Los_Angeles", "America/Santiago", "America/Havana",
		"America/Asuncion", "America/Sao_Paulo", "Atlantic/Azores", "Asia/Beirut", "Asia/Amman", "Africa/Cairo",
		"Australia/Lord_Howe", "Pacific/Chatham", "Pacific/Apia"} {
		loc, err := time.LoadLocation(name)
		require.NoError(t, err)
		for d := day.Earliest; d < "2031-01-01"; d = d.Add(1) {
			start := d.Start(loc)
			require.Less(t, day.Of(start.Add(-time.Nanosecond), loc), d, name)
			if name == "Pacific/Apia" && d == "2011-12-30" {
				require.Equal(t, day.Day("2011-12-31"), day.Of(start, loc), "the day that Samoa skipped")
				continue
			}
			require.Equal(t, d, day.Of(start, loc), name)
		}
	}
}

func TestOf_EqualsTimeFormat(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-70_000_000_000, 300_000_000_000).Draw(t, "seconds"), 0).UTC()
		require.Equal(t, at.Format(time.DateOnly), day.Of(at, time.UTC).String())
	})
}

func BenchmarkOf(b *testing.B) {
	at := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	for b.Loop() {
		_ = day.Of(at, time.UTC)
	}
}

func TestGiven_RefusesDaysThatNoPlatformHas(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	for _, text := range []string{"", "0000-01-01", "0001-01-01", "1970-01-01", "2009-12-31", "2026-11-23", "2031-11-21",
		"2031-11-22", "9999-12-31", "2026-02-30", "21.11.2026", "2026-1-1"} {
		_, err := day.Given(text, now)
		require.EqualError(t, err, "want a day from 2010-01-01 to 2026-11-22, such as 2026-11-21", text)
	}
	for _, text := range []string{"2010-01-01", "2024-02-29", "2026-11-22"} {
		d, err := day.Given(text, now)
		require.NoError(t, err)
		require.Equal(t, day.Day(text), d)
	}
	// A binding may end years ahead.
	d, err := day.GivenAhead("2031-11-21", now)
	require.NoError(t, err)
	require.Equal(t, day.Day("2031-11-21"), d)
	_, err = day.GivenAhead("2031-11-22", now)
	require.EqualError(t, err, "want a day from 2010-01-01 to 2031-11-21, such as 2026-11-21")
}
