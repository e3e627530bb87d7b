package media

import (
	"context"
	"time"
)

// Prober is a platform that reports in one call which of several accounts have figures today. For other platforms the
// probe reads the daily report at account level, of as many accounts in one query as Report.AccountsMax allows.
type Prober interface {
	// ProbeMax returns how many accounts one call may cover.
	ProbeMax() int
	// Probe returns, by our ids, which accounts have spend or impressions today. The accounts have one login and zone, and
	// today is the day at now in that zone. The API is the login's. When the platform refuses the whole call because of
	// one account, the error is of class Invalid or Bug; the caller then repeats it with fewer accounts.
	Probe(ctx context.Context, api API, accounts []Account, now time.Time) (spending map[int64]bool, err error)
}
