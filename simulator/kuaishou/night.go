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
	file := func(at night.Moment, kind string, count int, name, what string) night.Event {
		return night.Event{At: at, Name: name, What: what,
			Order: map[string]any{"kind": kind, "endpoint": createTask, "count": count}}
	}
	return night.Platform{
		Media: k.about.Name, HourlyReports: "v1/report/unit_report", DailyReports: "v1/report/unit_report",
		OldReports: "v1/async_task/download", Ads: "kuaishou_unit", Modified: "update_time",
		Events: []night.Event{
			// The reports that are created first are those of the past of new accounts, at all levels.
			file(night.Evening, "cut_task", spoiledFiles, "file of a report cut off", "its size shows it: created again"),
			file(night.Evening, "bare_task", spoiledFiles, "file of a report without a column", "refused, and created again"),
			file(night.LookBack, "fail_task", 1, "asynchronous report failed", "created again under another name"),
			file(night.Lists, "expire_task", 1, "file of a report expired", "created again under another name"),
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
