package bilibili

import (
	"context"
	"net/http"

	"adsync/simulator/night"
)

const unitList = "cpc/v3/unit/list_units"

// Night implements platform.Platform.
func (b *bilibili) Night() night.Platform {
	return night.Platform{
		Media: b.about.Name, HourlyReports: reportCall, DailyReports: reportCall, Ads: "bilibili_unit", Modified: "mtime",
		Events: []night.Event{
			{
				At: night.Lists, Name: "last page full", What: "the list ends with an empty page",
				Order: map[string]any{"kind": "full_page", "endpoint": unitList},
			},
			{At: night.LateFigures, Kind: night.DaysOrdered, Days: 3},
			// All tokens end in this scene. A refresh kills the pair at once, and its answer is late: in the meantime all
			// consumers hold a dead pair. There are two, since the request of the first one is lost in a world with traps.
			{
				At: night.Tokens, Name: "pair dead before its answer", What: "refreshed once: the others wait for the new pair",
				Order: map[string]any{"kind": "latency", "ms": 2000, "endpoint": tokenCall, "count": 2},
			},
			{At: night.Opening, Kind: night.RefreshLost, Endpoint: tokenCall},
		},
	}
}

// CheapCall implements platform.Platform.
func (b *bilibili) CheapCall(ctx context.Context, address, token string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+b.about.BasePath+"/oauth2/user", nil)
	if err == nil {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req, err
}
