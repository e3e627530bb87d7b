package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHoles_AreATableForPeople(t *testing.T) {
	t.Parallel()
	const answer = `{"holes": 9, "subtasks": 3, "waiting": 2, "ordered": 0, "estimated_calls": 4,
  "estimated_seconds": null, "tasks": [
  {"task": "tulip.back", "holes": 9, "subtasks": 3, "accounts": 2, "from": "2026-11-15", "to": "2026-11-20",
  "waiting": 0, "ordered": 0, "estimated_calls": 4, "estimated_seconds": null},
  {"task": "tulip.hours", "holes": 0, "subtasks": 0, "accounts": 0, "waiting": 2, "ordered": 0, "estimated_calls": 0,
  "estimated_seconds": 0}]}`
	stdout, asked := printedFor(t, answer, "coverage", "holes", "--media", "tulip")
	require.Equal(t, "/api/v1/coverage/holes?media=tulip", asked)
	require.Equal(t, `TASK         DAYS  ACCOUNTS  FROM        TO          SUBTASKS  CALLS  TIME     WAITING  ORDERED
tulip.back   9     2         2026-11-15  2026-11-20  3         4      unknown  0        0
tulip.hours  0     0         -           -           0         0      0s       2        0

9 days are missing: 3 subtasks, about 4 API calls, its time is not known yet; 0 of them were ordered.
2 more are under way, or ordered a moment ago.
`, stdout)
	_, asked = printedFor(t, answer, "coverage", "holes", "--order", "--all", "--max-subtasks", "7")
	require.Equal(t, "/api/v1/coverage/fill", asked)
	stdout, _ = printedFor(t, `{"tasks": []}`, "coverage", "holes")
	require.Equal(t, "No day that the tasks cover is missing.\n", stdout)
	require.Equal(t, exitUsage, adsync(nil, "coverage", "holes", "--max-subtasks", "7").code)
	require.Equal(t, exitUsage, adsync(nil, "coverage", "holes", "tulip").code)
}
