package engine

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDefaultTasks_PullEveryLevelAtItsPace(t *testing.T) {
	t.Parallel()
	crons := map[string]string{}
	for _, task := range DefaultTasks(Platforms()) {
		require.NotContains(t, crons, task.Name)
		crons[task.Name] = task.Cron
		if task.Params != "" {
			require.True(t, json.Valid([]byte(task.Params)))
		}
	}
	for name, cron := range map[string]string{
		"tencent.report_daily.account":             "*/2 * * * *",
		"tencent.report_daily.adgroup":             "*/10 * * * *",
		"tencent.report_daily.creative":            "*/30 * * * *",
		"tencent.dynamic_creative.changes":         "*/30 * * * *",
		"oceanengine.report_hourly.campaign":       "*/10 * * * *",
		"oceanengine.report_hourly.creative":       "", // the night's alone
		"oceanengine.project.changes":              "*/10 * * * *",
		"oceanengine.promotion_material.full":      "30 3 * * *",
		"tencent.report_hourly.creative.look_back": "40 1,8 * * *",
	} {
		require.Equal(t, cron, crons[name], name)
	}
	for _, p := range Platforms() {
		for _, r := range p.Reports() {
			require.Contains(t, crons, p.Name()+"."+r.Name+"."+r.Level+".look_back", "every report is looked back at")
		}
	}
}
