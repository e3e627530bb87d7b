package tasklist

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/media"
)

var someLanes = []settings.Lane{{Media: "*", Name: "normal", PoolSize: 1},
	{Media: "tulip", Name: "own", PoolSize: 1, Partitions: 3}}

func goodRow() settings.TaskRow {
	return settings.TaskRow{
		ID: 1, Name: "daily", Media: "tulip", Handler: "tulip.report", Cron: "0 2 * * *", Timezone: "Asia/Shanghai",
		Lane: "normal", Scope: "active,inactive",
		Params: `{"level":"account"}`, Timeout: "300", TTL: "0", RetryMax: "5", RetryBase: "10", Overlap: "skip",
		CatchUp: "all", CatchUpWindow: "3600",
		CatchUpOrder: "newest_first", CatchUpSpread: "30", Concurrency: "serial", ExclusiveMax: "60", FanOutRate: "100",
		Enabled: "1", Revision: "4",
	}
}

type reportParams struct {
	Level string `json:"level"`
}

func handlers() *media.Registry {
	return media.NewRegistry(
		media.Handler{
			Name: "tulip.report", Target: media.Accounts,
			Check: func(raw json.RawMessage) error { return media.CheckParams(raw, &reportParams{}) },
		},
		media.Handler{Name: "tulip.token", Target: media.Logins},
		media.Handler{Name: "system.tidy", Target: media.Once},
	)
}

func TestReadTask(t *testing.T) {
	t.Parallel()
	got, errs := readTask(goodRow(), handlers(), someLanes)
	require.Empty(t, errs)
	require.Equal(t, task.Task{
		ID: 1, Name: "daily", Media: "tulip", Handler: "tulip.report", Cron: "0 2 * * *", Timezone: "Asia/Shanghai",
		Enabled: true, Revision: 4,
		Settings: task.Settings{
			Lane: "normal", Scope: "active,inactive", Params: []byte(`{"level":"account"}`), Timeout: 5 * time.Minute,
			RetryMax: 5, RetryBase: 10 * time.Second,
			Overlap: task.OverlapSkip, CatchUp: task.CatchUpAll, CatchUpWindow: time.Hour,
			CatchUpOrder: task.NewestFirst, CatchUpSpread: 30 * time.Second, Concurrency: task.Serial, ExclusiveMax: time.Minute,
			ExclusiveOver: task.OverLane, ExclusiveDrain: time.Minute, FanOutRate: 100,
		},
	}, got.Task)
	require.Equal(t, []string{"active", "inactive"}, got.Tiers())
	require.Empty(t, task.Settings{Scope: "all"}.Tiers())

	keyed := goodRow()
	keyed.SerialKey = "{level}/{account}"
	got, errs = readTask(keyed, handlers(), someLanes)
	require.Empty(t, errs)
	require.Equal(t, "{level}/{account}", got.SerialKey)
}

func TestReadTask_Refuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*settings.TaskRow)
		key    string
		want   string
	}{
		{"a garbage cron", func(r *settings.TaskRow) { r.Cron = "garbage" }, "cron", "five fields"},
		{"a garbage zone", func(r *settings.TaskRow) { r.Timezone = "Asia/Shangai" }, "timezone", "IANA"},
		{"an unknown handler", func(r *settings.TaskRow) { r.Handler = "tulip.reprot" }, "handler", "tulip.report"},
		{"another platform's handler", func(r *settings.TaskRow) { r.Media = "system" }, "handler", "of the media system"},
		{"an unknown media", func(r *settings.TaskRow) { r.Media = "myspace" }, "media", "system, tulip"},
		{"params that are no JSON", func(r *settings.TaskRow) { r.Params = "{" }, "params", "JSON"},
		{"params that the handler refuses", func(r *settings.TaskRow) { r.Params = `{"lvl":1}` }, "params",
			"there is no such field"},
		{"params for a handler that takes none", func(r *settings.TaskRow) { r.Handler = "tulip.token" }, "params",
			"takes none"},
		{"a lane that no topic can be named by", func(r *settings.TaskRow) { r.Lane = "Äh!" }, "lane", "lower-case"},
		{"a lane without a row", func(r *settings.TaskRow) { r.Lane = "urgent" }, "lane", "has a row for"},
		{"an unknown tier", func(r *settings.TaskRow) { r.Scope = "active, inactive" }, "scope", "no blanks"},
		{"an empty scope", func(r *settings.TaskRow) { r.Scope = "" }, "scope", "all, or some of"},
		{"a name that no URL can hold", func(r *settings.TaskRow) { r.Name = "a/b" }, "name", "letters"},
		{"a timeout in words", func(r *settings.TaskRow) { r.Timeout = "soon" }, "timeout_seconds", "whole number"},
		{"params twice", func(r *settings.TaskRow) { r.Params = `{"level":"account","level":"adgroup"}` }, "params",
			"params.level: is given twice"},
		{"params in another case", func(r *settings.TaskRow) { r.Params = `{"Level":"account"}` }, "params",
			`want "level", in this case`},
		{"params that are null", func(r *settings.TaskRow) { r.Params = "null" }, "params", "is null: want an object"},
		{"a param that is null", func(r *settings.TaskRow) { r.Params = `{"level":null}` }, "params",
			"params.level: is null"},
		{"params with more behind", func(r *settings.TaskRow) { r.Params = `{"level":"account"}{}` }, "params",
			"JSON, or nothing"},
		{"no timeout", func(r *settings.TaskRow) { r.Timeout = "0" }, "timeout_seconds", "from 1"},
		{"a negative time to live", func(r *settings.TaskRow) { r.TTL = "-1" }, "ttl_seconds", "from 0"},
		{"an unknown overlap", func(r *settings.TaskRow) { r.Overlap = "maybe" }, "overlap", "skip"},
		{"an unknown overlap", func(r *settings.TaskRow) { r.Overlap = "wait" }, "overlap", "skip, queue, replace"},
		{"an unknown concurrency", func(r *settings.TaskRow) { r.Concurrency = "single" }, "concurrency",
			"parallel, serial, exclusive"},
		{"an unknown order of catching up", func(r *settings.TaskRow) { r.CatchUpOrder = "random" }, "catch_up_order",
			"oldest_first, newest_first"},
		{"an application with a blank", func(r *settings.TaskRow) { r.Application = "my shop" }, "application",
			"lower-case letters"},
		{"a serial key of an unknown field", func(r *settings.TaskRow) { r.SerialKey = "{lvl}" }, "serial_key",
			`the params have no field "lvl"`},
		{"a serial key of a parallel task", func(r *settings.TaskRow) { r.SerialKey, r.Concurrency = "{level}", "parallel" },
			"serial_key", "nothing unless concurrency is serial"},
		{"an exclusive without end", func(r *settings.TaskRow) { r.ExclusiveMax = "0" }, "exclusive_max_seconds",
			"1 to 86400"},
		{"an exclusive over too much", func(r *settings.TaskRow) { r.ExclusiveOver = "all" }, "exclusive_over",
			"lane, platform, everything"},
		{"an exclusive that never drains", func(r *settings.TaskRow) { r.ExclusiveDrain = "0" }, "exclusive_drain_seconds",
			"1 to 86400"},
		{"neither a cron nor predecessors", func(r *settings.TaskRow) { r.Cron = "" }, "cron", "five fields"},
		{"a cron next to predecessors", func(r *settings.TaskRow) { r.After = "hourly" }, "cron",
			"nothing next to after_tasks"},
		{"itself as its predecessor", func(r *settings.TaskRow) { r.Cron, r.After = "", "hourly,daily" }, "after_tasks",
			"after itself"},
		{"a predecessor twice", func(r *settings.TaskRow) { r.Cron, r.After = "", "hourly,hourly" }, "after_tasks",
			"not hourly twice"},
		{"predecessors with blanks", func(r *settings.TaskRow) { r.Cron, r.After = "", "hourly, weekly" }, "after_tasks",
			"no blanks"},
		{"a garbage zone next to predecessors", func(r *settings.TaskRow) {
			r.Cron, r.After, r.Timezone = "", "hourly",
				"here"
		}, "timezone", "IANA"},
		{"an unknown catch-up", func(r *settings.TaskRow) { r.CatchUp = "some" }, "catch_up", "none, latest, all"},
		{"an enabled that is neither", func(r *settings.TaskRow) { r.Enabled = "2" }, "enabled", "0, 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			row := goodRow()
			tt.change(&row)
			got, errs := readTask(row, handlers(), someLanes)
			require.Nil(t, got)
			require.Len(t, errs, 1, "%v", errs)
			require.Equal(t, tt.key, errs[0].Key)
			require.Contains(t, errs[0].Want, tt.want)
		})
	}
}

func TestReadTask_NamesAllThatIsWrong(t *testing.T) {
	t.Parallel()
	row := goodRow()
	row.Cron, row.Handler, row.Scope, row.RetryMax = "x", "y", "z", "many"
	_, errs := readTask(row, handlers(), someLanes)
	var keys []string
	for _, e := range errs {
		keys = append(keys, e.Key)
	}
	require.Equal(t, []string{"cron", "handler", "scope", "retry_max"}, keys)
}

func TestPartitions_TheRowOfTheMediaWins(t *testing.T) {
	t.Parallel()
	list := &List{lanes: append(someLanes, someLanes[1])}
	list.lanes[2].Name, list.lanes[2].Partitions = "normal", 9
	require.Equal(t, 3, list.Partitions("tulip", "own"))
	require.Equal(t, 9, list.Partitions("tulip", "normal"))
	require.Equal(t, 0, list.Partitions("orchid", "normal"))
}
