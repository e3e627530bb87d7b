package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/media/system"
)

// What comes every ten or thirty minutes begins at different ones.
func TestDefaultTasks_AreSpreadOverTheMinutes(t *testing.T) {
	t.Parallel()
	begin := map[string]string{}
	for _, task := range DefaultTasks(Platforms()) {
		if !strings.HasPrefix(task.Name, system.Name) && (strings.Contains(task.Cron, "/10 ") || strings.Contains(task.Cron, "/30 ")) {
			require.NotContains(t, begin, task.Cron, "%s and %s", task.Name, begin[task.Cron])
			begin[task.Cron] = task.Name
		}
	}
	require.Len(t, begin, 17)
}

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
		"tencent.report_daily.adgroup":             "1-59/2 * * * *",
		"oceanengine.report_hourly.creative":       "", // the night's alone
		"oceanengine.promotion_material.full":      "30 3 * * *",
		"tencent.report_hourly.creative.look_back": "40 1,8 * * *",
	} {
		require.Equal(t, cron, crons[name], name)
	}
	for suffix, period := range map[string]int{
		"tencent.report_daily.creative": 30, "tencent.dynamic_creative.changes": 30, "tencent.balance": 30, "oceanengine.image.changes": 30,
		"oceanengine.report_hourly.campaign": 10, "oceanengine.project.changes": 10, "tencent.adgroup.changes": 10, "oceanengine.probe": 10,
	} {
		require.Regexp(t, fmt.Sprintf(`^\d+-59/%d \* \* \* \*$`, period), crons[suffix], suffix)
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
