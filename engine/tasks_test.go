package engine

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDefaultTasks_PullEveryLevelAtItsPace(t *testing.T) {
	t.Parallel()
	crons, params := map[string]string{}, map[string]string{}
	for _, task := range DefaultTasks(Platforms()) {
		require.NotContains(t, crons, task.Name)
		crons[task.Name], params[task.Name] = task.Cron, task.Params
		if task.Params != "" {
			require.True(t, json.Valid([]byte(task.Params)))
		}
	}
	for name, cron := range map[string]string{
		"tencent.report_daily.account":             "*/2 * * * *",
		"tencent.report_daily.adgroup":             "*/2 * * * *",
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
	const moving = "moving_hours"
	require.JSONEq(t, `{"level":"account","days":1,"moving_hours":3}`, params["oceanengine.report_hourly.account"])
	require.JSONEq(t, `{"level":"account","days":1}`, params["oceanengine.report_hourly.account.day"], "whole days make what is pulled in between complete")
	require.Equal(t, "~ * * * *", crons["oceanengine.report_hourly.account.day"])
	require.NotContains(t, params["tencent.report_hourly.account"], moving, "Tencent cannot be asked for some hours")
	require.NotContains(t, crons, "tencent.report_hourly.account.day")
	require.NotContains(t, params["oceanengine.report_daily.account"], moving)
	require.NotContains(t, params["oceanengine.report_hourly.account.look_back"], moving)
	for _, p := range Platforms() {
		for _, r := range p.Reports() {
			require.Contains(t, crons, p.Name()+"."+r.Name+"."+r.Level+".look_back", "every report is looked back at")
		}
	}
}
