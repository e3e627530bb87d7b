package media

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"adsync/base/metric"
	"adsync/base/ratelimit"
)

// Consoler is a Platform with a console where developers get tokens.
type Consoler interface {
	// Console returns the address of the console.
	Console() string
}

// UserNamer is a Platform whose calls carry the name of the token's user.
type UserNamer interface {
	// UserName returns the platform's word for that name.
	UserName() string
}

// Totaler is a Platform that returns its own totals of an account's figures.
type Totaler interface {
	// Total returns the platform's totals for the account of api over all days of the query. Figures that it does not
	// report are not set.
	Total(ctx context.Context, api API, q ReportQuery) (metric.Values, error)
}

// QuotaReporter is a Platform whose answers report how many calls are left.
type QuotaReporter interface {
	// QuotaLeft returns the number from an answer's header, as text for people; "" if the answer has none.
	QuotaLeft(header http.Header) string
}

// RowLimiter is a Platform that limits the rows that calls match, including those on pages that are not read.
type RowLimiter interface {
	// Rows returns the kind of rows that a call matches; rows of one kind are counted together. "" if they are not
	// limited.
	Rows(endpoint string, query url.Values) string
	// Matched returns how many rows the call has matched, from the answer's payload; ok is false if it does not report
	// it.
	Matched(payload json.RawMessage) (rows int, ok bool)
}

// UsageReporter is a Platform whose answers report how far the app's limits for their endpoint are used.
type UsageReporter interface {
	// Usage returns the usage from an answer's header; nothing if it is missing or unreadable.
	Usage(header http.Header) []ratelimit.Usage
}
