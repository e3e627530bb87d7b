package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReconcile_IsATableForPeople(t *testing.T) {
	t.Parallel()
	stdout, asked := printedFor(t, `{"next": "x", "differences": [
  {"media": "tulip", "account": "2001", "currency": "CNY", "day": "2026-11-20", "level": "adgroup", "metric": "cost",
  "account_value": 5000000, "sum_value": 4000000,
   "state": "open", "first_seen_at": "2026-11-21T01:00:04Z", "last_seen_at": "2026-11-21T02:00:04Z",
   "confirmed_at": "2026-11-21T02:00:04Z"},
  {"media": "tulip", "account": "2001", "currency": "CNY", "day": "2026-11-20", "level": "creative", "metric": "cost",
  "account_value": 5000000, "sum_value": 0,
   "state": "open", "first_seen_at": "2026-11-21T01:00:04Z"},
  {"media": "tulip", "account": "2001", "currency": "CNY", "day": "2026-11-20", "level": "adgroup", "metric": "clicks",
  "account_value": 70000000, "sum_value": 1,
   "state": "open", "first_seen_at": "2026-11-21T01:00:04Z"},
  {"media": "tulip", "account": "2002", "currency": "USD", "day": "2026-11-20", "level": "adgroup", "metric": "clicks",
  "account_value": 7, "sum_value": 8,
   "state": "open", "first_seen_at": "2026-11-21T01:00:04Z"},
  {"media": "tulip", "account": "2003", "currency": "JPY", "day": "2026-11-20", "level": "adgroup",
  "metric": "pay_amount", "account_value": 7000000, "sum_value": 1234000000,
   "state": "open", "first_seen_at": "2026-11-21T01:00:04Z"}]}`,
		"reconcile", "--media", "tulip", "--day", "2026-11-20")
	require.Equal(t, "/api/v1/reconciliation?day=2026-11-20&media=tulip", asked)
	require.Equal(t,
		`ACCOUNT     DAY         LEVELS            FIGURES      MOST                   ACCOUNT SAYS  LEVEL SAYS  `+
			`DIFFERENCE  STATE  FIRST SEEN            CONFIRMED
tulip/2001  2026-11-20  adgroup,creative  cost,clicks  cost of creative       CNY 5.00      CNY 0.00    `+
			`CNY 5.00    open   2026-11-21T01:00:04Z  -
tulip/2002  2026-11-20  adgroup           clicks       clicks of adgroup      7             8           `+
			`-1          open   2026-11-21T01:00:04Z  -
tulip/2003  2026-11-20  adgroup           pay_amount   pay_amount of adgroup  JPY 7         JPY 1,234   `+
			`JPY -1,227  open   2026-11-21T01:00:04Z  -
There are more.
`, stdout)
	stdout, _ = printedFor(t, `{"differences": [], "next": ""}`, "reconcile")
	require.Equal(t, "Nothing differs.\n", stdout)
}
