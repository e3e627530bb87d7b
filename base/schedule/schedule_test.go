package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/config"
)

func mustParse(t testing.TB, expr, zone string) Schedule {
	t.Helper()
	s, err := Parse(expr, zone, "daily")
	require.NoError(t, err)
	return s
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return moment.UTC()
}

func TestParse_Refuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, expr, zone, key, want string }{
		{"nothing", "", "UTC", "cron", "five fields"},
		{"blanks", "  ", "UTC", "cron", "five fields"},
		{"too few fields", "* * *", "UTC", "cron", "five fields"},
		{"too many fields", "* * * * * * *", "UTC", "cron", "five fields"},
		{"words", "every day", "UTC", "cron", "five fields"},
		{"a minute that is not there", "61 * * * *", "UTC", "cron", "five fields"},
		{"an empty list", ", * * * *", "UTC", "cron", "every year"},
		{"a zone in front", "TZ=UTC * * * * *", "UTC", "cron", "the zone goes into timezone"},
		{"a zone and nothing else", "CRON_TZ=Asia/Shanghai", "UTC", "cron", "the zone goes into timezone"},
		{"31 February", "0 0 31 2 *", "UTC", "cron", "every year"},
		{"29 February", "0 0 29 2 *", "UTC", "cron", "every year"},
		{"every nothing", "@every 0s", "UTC", "cron", "1s or more"},
		{"every half second", "@every 500ms", "UTC", "cron", "1s or more"},
		{"every broken second", "@every 1500ms", "UTC", "cron", "whole seconds"},
		{"every two things", "@every 1h 2h", "UTC", "cron", "1s or more"},
		{"at the reboot", "@reboot", "UTC", "cron", "five fields"},
		{"an unknown zone", "* * * * *", "Mars/Olympus", "timezone", "Asia/Shanghai"},
		{"no zone", "* * * * *", "", "timezone", "Asia/Shanghai"},
		{"the process's zone", "* * * * *", "Local", "timezone", "Asia/Shanghai"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(tt.expr, tt.zone, "daily")
			var field *config.FieldError
			require.ErrorAs(t, err, &field)
			require.Equal(t, tt.key, field.Key)
			require.Contains(t, field.Want, tt.want)
		})
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	const newYork, lordHowe, shanghai = "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai"
	for _, tt := range []struct {
		name, expr, zone, after string
		want                    []string
	}{
		{"five fields", "30 2 * * *", shanghai, "2026-11-21T00:00:00Z", []string{"2026-11-21T18:30:00Z", "2026-11-22T18:30:00Z"}},
		{"six fields", "15 30 2 * * *", shanghai, "2026-11-21T00:00:00Z", []string{"2026-11-21T18:30:15Z"}},
		{"strictly after", "0 0 * * *", "UTC", "2026-11-21T00:00:00Z", []string{"2026-11-22T00:00:00Z"}},
		{"a name", "@daily", shanghai, "2026-11-21T00:00:00Z", []string{"2026-11-21T16:00:00Z"}},
		{"every, by the multiples since 1970", "@every 90s", "UTC", "1970-01-01T00:01:00Z", []string{"1970-01-01T00:01:30Z", "1970-01-01T00:03:00Z"}},
		{"every, before 1970", "@every 1h", "UTC", "1969-12-31T22:30:00Z", []string{"1969-12-31T23:00:00Z", "1970-01-01T00:00:00Z"}},

		{"skipped: runs at the end of the gap", "30 2 * * *", newYork, "2026-03-07T12:00:00Z", []string{"2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"}},
		{"several skipped minutes run once", "*/10 2 * * *", newYork, "2026-03-08T00:00:00Z", []string{"2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z"}},
		{"skipped, and the gap's end is planned as well: once", "0,30 2,3 * * *", newYork, "2026-03-08T05:00:00Z", []string{"2026-03-08T07:00:00Z", "2026-03-08T07:30:00Z", "2026-03-09T06:00:00Z"}},
		{"twice: runs the first time", "30 1 * * *", newYork, "2026-10-31T12:00:00Z", []string{"2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"}},
		{"twice, asked between the two", "30 1 * * *", newYork, "2026-11-01T05:30:00Z", []string{"2026-11-02T06:30:00Z"}},
		{"twice, asked in the second pass", "30 1,2 * * *", newYork, "2026-11-01T06:15:00Z", []string{"2026-11-01T07:30:00Z"}},
		{"the hour behind the repeated one", "0 2 * * *", newYork, "2026-11-01T06:59:59Z", []string{"2026-11-01T07:00:00Z"}},
		{"wildcard hours: both passes", "30 * * * *", newYork, "2026-11-01T04:45:00Z", []string{"2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z", "2026-11-01T07:30:00Z"}},
		{"wildcard hours: no gap", "30 * * * *", newYork, "2026-03-08T06:00:00Z", []string{"2026-03-08T06:30:00Z", "2026-03-08T07:30:00Z"}},
		{"at the change itself", "0 * * * *", newYork, "2026-03-08T06:00:00Z", []string{"2026-03-08T07:00:00Z", "2026-03-08T08:00:00Z"}},
		{"step hours: what is skipped is not made up for", "0 */2 * * *", newYork, "2026-03-08T05:00:00Z", []string{"2026-03-08T08:00:00Z", "2026-03-08T10:00:00Z"}},
		{"step hours of a range", "0 0-6/2 * * *", newYork, "2026-11-01T04:00:00Z", []string{"2026-11-01T07:00:00Z"}},
		{"every hour by name", "@hourly", newYork, "2026-11-01T05:00:00Z", []string{"2026-11-01T06:00:00Z"}},

		{"half an hour skipped", "15 2 * * *", lordHowe, "2026-10-03T00:00:00Z", []string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"}},
		{"half an hour twice", "45 1 * * *", lordHowe, "2026-04-04T00:00:00Z", []string{"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"}},
		{"half an hour twice, wildcard", "45 * * * *", lordHowe, "2026-04-04T14:00:00Z", []string{"2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z", "2026-04-04T16:15:00Z"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, moment := range mustParse(t, tt.expr, tt.zone).NextN(at(t, tt.after), len(tt.want)) {
				got = append(got, moment.Format(time.RFC3339))
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestNext_OfTheZeroSchedule(t *testing.T) {
	t.Parallel()
	require.True(t, Schedule{}.Next(time.Now()).IsZero())
	require.Empty(t, Schedule{}.NextN(time.Now(), 3))
}

var someZones = rapid.SampledFrom([]string{"America/New_York", "Asia/Shanghai", "Australia/Lord_Howe", "Europe/London", "America/Sao_Paulo", "Pacific/Apia", "UTC"})

// A moment depends on the expression alone: whoever asks from whichever earlier moment gets the same series.
func TestNext_DoesNotDependOnWhenItIsAsked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		expr := rapid.SampledFrom([]string{
			"*/10 * * * *", "30 1 * * *", "30 2 * * *", "0 */2 * * *", "15,45 0-3 * * *", "0 0 * * 1", "@every 7m", "@daily", "10 15 2 * * *",
		}).Draw(t, "expr")
		s, err := Parse(expr, someZones.Draw(t, "zone"), "daily")
		require.NoError(t, err)
		from := time.Unix(rapid.Int64Range(1_262_304_000, 1_893_456_000).Draw(t, "from"), 0)
		next := s.Next(from)
		require.True(t, next.After(from))
		// From anywhere between, the next moment is the same one.
		between := from.Add(time.Duration(rapid.Int64Range(0, int64(next.Sub(from))-1).Draw(t, "between")))
		require.Equal(t, next, s.Next(between), "asked at %s", between)
	})
}

// A fixed daily time runs once on every day of the zone's calendar, whatever the clock does (Apia skipped a whole day).
func TestNext_FixedTimeRunsOnceADay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"America/New_York", "Asia/Shanghai", "Australia/Lord_Howe", "Europe/London"}).Draw(t, "zone")
		hour, minute := rapid.IntRange(0, 23).Draw(t, "hour"), rapid.IntRange(0, 59).Draw(t, "minute")
		loc, err := Zone(zone)
		require.NoError(t, err)
		s, err := Parse(time.Date(2000, 1, 1, hour, minute, 0, 0, time.UTC).Format("4 15")+" * * *", zone, "daily")
		require.NoError(t, err)
		moment := time.Date(rapid.IntRange(2015, 2035).Draw(t, "year"), 1, 1, 0, 0, 0, 0, loc).Add(-time.Second)
		day := moment.In(loc)
		for range 366 {
			moment = s.Next(moment)
			day = day.AddDate(0, 0, 1)
			require.Equal(t, day.Format(time.DateOnly), moment.In(loc).Format(time.DateOnly))
		}
	})
}

// Wildcard hours of a zone whose offsets are whole hours run at every full hour of elapsed time.
func TestNext_WildcardHoursFollowElapsedTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, err := Parse("0 * * * *", rapid.SampledFrom([]string{"America/New_York", "Europe/London", "Asia/Shanghai"}).Draw(t, "zone"), "daily")
		require.NoError(t, err)
		from := time.Unix(rapid.Int64Range(1_262_304_000, 1_893_456_000).Draw(t, "from"), 0)
		first := s.Next(from)
		require.Equal(t, from.Truncate(time.Hour).Add(time.Hour).UTC(), first)
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"* * * * *", "TZ=UTC", "@every 1s", "*/0 * * * *", "1-2-3 * * * *", "@", "1,2,3 */5 1-5 JAN MON-FRI", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		s, err := Parse(expr, "America/New_York", "daily")
		if err != nil {
			return
		}
		from := time.Unix(1_700_000_000, 0)
		require.True(t, s.Next(from).After(from))
	})
}
