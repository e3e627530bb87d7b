package overview

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNext_IsNeverInThePast(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	for after, want := range map[time.Duration]string{
		-time.Hour:      "the next is due now",
		0:               "the next is due now",
		time.Minute:     "the next at 10:31:00 UTC",
		13 * time.Hour:  "the next at 23:30:00 UTC",
		14 * time.Hour:  "the next at 2026-11-22 00:30:00 UTC",
		-14 * time.Hour: "the next is due now",
	} {
		require.Equal(t, want, next(now.Add(after), now))
	}
}
