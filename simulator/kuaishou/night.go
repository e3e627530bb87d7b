package kuaishou

import (
	"context"
	"net/http"
	"strings"

	"adsync/simulator/night"
)

const createTask = "v1/async_task/create"

// spoiledFiles is how many files of each kind are spoiled in the night.
const spoiledFiles = 8

// Night implements platform.Platform.
func (k *kuaishou) Night() night.Platform {
	return night.Platform{
		Media: k.about.Name, HourlyReports: "v1/report/unit_report", DailyReports: "v1/report/unit_report",
		OldReports: "v1/async_task/download", Ads: "kuaishou_unit", Modified: "update_time",
		Events: []night.Event{
			// The reports that are created first are those of the past of new accounts, at all levels.
			{
				At: night.Evening, Name: "file of a report cut off", What: "its size shows it: created again",
				Order: map[string]any{"kind": "cut_task", "endpoint": createTask, "count": spoiledFiles},
			},
			{
				At: night.Evening, Name: "file of a report without a column", What: "refused, and created again",
				Order: map[string]any{"kind": "bare_task", "endpoint": createTask, "count": spoiledFiles},
			},
			{
				At: night.LookBack, Name: "asynchronous report failed", What: "created again under another name",
				Order: map[string]any{"kind": "fail_task", "endpoint": createTask, "count": 1},
			},
			{
				At: night.Lists, Name: "file of a report expired", What: "created again under another name",
				Order: map[string]any{"kind": "expire_task", "endpoint": createTask, "count": 1},
			},
			// Real-time reports have the last week only: an asynchronous report is the only source of the day.
			{At: night.Reconciling, Kind: night.DayLost, Ago: reportBack + 2},
		},
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
