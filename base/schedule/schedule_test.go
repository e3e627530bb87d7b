package schedule

import (
	"fmt"
	bits64 "math/bits"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
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
		{"a minute that does not exist", "61 * * * *", "UTC", "cron", `a minute from 0 to 59, not "61"`},
		{"an empty list", ", * * * *", "UTC", "cron", "a minute on both sides of each comma"},
		{"an empty entry", "5,,10 * * * *", "UTC", "cron", "a minute on both sides of each comma"},
		{"a range from a wildcard", "*-5 * * * *", "UTC", "cron", `a minute of two numbers, such as 0-59, not "*-5"`},
		{"a sign", "+5 * * * *", "UTC", "cron", "a minute from 0 to 59"},
		{"a step with a sign", "*/+5 * * * *", "UTC", "cron", "a whole number from 1 on"},
		{"two steps", "*/5/2 * * * *", "UTC", "cron", "a whole number from 1 on"},
		{"a step of nothing", "*/0 * * * *", "UTC", "cron", "a whole number from 1 on"},
		{"a range that wraps around", "0 0 * * fri-mon", "UTC", "cron",
			"a day of the week whose range does not end before it begins, such as 5-6,0-1"},
		{"a step beyond the minutes", "*/90 * * * *", "UTC", "cron", `a step below 60 in the minute "*/90"`},
		{"a step of all minutes", "*/60 * * * *", "UTC", "cron", "a step below 60"},
		{"a step beyond the seconds", "*/60 * * * * *", "UTC", "cron", "a step below 60 in the second"},
		{"a step beyond the minutes, with seconds", "0 */75 * * * *", "UTC", "cron", "a step below 60 in the minute"},
		{"a step of all hours", "0 */24 * * *", "UTC", "cron", "a step below 24 in the hour"},
		{"a step beyond the days", "0 0 */31 * *", "UTC", "cron", "a step below 31 in the day of the month"},
		{"a step of all months", "0 0 1 */12 *", "UTC", "cron", "a step below 12 in the month"},
		{"a step of the whole week", "0 0 * * */7", "UTC", "cron", "a step below 7 in the day of the week"},
		{"a step beyond its range", "10-20/15 * * * *", "UTC", "cron", "a step below 11"},
		{"a step beyond a range of names", "0 0 * * mon-fri/5", "UTC", "cron", "a step below 5"},
		{"a step beyond a range of months", "0 0 1 jan-MAR/3 *", "UTC", "cron", "a step below 3"},
		{"a step beyond the rest", "30/45 * * * *", "UTC", "cron", "a step below 30"},
		{"a step beyond its range in a list", "5,*/90 * * * *", "UTC", "cron", "a step below 60"},
		{"a step beyond a range of one", "5-5/2 * * * *", "UTC", "cron", "a step below 1"},
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

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, expr, want string }{
		{"each minute", "* * * * *", ""},
		{"a step that divides", "*/15 */6 * */3 *", ""},
		{"a step of one", "*/1 * * * *", ""},
		{"a step that divides, from some minute on", "7-59/15 * * * *", ""},
		{"a step that divides, from a number on", "5/20 * * * *", ""},
		{"a spread step that divides", "~/10 ~/20 * * * *", ""},
		{"a range that ends with a step", "0 8-20/3 * * *", ""},
		{"a range that the step divides", "0 9-17/3 * * *", ""},
		{"a name", "@daily", ""},
		{"every so often", "@every 7m", ""},
		{"a refused expression", "*/90 * * * *", ""},
		{"minutes", "*/7 * * * *", `minute "*/7": the step 7 does not divide the field's 60 values`},
		{"seconds", "*/45 0 * * * *", `second "*/45": the step 45 does not divide`},
		{"minutes behind seconds", "0 */35 * * * *", `minute "*/35": the step 35 does not divide`},
		{"hours", "0 */5 * * *", `hour "*/5": the step 5 does not divide the field's 24 values`},
		{"days, whose months are of any length", "0 0 */10 * *", `day of the month "*/10"`},
		{"months", "0 0 1 */5 *", `month "*/5"`},
		{"days of the week", "0 0 * * */2", `day of the week "*/2"`},
		{"the whole range by its ends", "0-59/7 * * * *", "does not divide the field's 60 values"},
		{"from a number on", "10/7 * * * *", "does not divide the field's 60 values"},
		{"a spread step", "~/7 * * * *", `minute "~/7"`},
		{"in a list", "1,*/7 * * * *", `minute "*/7"`},
		{"a range", "0 9-18/4 * * *", `hour "9-18/4": the step 4 does not divide the range: the last value is 17`},
		{"a range of names", "0 0 1 feb-aug/4 *",
			`month "feb-aug/4": the step 4 does not divide the range: the last value is 6`},
		{"two kinds of days", "0 0 1 * mon", "on each day that either of them names"},
		{"a step of days and a weekday", "0 0 */2 * 1", "on each day that either of them names"},
		{"a day that some months lack", "0 0 31 * *", `day of the month "31": it does not run in months without that day`},
		{"days that some months lack", "0 0 29-31 * *", "it does not run in months without that day"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(Warnings(tt.expr), "\n")
			if tt.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, tt.want)
		})
	}
}

// This parser reads what the cron library reads: the values of each field are the same.
func TestCheckFields_ReadsAsTheLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.IntRange(0, len(units)-1).Draw(t, "field")
		u := units[f]
		number := rapid.IntRange(u.low, u.high)
		text := rapid.OneOf(
			rapid.Just("*"), rapid.Map(number, strconv.Itoa),
			rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("%d-%d", number.Draw(t, "low"), number.Draw(t, "high")) }),
		).Draw(t, "span")
		if step := rapid.IntRange(0, 70).Draw(t, "step"); step > 0 {
			text += fmt.Sprintf("/%d", step)
		}
		fields := []string{"*", "*", "*", "*", "*", "*"}
		fields[f] = text
		i, want := u.item(text)
		parsed, err := parse(strings.Join(fields, " "))
		if err != nil {
			require.NotEmpty(t, want, "the library refuses %s: %s", text, err)
			return
		}
		spec, _ := parsed.(*cron.SpecSchedule)
		bits := []uint64{spec.Second, spec.Minute, spec.Hour, spec.Dom, spec.Month, spec.Dow}[f] &^ (1 << 63)
		if want != "" {
			require.Equal(t, 1, bits64.OnesCount64(bits),
				"beyond the library, only a step that leaves one value is refused: %s: %s", text, want)
			return
		}
		var values uint64
		for n := i.from; n <= i.to; n += i.step {
			values |= 1 << n
		}
		require.Equal(t, bits, values, text)
	})
}

func TestNext(t *testing.T) {
	t.Parallel()
	const newYork, lordHowe, shanghai = "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai"
	for _, tt := range []struct {
		name, expr, zone, after string
		want                    []string
	}{
		{"five fields", "30 2 * * *", shanghai, "2026-11-21T00:00:00Z",
			[]string{"2026-11-21T18:30:00Z", "2026-11-22T18:30:00Z"}},
		{"six fields", "15 30 2 * * *", shanghai, "2026-11-21T00:00:00Z", []string{"2026-11-21T18:30:15Z"}},
		{"strictly after", "0 0 * * *", "UTC", "2026-11-21T00:00:00Z", []string{"2026-11-22T00:00:00Z"}},
		{"a name", "@daily", shanghai, "2026-11-21T00:00:00Z", []string{"2026-11-21T16:00:00Z"}},
		{"every, by the multiples since 1970", "@every 90s", "UTC", "1970-01-01T00:01:00Z",
			[]string{"1970-01-01T00:01:30Z", "1970-01-01T00:03:00Z"}},
		{"every, before 1970", "@every 1h", "UTC", "1969-12-31T22:30:00Z",
			[]string{"1969-12-31T23:00:00Z", "1970-01-01T00:00:00Z"}},

		{"skipped: runs at the end of the gap", "30 2 * * *", newYork, "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"}},
		{"several skipped minutes run once", "*/10 2 * * *", newYork, "2026-03-08T00:00:00Z",
			[]string{"2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z"}},
		{"skipped, and the gap's end is planned too: once", "0,30 2,3 * * *", newYork, "2026-03-08T05:00:00Z",
			[]string{"2026-03-08T07:00:00Z", "2026-03-08T07:30:00Z", "2026-03-09T06:00:00Z"}},
		{"repeated: runs the first time", "30 1 * * *", newYork, "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"}},
		{"repeated, searched between the two", "30 1 * * *", newYork, "2026-11-01T05:30:00Z",
			[]string{"2026-11-02T06:30:00Z"}},
		{"repeated, searched in the second pass", "30 1,2 * * *", newYork, "2026-11-01T06:15:00Z",
			[]string{"2026-11-01T07:30:00Z"}},
		{"the hour after the repeated one", "0 2 * * *", newYork, "2026-11-01T06:59:59Z", []string{"2026-11-01T07:00:00Z"}},
		{"wildcard hours: both passes", "30 * * * *", newYork, "2026-11-01T04:45:00Z",
			[]string{"2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z", "2026-11-01T07:30:00Z"}},
		{"wildcard hours: no gap", "30 * * * *", newYork, "2026-03-08T06:00:00Z",
			[]string{"2026-03-08T06:30:00Z", "2026-03-08T07:30:00Z"}},
		{"at the change itself", "0 * * * *", newYork, "2026-03-08T06:00:00Z",
			[]string{"2026-03-08T07:00:00Z", "2026-03-08T08:00:00Z"}},
		{"step hours: skipped ones are not made up for", "0 */2 * * *", newYork, "2026-03-08T05:00:00Z",
			[]string{"2026-03-08T08:00:00Z", "2026-03-08T10:00:00Z"}},
		{"step hours of a range", "0 0-6/2 * * *", newYork, "2026-11-01T04:00:00Z", []string{"2026-11-01T07:00:00Z"}},
		{"every hour by name", "@hourly", newYork, "2026-11-01T05:00:00Z", []string{"2026-11-01T06:00:00Z"}},

		{"half an hour skipped", "15 2 * * *", lordHowe, "2026-10-03T00:00:00Z",
			[]string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"}},
		{"half an hour twice", "45 1 * * *", lordHowe, "2026-04-04T00:00:00Z",
			[]string{"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"}},
		{"half an hour twice, wildcard", "45 * * * *", lordHowe, "2026-04-04T14:00:00Z",
			[]string{"2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z", "2026-04-04T16:15:00Z"}},
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

var someZones = rapid.SampledFrom([]string{"America/New_York", "Asia/Shanghai", "Australia/Lord_Howe", "Europe/London",
	"America/Sao_Paulo", "Pacific/Apia", "UTC"})

// A moment depends only on the expression: from any earlier moment the series is the same.
func TestNext_DoesNotDependOnTheStart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		expr := rapid.SampledFrom([]string{
			"*/10 * * * *", "30 1 * * *", "30 2 * * *", "0 */2 * * *", "15,45 0-3 * * *", "0 0 * * 1", "@every 7m", "@daily",
			"10 15 2 * * *",
		}).Draw(t, "expr")
		s, err := Parse(expr, someZones.Draw(t, "zone"), "daily")
		require.NoError(t, err)
		from := time.Unix(rapid.Int64Range(1_262_304_000, 1_893_456_000).Draw(t, "from"), 0)
		next := s.Next(from)
		require.True(t, next.After(from))
		// From any moment in between, the next moment is the same one.
		between := from.Add(time.Duration(rapid.Int64Range(0, int64(next.Sub(from))-1).Draw(t, "between")))
		require.Equal(t, next, s.Next(between), "searched from %s", between)
	})
}

// A fixed daily time runs once on every day of the zone's calendar, whatever the clock does (Apia skipped a whole
// day).
func TestNext_FixedTimeRunsOnceADay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"America/New_York", "Asia/Shanghai", "Australia/Lord_Howe",
			"Europe/London"}).Draw(t, "zone")
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

// Wildcard hours of a zone with offsets of whole hours run at every full hour of elapsed time.
func TestNext_WildcardHoursFollowElapsedTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, err := Parse("0 * * * *", rapid.SampledFrom([]string{"America/New_York", "Europe/London", "Asia/Shanghai"}).Draw(t,
			"zone"), "daily")
		require.NoError(t, err)
		from := time.Unix(rapid.Int64Range(1_262_304_000, 1_893_456_000).Draw(t, "from"), 0)
		first := s.Next(from)
		require.Equal(t, from.Truncate(time.Hour).Add(time.Hour).UTC(), first)
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"* * * * *", "TZ=UTC", "@every 1s", "*/0 * * * *", "1-2-3 * * * *", "@",
		"1,2,3 */5 1-5 JAN MON-FRI", "\x00"} {
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
