package baidu

import (
	"context"
	"net/http"
	"strings"

	"adsync/simulator/night"
	"adsync/simulator/platform"
)

// Night implements platform.Platform.
func (b *baidu) Night() night.Platform {
	return night.Platform{
		Media: b.about.Name, HourlyReports: getReport, DailyReports: getReport, Ads: "baidu_adgroup", Modified: "modtime",
		Events: []night.Event{
			// One account under a manager's token is refused from now on, in calls of its own and of several.
			{At: night.FirstHour, Kind: night.AccountRevoked},
			{
				At: night.LookBack, Name: "data as an object", What: "read like data as an array",
				Order: map[string]any{"kind": platform.FormOther, "endpoint": getReport, "count": 20},
			},
			// Removed creatives are in no list: only reports have them, under names with a mark.
			{
				At: night.LateFigures, Kind: night.CreativesDropped,
				Gone: "SELECT COUNT(*) FROM baidu_creative c JOIN baidu_adgroup g ON g.account_id = c.account_id " +
					"AND g.object_id = c.adgroup_id WHERE c.account_id = ? AND g.deleted_at IS NULL AND c.deleted_at IS NOT NULL",
			},
			{
				At: night.Lists, Name: "status 1 with the good part", What: "the good part kept, nothing marked as deleted",
				Order: map[string]any{"kind": platform.FormPart, "endpoint": feedAdgroupList, "count": 2},
			},
		},
	}
}

// CheapCall implements platform.Platform. The call names no account: it counts, and is refused afterwards.
func (b *baidu) CheapCall(ctx context.Context, address, token string) (*http.Request, error) {
	return http.NewRequestWithContext(ctx, http.MethodPost, address+b.about.BasePath+"/"+search+
		"BalanceService/getBalanceInfo", strings.NewReader(`{"header":{"userName":"none","accessToken":"`+token+`"}}`))
}
