package schedule

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/config"
)

func TestSpread_DependsOnTheName(t *testing.T) {
	t.Parallel()
	from := at(t, "2026-11-21T00:00:00Z")
	for _, tt := range []struct {
		name, expr string
		task       string
		want       []string
	}{
		// The numbers are promised: a new release must not move existing ticks.
		{"a minute", "~ 2 * * *", "tulip.report_daily.account", []string{"2026-11-21T02:30:00Z", "2026-11-22T02:30:00Z"}},
		{"another task's", "~ 2 * * *", "tulip.report_daily.adgroup",
			[]string{"2026-11-21T02:10:00Z", "2026-11-22T02:10:00Z"}},
		{"every ten minutes", "~/10 * * * *", "tulip.report_daily.account",
			[]string{"2026-11-21T00:10:00Z", "2026-11-21T00:20:00Z"}},
		{"second and minute", "~ ~ 3 * * *", "tulip.report_daily.account", []string{"2026-11-21T03:30:00Z"}},
		{"seconds", "~/20 * * * * *", "tulip.report_daily.account",
			[]string{"2026-11-21T00:00:20Z", "2026-11-21T00:00:40Z", "2026-11-21T00:01:00Z", "2026-11-21T00:01:20Z"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := Parse(tt.expr, "UTC", tt.task)
			require.NoError(t, err)
			var got []string
			for _, m := range s.NextN(from, len(tt.want)) {
				got = append(got, m.Format(time.RFC3339))
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestSpread_UsesTheWholeHourEvenly(t *testing.T) {
	t.Parallel()
	from := at(t, "2026-11-21T00:00:00Z")
	minutes := make([]int, 60)
	for i := range 6000 {
		s, err := Parse("~ 2 * * *", "UTC", fmt.Sprintf("task.%d", i))
		require.NoError(t, err)
		minutes[s.Next(from).Minute()]++
	}
	for minute, n := range minutes {
		require.InDelta(t, 100, n, 60, "minute %d", minute)
	}
}

func TestSpread_KeepsTheStep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.IntRange(1, 59).Draw(t, "step")
		s, err := Parse(fmt.Sprintf("~/%d * * * *", step), "UTC", rapid.StringN(1, 20, 20).Draw(t, "name"))
		require.NoError(t, err)
		hour := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
		first := s.Next(hour.Add(-time.Nanosecond))
		require.Less(t, first.Minute(), step)
		for want, m := first, first; want.Before(hour.Add(time.Hour)); want, m = want.Add(time.Duration(step)*time.Minute),
			s.Next(m) {
			require.Equal(t, want, m)
		}
	})
}

func TestSpread_Refuses(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"0 ~ * * *":     "second or the minute only",
		"0 0 ~ * * *":   "second or the minute only",
		"~/0 * * * *":   "n from 1 to 59",
		"~/60 * * * *":  "n from 1 to 59",
		"~,30 * * * *":  `a minute of "~"`,
		"0~9 * * * *":   `a minute of "~"`,
		"~/x ~ * * * *": `a second of "~"`,
	} {
		_, err := Parse(expr, "UTC", "daily")
		var field *config.FieldError
		require.ErrorAs(t, err, &field, expr)
		require.Equal(t, "cron", field.Key)
		require.Contains(t, field.Want, want, expr)
	}
}
