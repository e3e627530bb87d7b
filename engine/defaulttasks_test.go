package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/media"
	"adsync/media/mediatest/invented"
	"adsync/media/pull"
	"adsync/upkeep"
)

// Tasks of every ten or thirty minutes start in different ones, as long as minutes are free.
func TestDefaultTasks_AreSpreadOverTheMinutes(t *testing.T) {
	t.Parallel()
	for _, period := range []int{10, 30} {
		begin := map[string][]string{}
		n := 0
		for _, task := range DefaultTasks(Platforms()) {
			if !strings.HasPrefix(task.Name, upkeep.Name) && strings.Contains(task.Cron, fmt.Sprintf("/%d ", period)) {
				begin[task.Cron] = append(begin[task.Cron], task.Name)
				n++
			}
		}
		require.Positive(t, n)
		for cron, names := range begin {
			require.LessOrEqual(t, len(names), (n+period-1)/period, "%s: %v", cron, names)
		}
	}
}

// shortSighted is a platform whose reports reach a week back.
type shortSighted struct{ media.Platform }

func (p shortSighted) Reports() []media.Report {
	reports := p.Platform.Reports()
	for i := range reports {
		reports[i].LookBack = 7
	}
	return reports
}

// A task whose days its platform does not keep would be refused when it is loaded.
func TestDefaultTasks_ReachNoFurtherBackThanThePlatform(t *testing.T) {
	t.Parallel()
	for _, platform := range Platforms() {
		handlers := media.NewRegistry(pull.Handlers(shortSighted{platform},
			pull.Deps{Registerer: prometheus.NewRegistry()})...)
		mature := 0
		for _, task := range DefaultTasks([]media.Platform{shortSighted{platform}}) {
			h, ok := handlers.Get(task.Handler)
			if !ok || h.Check == nil {
				continue
			}
			require.NoError(t, h.Check(json.RawMessage(task.Params)), task.Name)
			if strings.HasSuffix(task.Name, ".mature") {
				require.Contains(t, task.Params, `"days":8`, task.Name)
				mature++
			}
		}
		require.Positive(t, mature)
	}
}

func TestDefaultTasks_PullEveryLevelAtItsPace(t *testing.T) {
	t.Parallel()
	crons, params := map[string]string{}, map[string]string{}
	for _, task := range DefaultTasks(invented.Both()) {
		require.NotContains(t, crons, task.Name)
		crons[task.Name], params[task.Name] = task.Cron, task.Params
		if task.Params != "" {
			require.True(t, json.Valid([]byte(task.Params)))
		}
	}
	for name, cron := range map[string]string{
		"tulip.report_daily.account":             "*/2 * * * *",
		"tulip.report_daily.adgroup":             "1-59/2 * * * *",
		"orchid.report_hourly.creative":          "", // only at night
		"orchid.creative.full":                   "30 3 * * *",
		"tulip.report_hourly.creative.look_back": "40 1,8 * * *",
	} {
		require.Equal(t, cron, crons[name], name)
	}
	for suffix, period := range map[string]int{
		"tulip.report_daily.creative": 30, "tulip.creative.changes": 30, "tulip.balance": 30, "orchid.image.changes": 30,
		"orchid.report_hourly.campaign": 10, "orchid.campaign.active": 30, "tulip.adgroup.changes": 10, "orchid.probe": 10,
	} {
		require.Regexp(t, fmt.Sprintf(`^\d+-59/%d \* \* \* \*$`, period), crons[suffix], suffix)
	}
	require.NotContains(t, crons, "orchid.campaign.changes", "Orchid cannot select changed campaigns")
	require.JSONEq(t, `{"mode":"full"}`, params["orchid.campaign.active"])
	require.JSONEq(t, `{"days":2}`, params["orchid.operations"])
	require.JSONEq(t, `{"days":7}`, params["orchid.operations.look_back"])
	require.NotContains(t, crons, "tulip.operations", "Tulip has no log of operations")
	const moving = "moving_hours"
	require.JSONEq(t, `{"level":"account","days":1,"moving_hours":3}`, params["orchid.report_hourly.account"])
	require.JSONEq(t, `{"level":"account","days":1}`, params["orchid.report_hourly.account.day"],
		"whole days complete what is pulled in between")
	require.Equal(t, "~ * * * *", crons["orchid.report_hourly.account.day"])
	require.NotContains(t, params["tulip.report_hourly.account"], moving, "Tulip cannot be queried for single hours")
	require.NotContains(t, crons, "tulip.report_hourly.account.day")
	require.NotContains(t, params["orchid.report_daily.account"], moving)
	require.NotContains(t, params["orchid.report_hourly.account.look_back"], moving)
	for _, p := range invented.Both() {
		for _, r := range p.Reports() {
			require.Contains(t, crons, p.Name()+"."+r.Name+"."+r.Level+".look_back", "every report has a look-back")
		}
	}
}
