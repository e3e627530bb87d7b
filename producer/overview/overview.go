// Package overview reads the state of the whole system at one moment: for the first page, the screen of standalone and
// GET /api/v1/overview.
//
// A Reader reads the tables and Redis. A Cache shares one read among all viewers, so that many viewers cost no more
// than one.
package overview

import (
	"fmt"

	"adsync/base/plural"
	"adsync/client"
)

// Overview is the state of the whole system. Money is in millionths of a currency, and never added up over currencies.
// At is the database's time at which the tables were read, and zero if they never could be read. Business is the time
// by which ticks are made and days begin.
type Overview struct {
	client.Overview

	// Stakes add up the accounts and money of all items of Attention by kind and media, for metrics.
	Stakes []Stake
}

// Where the platforms' own figures of today's spend come from.
const (
	// Ledger is the truth of simulated platforms.
	Ledger = "ledger"
	// DayTotals are the totals of the accounts' days as last pulled. Our own figures are sums of hours, which are pulled
	// separately.
	DayTotals = "day_totals"
)

// Tables is the What of a Trouble with the tables: everything except the limits is then as of At, or missing.
const Tables = "tables"

// FirstPull returns a text with the number of accounts that have figures, over all platforms whose first pull is under
// way; "" if none is under way.
func (o *Overview) FirstPull() string {
	pulled, all := int64(0), int64(0)
	for i := range o.Media {
		if m := &o.Media[i]; m.FirstPull {
			pulled, all = pulled+m.Pulled-m.New, all+m.Pulled
		}
	}
	if all == 0 {
		return ""
	}
	return firstPull(pulled, all)
}

// FirstPullOf returns a text with the progress of a platform's first pull.
func FirstPullOf(m *client.MediaOverview) string { return firstPull(m.Pulled-m.New, m.Pulled) }

func firstPull(pulled, all int64) string {
	return fmt.Sprintf("First pull under way, %d of %s", pulled, plural.Count(all, "account", "accounts"))
}

// fullFrom is the used part of a limit from which its calls are scarce.
const fullFrom = 0.9

// Scarce reports whether calls are scarce. Calls that are granted ahead count as used.
func Scarce(l *client.LimitOverview) bool {
	return float64(l.Window+l.Ahead) >= fullFrom*float64(l.Allowed)
}

// The severities of what needs attention, the worst first.
const (
	Bad  = "bad"  // figures are wrong or missing, and stay so until an operator acts
	Warn = "warn" // figures are late or in doubt
	Note = "note" // known, and ends automatically or was ordered
)

// Stake is the number of accounts and the amount of money that the items of a kind and media affect.
type Stake struct {
	Kind, Media string
	Accounts    int
	Money       []client.Money
}
