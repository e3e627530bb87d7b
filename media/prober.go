package media

import (
	"context"
	"time"
)

// Prober is a platform that reports in one call which of many accounts have figures today. For other platforms the
// probe reads the daily report at account level, with one call per account.
type Prober interface {
	// ProbeMax returns how many accounts one call may cover.
	ProbeMax() int
	// Probe returns, by our ids, which accounts of one login have spend or impressions today. Today is the day at now in
	// each account's zone. The API is the login's. When the platform refuses the whole call because of one account, the
	// error is of class Invalid or Bug; the caller then repeats it with fewer accounts.
	Probe(ctx context.Context, api API, accounts []Account, now time.Time) (spending map[int64]bool, err error)
}
