package oceanengine

import (
	"context"
	"net/http"

	"adsync/simulator/night"
)

const reports = "v3.0/report/custom/get"

// Night implements platform.Platform.
func (o *oceanEngine) Night() night.Platform {
	return night.Platform{
		Media: o.about.Name, HourlyReports: reports, DailyReports: reports, Ads: "oceanengine_promotion",
		Modified: "promotion_modify_time",
		Events: []night.Event{
			{At: night.FirstHour, Kind: night.AccountRevoked},
			// Rows differ from the platform's own sums in the first answer to every query. The look-back pulls the days before
			// once: for today, the next pull would correct what a pull without sums misses.
			{
				At: night.LookBack, Name: "row out of step", What: "the platform's own sums show it: pulled again",
				Order: map[string]any{"kind": "wrong_row", "endpoint": reports, "once": true},
			},
			{At: night.LateFigures, Kind: night.YesterdayCorrected},
			{
				At: night.LateFigures, Kind: night.CreativesDropped,
				Gone: "SELECT COUNT(*) FROM oceanengine_promotion_material m JOIN oceanengine_promotion p ON p.account_id = " +
					"m.account_id" +
					" AND p.object_id = m.promotion_id WHERE m.account_id = ? AND p.deleted_at IS NULL AND m.deleted_at IS NOT NULL",
			},
			{
				At: night.OldAnswers, Name: "server error", What: "tried again",
				Order: map[string]any{"kind": "status", "status": http.StatusServiceUnavailable, "endpoint": reports, "count": 4},
			},
			// Nothing else may sum up the old days again afterwards, as that would hide a rebinding that does not: no account
			// of this platform is opened, and the weekly pulls are done.
			{At: night.Reconciling, Kind: night.AccountRebound},
		},
	}
}

// CheapCall implements platform.Platform.
func (o *oceanEngine) CheapCall(ctx context.Context, address, token string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+o.about.BasePath+"/2/user/info/", nil)
	if err == nil {
		req.Header.Set("Access-Token", token)
	}
	return req, err
}
