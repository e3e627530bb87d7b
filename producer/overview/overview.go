// Package overview tells how everything stands at one moment: for the first page, the screen of standalone and GET
// /api/v1/overview.
//
// A Reader reads the tables and Redis. A Cache hands what it read to all who look, so that many viewers cost no more
// than one.
package overview

import (
	"fmt"

	"adsync/base/plural"
	"adsync/client"
)

// Overview is how everything stands. Money is in millionths of a currency, and never added up over currencies. At is
// the moment of the database at which the tables were read, and zero when they never could be; Business is the time by
// which ticks are made and days begin.
type Overview struct {
	client.Overview

	// Stakes are what all items of Attention of a kind and media are about together; for metrics.
	Stakes []Stake
}

// Where the platforms' own figures of today's spend come from.
const (
	// Ledger is the platforms' truth: simulated ones tell it.
	Ledger = "ledger"
	// DayTotals are the totals of the accounts' days that platforms told last; ours are sums of hours, which are pulled by
	// themselves.
	DayTotals = "day_totals"
)

// Tables is the What of a Trouble with the tables: everything but the limits is then of At, or not there.
const Tables = "tables"

// FirstPull returns, over all platforms whose first pull is under way, how many of the accounts have figures, and a
// text that says so; "" if none is under way.
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

// FirstPullOf says how far the first pull of a platform is.
func FirstPullOf(m *client.MediaOverview) string { return firstPull(m.Pulled-m.New, m.Pulled) }

func firstPull(pulled, all int64) string {
	return fmt.Sprintf("First pull under way, %d of %s", pulled, plural.Count(all, "account", "accounts"))
}

// fullFrom is from which part of a limit on its calls are scarce.
const fullFrom = 0.9

// Scarce reports whether calls are scarce: what is granted ahead is gone too.
func Scarce(l *client.LimitOverview) bool {
	return float64(l.Window+l.Ahead) >= fullFrom*float64(l.Allowed)
}

// The severities of what needs attention, the worst first.
const (
	Bad  = "bad"  // figures are wrong or missing, and stay so until somebody acts
	Warn = "warn" // figures are late or in doubt
	Note = "note" // known, and goes by itself or was ordered
)

// Stake is how many accounts and how much money something is about.
type Stake struct {
	Kind, Media string
	Accounts    int
	Money       []client.Money
}
