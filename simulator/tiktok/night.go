package tiktok

import (
	"context"
	"net/http"

	"adsync/simulator/night"
)

// hoursBack is how many days back the night asks for hours: some clients go no further.
const hoursBack = 89

// Night implements platform.Platform.
func (t *tiktok) Night() night.Platform {
	return night.Platform{
		Media: t.about.Name, HourlyReports: reportEndpoint, DailyReports: reportEndpoint,
		Ads: "tiktok_adgroup", Modified: "modify_time", KeepsTokens: true,
		Events: []night.Event{
			// Clocks abroad are put back once a year: reports have a row for each of the two hours.
			{At: night.Midnight, Kind: night.HourRepeated, Ago: hoursBack},
			// An advertiser withdraws its grant of one account.
			{At: night.FirstHour, Kind: night.AccountRevoked},
			// Rows differ from the platform's own sums in the first answer to every query.
			{
				At: night.LookBack, Name: "row out of step", What: "the platform's own sums show it: pulled again",
				Order: map[string]any{"kind": "wrong_row", "endpoint": reportEndpoint, "once": true},
			},
			// Lists and reports leave out deleted ads, and their spend, unless they are asked for them.
			{
				At: night.LateFigures, Kind: night.CreativesDropped, What: "listed as deleted, and their figures stay",
				Gone: "SELECT COUNT(*) FROM tiktok_ad WHERE account_id = ? AND deleted_at IS NOT NULL",
			},
			{
				At: night.Lists, Name: "over the limit of the app", What: "waited, at no attempt",
				Order: map[string]any{"kind": "over_limit", "endpoint": "ad/get", "count": 2},
			},
			// Nothing but another authorisation replaces a token.
			{At: night.Tokens, Kind: night.GrantWithdrawn},
		},
	}
}

// CheapCall implements platform.Platform. The call names no account: it counts, and is refused afterwards.
func (t *tiktok) CheapCall(ctx context.Context, address, token string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+t.about.BasePath+"/advertiser/info/", nil)
	if err == nil {
		req.Header.Set("Access-Token", token)
	}
	return req, err
}
