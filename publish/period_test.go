package publish

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRule_GivesThePeriodOfAMoment(t *testing.T) {
	t.Parallel()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	for _, c := range []struct{ rule, moment, want string }{
		{"day", "2026-11-21 00:00", "2026-11-20"},
		{"day", "2026-11-21 23:59", "2026-11-20"},
		{"days:7", "2026-11-21 09:00", "2026-11-14_2026-11-20"},
		{"days:2", "2026-03-01 09:00", "2026-02-27_2026-02-28"},
		{"week", "2026-11-21 09:00", "2026-11-09_2026-11-15"}, // a Saturday
		{"week", "2026-11-22 09:00", "2026-11-09_2026-11-15"}, // Sunday is not over
		{"week", "2026-11-23 00:00", "2026-11-16_2026-11-22"},
		{"month", "2026-11-21 09:00", "2026-10-01_2026-10-31"},
		{"month", "2026-03-31 09:00", "2026-02-01_2026-02-28"},
		{"month", "2026-01-01 00:00", "2025-12-01_2025-12-31"},
	} {
		r, err := parseRule(c.rule)
		require.NoError(t, err)
		moment, err := time.ParseInLocation("2006-01-02 15:04", c.moment, shanghai)
		require.NoError(t, err)
		require.Equal(t, c.want, r.at(moment).String(), "%s at %s", c.rule, c.moment)
	}
	for _, text := range []string{"", "days", "days:", "days:1", "days:367", "days:-3", "days:2x", "Day", "year"} {
		_, err := parseRule(text)
		require.Error(t, err, text)
	}
}
