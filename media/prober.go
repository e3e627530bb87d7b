package media

import (
	"context"
	"time"
)

// Prober is a platform that tells of many accounts in one call whether they have figures today. Of one that is no
// Prober the account level's daily report is asked for, an account a call.
type Prober interface {
	// ProbeMax is how many accounts one call may ask about.
	ProbeMax() int
	// Probe asks about accounts of one login and returns, by our ids, which of them have spend or impressions on the day
	// that it is for them at the moment now. The API is the login's. When the platform refuses the whole call for one of
	// the accounts, the error is of class Invalid or Bug; the caller then asks about fewer.
	Probe(ctx context.Context, api API, accounts []Account, now time.Time) (spending map[int64]bool, err error)
}
