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
