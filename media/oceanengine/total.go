package oceanengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"adsync/base/metric"
	"adsync/media"
)

var (
	_ media.Totaler       = Platform{}
	_ media.QuotaReporter = Platform{}
)

// Total implements media.Totaler. Every page of the daily report of an account has the sums of all days,
// total_metrics.
func (Platform) Total(ctx context.Context, api media.API, q media.ReportQuery) (metric.Values, error) {
	asked := &listener{API: api}
	if _, err := byAccount.page(ctx, asked, q, ""); err != nil {
		return metric.Values{}, err
	}
	var answer struct {
		Total map[string]json.RawMessage `json:"total_metrics"`
	}
	err := json.Unmarshal(asked.heard, &answer)
	if err == nil && answer.Total == nil {
		err = errors.New("total_metrics is missing")
	}
	if err != nil {
		return metric.Values{}, media.Broken(reportEndpoint, err)
	}
	_, total, bad := figures.Read(answer.Total)
	if len(bad) > 0 {
		return metric.Values{}, media.Broken(reportEndpoint,
			fmt.Errorf("the sum of %s is unusable: %s", bad[0].Field, bad[0].Why))
	}
	return total, nil
}

// listener keeps the last answer.
type listener struct {
	media.API
	heard json.RawMessage
}

// Get implements media.API.
func (l *listener) Get(ctx context.Context, endpoint string, query url.Values) (json.RawMessage, error) {
	data, err := l.API.Get(ctx, endpoint, query)
	l.heard = data
	return data, err
}

// QuotaLeft implements media.QuotaReporter. By the page of limits (document 1696710758159360) answers that a limit
// refused have these headers. The page does not say whether other answers have them.
func (Platform) QuotaLeft(header http.Header) string {
	left, of := header.Get("X-RateLimit-Remaining"), header.Get("X-RateLimit-Limit")
	if left == "" || of == "" {
		return left
	}
	return left + " of " + of + " calls"
}
