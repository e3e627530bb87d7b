package media

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"adsync/base/metric"
	"adsync/base/ratelimit"
)

// Consoler is a Platform whose developers get tokens at a console.
type Consoler interface {
	// Console is the address of the console.
	Console() string
}

// Totaler is a Platform that adds up an account's figures by itself.
type Totaler interface {
	// Total asks for the figures of the account that api calls for, over all days of the query together, as the platform
	// adds them up. What it does not tell is not set.
	Total(ctx context.Context, api API, q ReportQuery) (metric.Values, error)
}

// QuotaTeller is a Platform whose answers tell how many calls are left.
type QuotaTeller interface {
	// QuotaLeft reads it from an answer's header, in words for people; "" when the answer does not tell.
	QuotaLeft(header http.Header) string
}

// RowsTeller is a Platform that limits the rows that calls match, whatever their pages show of them.
type RowsTeller interface {
	// Rows names the kind of rows that a call matches, which are counted together; "" where the platform does not limit
	// them.
	Rows(endpoint string, query url.Values) string
	// Matched reads from an answer's payload how many the call has matched, and whether it tells.
	Matched(payload json.RawMessage) (rows int, told bool)
}

// UsageTeller is a Platform whose answers tell how far the app's limits are used at their endpoint.
type UsageTeller interface {
	// Usage reads it from an answer's header; nothing when the answer does not tell, or not in a way that can be read.
	Usage(header http.Header) []ratelimit.Usage
}
