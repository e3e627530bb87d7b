package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLimitsEndPause_ShowsWhatIsDueAtOnce(t *testing.T) {
	t.Parallel()
	const pauses = `"pauses": [{"media": "tulip", "endpoint": "token_refresh", "scope": "login", "subject": "20000058",
  "paused_until": "2026-11-21T10:30:00Z", "times": 3}]`
	stdout, asked := printedFor(t, `{"dry_run": true, "subtasks": 1, `+pauses+`}`, "limits", "end-pause", "--subject",
		"tulip/20000058")
	require.Equal(t, "/api/v1/limits/end-pause", asked)
	require.Regexp(t, `tulip token_refresh +login 20000058 +2026-11-21T10:30:00Z +3\n\n`+
		`1 subtask waits that would be due at once\. Nothing was changed: add --yes to do it\.\n$`, stdout)
	stdout, _ = printedFor(t, `{"subtasks": 1200, `+pauses+`}`, "limits", "end-pause", "--media", "tulip", "--yes")
	require.Contains(t, stdout, "\n\nEnded 1 pause; 1200 subtasks that waited are due at once.\n")
	stdout, _ = printedFor(t, `{"subtasks": 7, "pauses": []}`, "limits", "end-pause", "--media", "tulip", "--yes")
	require.Equal(t, "Ended 0 pauses; 7 subtasks that waited are due at once.\n", stdout)
	stdout, _ = printedFor(t, `{"subtasks": 0, "pauses": []}`, "limits", "end-pause", "--all")
	require.Equal(t, "Nothing that was selected is paused.\n", stdout)

	for _, args := range [][]string{{}, {"--subject", "20000058"}, {"--media", "tulip", "--all"},
		{"--media", "tulip", "--subject", ""}} {
		require.Equal(t, exitUsage, adsync(nil, append([]string{"limits", "end-pause"}, args...)...).code, args)
	}
}
