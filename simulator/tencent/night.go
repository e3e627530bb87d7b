package tencent

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"adsync/simulator/night"
)

const hourlyReports, dailyReports = "hourly_reports/get", "daily_reports/get"

// Night implements platform.Platform.
func (t *tencent) Night() night.Platform {
	return night.Platform{
		Media: t.about.Name, HourlyReports: hourlyReports, DailyReports: dailyReports, Ads: "tencent_adgroup",
		Modified: "last_modified_time",
		Events: []night.Event{
			{At: night.Midnight, Kind: night.AccountFrozen},
			{
				At: night.FirstHour, Name: "answer cut off", What: "called again",
				Order: map[string]any{"kind": "half_body", "endpoint": hourlyReports, "count": 3},
			},
			{At: night.LookBack, Kind: night.EmptyYesterday},
			// Rows move while pages are read, once for every query. The look-back is the last pull of yesterday's hours until
			// the morning, and the first pull of those of creatives. The platform has no own sums: only the total shows
			// the loss.
			{
				At: night.LookBack, Name: "last row lost", What: "the total shows it: pulled again",
				Order: map[string]any{"kind": "lost_row", "endpoint": hourlyReports, "once": true},
			},
			{
				At: night.Lists, Name: "over the limit", What: "waited, at no attempt",
				Order: map[string]any{"kind": "over_limit", "endpoint": "adgroups/get", "count": 2},
			},
			{At: night.Opening, Kind: night.AccountOpened},
			{At: night.Morning, Kind: night.MetricRetired, Field: "reg_pv"},
			{At: night.Reconciling, Kind: night.DayLost, Ago: 3},
		},
	}
}

// CheapCall implements platform.Platform.
func (t *tencent) CheapCall(ctx context.Context, address, token string) (*http.Request, error) {
	query := url.Values{
		"access_token": {token}, "timestamp": {strconv.FormatInt(time.Now().Unix(), 10)}, "nonce": {rand.Text()},
		tencentPageModeKey: {tencentByPage}, "page": {"1"}, "page_size": {"1"},
	}
	return http.NewRequestWithContext(ctx, http.MethodGet, address+t.about.BasePath+"/organization_account_relation/get?"+
		query.Encode(), nil)
}
