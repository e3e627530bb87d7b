package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReconcile_IsATableForPeople(t *testing.T) {
	t.Parallel()
	stdout, asked := told(t, `{"next": "x", "differences": [
  {"media": "tencent", "account": "2001", "day": "2026-11-20", "level": "adgroup", "metric": "cost", "account_value": 5000000, "sum_value": 4000000,
   "state": "open", "first_seen_at": "2026-11-21T01:00:04Z", "last_seen_at": "2026-11-21T02:00:04Z", "confirmed_at": "2026-11-21T02:00:04Z"}]}`,
		"reconcile", "--media", "tencent", "--day", "2026-11-20")
	require.Equal(t, "/api/v1/reconciliation?day=2026-11-20&media=tencent", asked)
	require.Equal(t, `ACCOUNT       DAY         LEVEL    METRIC  ACCOUNT SAYS  LEVEL SAYS  DIFFERENCE  STATE  FIRST SEEN            CONFIRMED
tencent/2001  2026-11-20  adgroup  cost    5000000       4000000     1000000     open   2026-11-21T01:00:04Z  2026-11-21T02:00:04Z
There are more.
`, stdout)
	stdout, _ = told(t, `{"differences": [], "next": ""}`, "reconcile")
	require.Equal(t, "Nothing differs.\n", stdout)
}
