package kuaishou

import (
	"context"
	"net/http"
	"strings"

	"adsync/simulator/night"
)

// Night implements platform.Platform.
func (k *kuaishou) Night() night.Platform {
	return night.Platform{
		Media: k.about.Name, HourlyReports: "v1/report/unit_report", DailyReports: "v1/report/unit_report",
		Ads: "kuaishou_unit", Modified: "update_time",
	}
}

// CheapCall implements platform.Platform. The call names no account: it counts, and is refused afterwards.
func (k *kuaishou) CheapCall(ctx context.Context, address, token string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address+k.about.BasePath+"/v1/advertiser/info",
		strings.NewReader("{}"))
	if err == nil {
		req.Header.Set("Access-Token", token)
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}
