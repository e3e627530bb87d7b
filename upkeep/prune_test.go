package upkeep_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/store/summaries"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/mediatest/invented"
	"adsync/media/pull"
	"adsync/upkeep"
)

// pruneNow is in the future, because a server has one partition for all days before the present one. Ids of runs end in
// 2039.
var pruneNow = time.Date(2035, 11, 21, 2, 0, 0, 0, time.UTC)

// pruning is a store whose tables hold rows of many ages.
type pruning struct {
	store *store.Store
	ages  []int // in days
}

func newPruning(t *testing.T, ages ...int) *pruning {
	t.Helper()
	s := storetest.New(t)
	require.NoError(t, s.EnsureRawTables(t.Context(),
		slices.Concat(media.Tables(invented.New()), media.Tables(invented.NewOrchid()))))
	p := &pruning{store: s, ages: slices.Clone(ages)}
	slices.SortFunc(p.ages, func(a, b int) int { return b - a })
	for _, age := range p.ages {
		d := day.Of(pruneNow, time.UTC).Add(-age)
		require.NoError(t, s.EnsurePartitions(t.Context(), d, d))
	}
	return p
}

// insert writes a row of a table. Columns that are not given are empty or 0.
func (p *pruning) insert(t *testing.T, db *sqldb.DB, table string, values map[string]any) {
	t.Helper()
	columns := slices.Sorted(maps.Keys(values))
	args := make([]any, len(columns))
	for i, c := range columns {
		args[i] = values[c]
	}
	require.NoError(t, db.Writer(t.Context()).Exec("INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") VALUES "+
		sqldb.Tuples(1, len(args)), args...).Error)
}

// days returns the tables whose rows belong to days, with the setting of each.
func (p *pruning) days() map[string]string {
	tables := map[string]string{
		"report_daily": "report_daily_days", "wide_daily": "report_daily_days", "wide_day": "report_daily_days",
		"coverage of report_daily": "report_daily_days", "report_hourly": "report_hourly_days",
		"coverage of report_hourly":      "report_hourly_days",
		"unusable_value of report_daily": "report_daily_days", "unusable_value of report_hourly": "report_hourly_days",
		"summary_daily": "summary_days", "summary_hourly": "summary_days",
	}
	for _, platform := range invented.Both() {
		for _, r := range platform.Reports() {
			tables[r.Table.Name] = map[bool]string{true: "raw_hourly_days", false: "raw_daily_days"}[r.Hourly]
		}
		tables[platform.Funds().Daily.Table.Name] = "raw_daily_days"
	}
	return tables
}

// put writes a row of a day into each table of days.
func (p *pruning) put(t *testing.T, d day.Day) {
	t.Helper()
	data := p.store.Data
	for _, platform := range invented.Both() {
		for _, table := range media.Tables(platform) {
			if _, ok := p.days()[table.Name]; !ok {
				continue
			}
			row := map[string]any{"row_json": "{}", "version": 1}
			for _, k := range table.Key() {
				row[k] = map[string]any{"day": d, "account_id": 1, "hour": 0}[k]
				if row[k] == nil {
					row[k] = "x"
				}
			}
			p.insert(t, data, table.Name, row)
		}
	}
	for _, level := range []string{"account", "campaign", "adgroup", "creative"} {
		public := map[string]any{"day": d, "account_id": 1, "level": level, "object_id": "x", "media": "tulip", "version": 1,
			"updated_at": sqldb.At(pruneNow)}
		wide := maps.Clone(public)
		wide["game"], wide["os"] = "g", "ios"
		p.insert(t, data, "wide_daily", wide)
		public["currency"], public["day_zone"] = "CNY", "UTC"
		p.insert(t, data, "report_daily", public)
		public["hour"] = 3
		p.insert(t, data, "report_hourly", public)
		for _, report := range []string{"report_daily", "report_hourly"} {
			p.insert(t, data, "coverage", map[string]any{"account_id": 1, "report": report, "level": level, "day": d,
				"media": "tulip"})
			p.insert(t, data, "unusable_value", map[string]any{
				"account_id": 1, "report": report, "level": level, "day": d, "field": "f", "kind": "figure", "media": "tulip",
				"number": 1, "why": "", "seen_at": sqldb.At(pruneNow),
			})
		}
	}
	p.insert(t, data, "wide_day", map[string]any{"account_id": 1, "day": d, "media": "tulip", "mark": 1})
	summary := map[string]any{"day": d, "game": "g", "media": "tulip", "os": "ios", "currency": "CNY", "day_zone": "UTC",
		"updated_at": sqldb.At(pruneNow), "version": 1}
	p.insert(t, data, "summary_daily", summary)
	summary["hour"], summary["start_utc"] = 3, sqldb.At(pruneNow)
	p.insert(t, data, "summary_hourly", summary)
}

// left returns the ages of the days for which a table has rows, descending.
func (p *pruning) left(t *testing.T, table string) (ages []int) {
	t.Helper()
	name, report, _ := strings.Cut(table, " of ")
	query := "SELECT DISTINCT day FROM " + name + " WHERE day > '1970-01-01'"
	if report != "" {
		query += " AND report = '" + report + "'"
	}
	var days []day.Day
	require.NoError(t, p.store.Data.Writer(t.Context()).Raw(query+" ORDER BY day").Scan(&days).Error)
	today := day.Of(pruneNow, time.UTC)
	for _, d := range days {
		ages = append(ages, len(day.Between(d, today))-1)
	}
	return ages
}

func (p *pruning) run(t *testing.T, r upkeep.Retention) {
	t.Helper()
	p.runWithin(context.WithoutCancel(t.Context()), t, r)
}

func (p *pruning) runWithin(ctx context.Context, t *testing.T, r upkeep.Retention) {
	t.Helper()
	handlers := upkeep.Handlers(upkeep.Deps{
		Store: p.store, Marks: p.store.Data, Clock: clock.NewScaled(pruneNow, 1, true), Logger: slog.New(slog.DiscardHandler),
		Platforms: invented.Both(), Retention: r,
	})
	h, ok := media.NewRegistry(handlers...).Get("system.tables")
	require.True(t, ok)
	work := media.Work{}
	work.Part = "prune"
	_, err := h.Run(ctx, work)
	require.NoError(t, err)
}

// upTo returns the ages that stay with a retention of a number of days; 0 means all.
func (p *pruning) upTo(days int) []int {
	return slices.DeleteFunc(slices.Clone(p.ages), func(age int) bool { return days != 0 && age > days })
}

// retention has a different number of days in each setting.
var retention = map[string]int{
	"raw_hourly_days": 41, "raw_daily_days": 48, "report_hourly_days": 55, "report_daily_days": 72, "summary_days": 79,
	"run_days": 86, "dead_days": 93, "config_change_days": 100, "audit_days": 107,
	"file_days": 114,
}

func retentionOf(days map[string]int) upkeep.Retention {
	return upkeep.Retention{
		RawHourlyDays: days["raw_hourly_days"], RawDailyDays: days["raw_daily_days"],
		ReportHourlyDays: days["report_hourly_days"], ReportDailyDays: days["report_daily_days"],
		SummaryDays: days["summary_days"], RunDays: days["run_days"], DeadDays: days["dead_days"],
		ConfigChangeDays: days["config_change_days"], AuditDays: days["audit_days"], FileDays: days["file_days"],
	}
}

// Each table has rows on both sides of each setting's boundary, and loses only the rows beyond its own.
func TestPrune_EachTableGoesByItsOwnSetting(t *testing.T) {
	t.Parallel()
	var ages []int
	for _, days := range retention {
		ages = append(ages, days, days+1)
	}
	p := newPruning(t, ages...)
	s := p.store
	epoch := func() int {
		var n int
		require.NoError(t,
			s.Data.Writer(t.Context()).Raw(
				"SELECT (SELECT COUNT(*) FROM coverage WHERE day = '1970-01-01') + (SELECT COUNT(*) FROM wide_day WHERE day = "+
					"'1970-01-01')").Row().Scan(&n))
		return n
	}
	p.insert(t, s.Data, "coverage", map[string]any{"account_id": 1, "report": "report_daily", "level": "account",
		"day": day.Epoch, "media": "tulip"})
	p.insert(t, s.Data, "wide_day", map[string]any{"account_id": 1, "day": day.Epoch, "media": "tulip", "mark": 1})
	// Rows that are kept by a moment lie one minute on either side of a boundary.
	moment := func(age int) time.Time {
		if slices.Contains(slices.Collect(maps.Values(retention)), age) {
			return pruneNow.AddDate(0, 0, -age).Add(time.Minute)
		}
		return pruneNow.AddDate(0, 0, 1-age).Add(-time.Minute)
	}
	timed := map[string]string{
		"run": "run_days", "tick": "run_days", "manual_order": "run_days", "tick_answer": "run_days",
		"stop_order":   "run_days",
		"subtask_dead": "dead_days", "config_change": "config_change_days", "audit_log": "audit_days",
		"publication": "file_days",
	}
	for i, age := range p.ages {
		p.put(t, day.Of(pruneNow, time.UTC).Add(-age))
		at := moment(age)
		id := task.FirstRunIDAt(at)
		p.insert(t, s.Data, "run", map[string]any{
			"id": id, "task_id": 7, "task_name": "t", "media": "tulip", "handler": "h", "lane": "normal", "task_revision": 1,
			"settings": "{}", "kind": "tick",
			"planned_at": sqldb.At(at), "state": "succeeded", "epoch": 1, "created_at": sqldb.At(at),
		})
		p.insert(t, s.Data, "tick", map[string]any{"task_id": 7, "planned_at": sqldb.At(at), "run_id": id,
			"made_at": sqldb.At(at)})
		p.insert(t, s.Data, "tick_answer", map[string]any{"task_id": 8, "run_id": id, "predecessor_task_id": 7,
			"planned_at": sqldb.At(at)})
		p.insert(t, s.Data, "manual_order", map[string]any{"run_id": id, "task_id": 7, "request": "{}", "ordered_by": "otto",
			"ordered_at": sqldb.At(at), "taken": 1})
		p.insert(t, s.Data, "stop_order", map[string]any{
			"id": task.FirstRunIDAt(at.Add(-time.Second)), "verb": "pause", "kind": "media", "target": "tulip",
			"target_name": "tulip", "reason": "", "ordered_by": "otto",
			"ordered_at": sqldb.At(at.Add(-time.Second)), "state": "ended", "ended_at": sqldb.At(at),
		})
		p.insert(t, s.Data, "subtask_dead", map[string]any{
			"run_id": id + 1, "account_id": 1, "part": "p", "task_id": 7, "media": "tulip", "attempt": 1, "error_class": "bug",
			"error_print": "", "error_text": "", "dead_at": sqldb.At(at),
		})
		p.insert(t, s.Data, "config_change", map[string]any{
			"account_id": i%3 + 1, "version": at.UnixMicro(), "level": "adgroup", "object_id": "x", "field": "f",
			"before_value": "", "after_value": "", "seen_at": sqldb.At(at),
		})
		p.insert(t, s.Data, "publication", map[string]any{
			"id": id, "subscription": "sales", "from_day": day.Of(at, time.UTC), "to_day": day.Of(at, time.UTC), "revision": i,
			"sequence": i, "destination": "shelf", "name": "x", "state": "published", "planned_at": sqldb.At(at),
			"updated_at": sqldb.At(at),
		})
		p.insert(t, s.Config, "audit_log", map[string]any{"at": sqldb.At(at), "actor": "otto", "action": "a", "object": "o"})
	}
	counts := func() map[string]int {
		all := map[string]int{}
		for table := range timed {
			db := s.Data
			if table == "audit_log" {
				db = s.Config
			}
			var n int
			require.NoError(t, db.Writer(t.Context()).Raw("SELECT COUNT(*) FROM "+table).Row().Scan(&n))
			all[table] = n
		}
		return all
	}

	p.run(t, upkeep.Retention{})
	for table := range p.days() {
		require.Equal(t, p.ages, p.left(t, table), "%s: 0 is forever", table)
	}
	for table, n := range counts() {
		require.Equal(t, len(p.ages), n, "%s: 0 is forever", table)
	}

	p.run(t, retentionOf(retention))
	for table, setting := range p.days() {
		require.Equal(t, p.upTo(retention[setting]), p.left(t, table), "%s goes by %s", table, setting)
	}
	for table, n := range counts() {
		require.Len(t, p.upTo(retention[timed[table]]), n, "%s goes by %s", table, timed[table])
	}
	require.Equal(t, 2, epoch(), "what is known of the configuration is of no day")
}

// No setting deletes a day that a task still pulls, in any zone and at any hour.
func TestPrune_KeepsEveryDayThatATaskStillPulls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, handler, params string
	}{
		{"a report", "tulip.report_daily", `{"level":"account","days":60}`},
		{"a report that leaves out the newest days", "tulip.report_daily", `{"level":"adgroup","days":60,"skip":50}`},
		{"an hourly report", "tulip.report_hourly", `{"level":"account","days":60}`},
		{"the cash flow", "tulip.fund_daily", `{"days":60}`},
		{"the cash flow of another platform", "orchid.fund_daily", `{"days":60}`},
		{"the past of new accounts", "tulip.initialise", `{"days":60}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(c.handler, ".")
			oldest := oldestPulled(t, c.handler, c.params)
			today := day.Of(pruneNow, time.UTC)
			age := len(day.Between(oldest, today)) - 1
			require.Greater(t, age, 55)
			p := newPruning(t, age, age+70)
			_, err := p.store.SeedTasks(t.Context(), []settings.NewTask{{Name: "t", Media: name, Handler: c.handler,
				Cron: "@daily", Lane: "normal", Scope: "all", Params: c.params}})
			require.NoError(t, err)
			for _, age := range p.ages {
				p.put(t, today.Add(-age))
			}
			least := map[string]int{}
			for setting := range retention {
				least[setting] = 41
			}
			p.run(t, retentionOf(least))
			for table := range p.days() {
				require.Equal(t, []int{age}, p.left(t, table), table)
			}
		})
	}
}

// oldestPulled returns the oldest day that a task pulls at pruneNow for an account of any zone.
func oldestPulled(t *testing.T, handler, params string) day.Day {
	t.Helper()
	zone, err := time.LoadLocation("Pacific/Pago_Pago") // There it is yesterday for the longest.
	require.NoError(t, err)
	if strings.HasSuffix(handler, ".initialise") {
		var p struct{ Days int }
		require.NoError(t, json.Unmarshal([]byte(params), &p))
		return day.Of(pruneNow, zone).Add(-p.Days)
	}
	oldest := summaries.LastDay
	for _, platform := range invented.Both() {
		for _, h := range pull.Handlers(platform, pull.Deps{Logger: slog.New(slog.DiscardHandler),
			Registerer: prometheus.NewRegistry()}) {
			if h.Name != handler {
				continue
			}
			for hour := range 24 { // Pruning and pulls have their own hours.
				parts, err := h.Parts(media.Plan{PlannedAt: pruneNow.Add(time.Duration(hour) * time.Hour), Zone: zone,
					Params: json.RawMessage(params)})
				require.NoError(t, err)
				first, _, _ := strings.Cut(parts[0], "..")
				oldest = min(oldest, day.Day(first))
			}
		}
	}
	require.NotEqual(t, summaries.LastDay, oldest, fmt.Sprint("no handler ", handler))
	return oldest
}

// dead writes a subtask of a day's report that died at a moment. The day of a healed one was pulled completely since.
func (p *pruning) dead(t *testing.T, taskID, account int64, at time.Time, healed bool) {
	t.Helper()
	d := day.Of(at, time.UTC)
	p.insert(t, p.store.Data, "subtask_dead", map[string]any{
		"run_id": task.FirstRunIDAt(at.Add(-time.Minute)), "account_id": account, "part": d.String(), "task_id": taskID,
		"media": "tulip", "attempt": 1,
		"error_class": "bug", "error_print": "", "error_text": "", "dead_at": sqldb.At(at),
	})
	if healed {
		p.insert(t, p.store.Data, "coverage", map[string]any{
			"account_id": account, "report": "report_daily", "level": "account", "day": d, "media": "tulip", "state": "complete",
			"pulled_at": sqldb.At(at.Add(time.Hour)), "complete_version": at.Add(time.Hour).UnixMicro(),
		})
	}
}

func (p *pruning) task(t *testing.T) (id int64) {
	t.Helper()
	_, err := p.store.SeedTasks(t.Context(), []settings.NewTask{{Name: "t", Media: "tulip", Handler: "tulip.report_daily",
		Cron: "@daily", Lane: "normal", Scope: "all", Params: `{"level":"account"}`}})
	require.NoError(t, err)
	require.NoError(t, p.store.Config.Writer(t.Context()).Raw("SELECT id FROM cron_task WHERE name = 't'").Row().Scan(&id))
	return id
}

// column returns a column of whole numbers, in ascending order.
func (p *pruning) column(t *testing.T, table, column string) (all []int64) {
	t.Helper()
	require.NoError(t, p.store.Data.Writer(t.Context()).Raw("SELECT "+column+" FROM "+table+" ORDER BY "+
		column).Scan(&all).Error)
	return all
}

func TestPrune_HealedSubtasksGoByTheirOwnSetting(t *testing.T) {
	t.Parallel()
	p := newPruning(t)
	id := p.task(t)
	boundary := pruneNow.AddDate(0, 0, -20)
	p.dead(t, id, 1, boundary.Add(time.Minute), true)
	p.dead(t, id, 2, boundary.Add(-time.Minute), true)
	p.dead(t, id, 3, boundary.Add(-time.Minute), false)
	p.run(t, upkeep.Retention{DeadDays: 93, RunDays: 15})
	require.Equal(t, []int64{1, 2, 3}, p.column(t, "subtask_dead", "account_id"), "0 is as long as the others")
	p.run(t, upkeep.Retention{DeadDays: 93, RunDays: 15, HealedDays: 20})
	require.Equal(t, []int64{1, 3}, p.column(t, "subtask_dead", "account_id"))
}

// A moment without a tick counts as missed while a task's window is open.
func TestPrune_KeepsTheTicksOfTheLongestWindow(t *testing.T) {
	t.Parallel()
	p := newPruning(t)
	id := p.task(t)
	require.NoError(t, p.store.Config.Writer(t.Context()).Exec("UPDATE cron_task SET catch_up_window_seconds = ?",
		120*24*60*60).Error)
	for _, age := range []int64{1, 100, 120, 122} {
		at := pruneNow.AddDate(0, 0, -int(age))
		run := task.FirstRunIDAt(at)
		p.insert(t, p.store.Data, "run", map[string]any{
			"id": run, "task_id": id, "task_name": "t", "media": "tulip", "handler": "h", "lane": "normal", "task_revision": age,
			"settings": "{}", "kind": "tick",
			"planned_at": sqldb.At(at), "state": "succeeded", "epoch": 1, "created_at": sqldb.At(at),
		})
		p.insert(t, p.store.Data, "tick", map[string]any{"task_id": id, "planned_at": sqldb.At(at), "run_id": run,
			"made_at": sqldb.At(at)})
	}
	p.run(t, upkeep.Retention{RunDays: 86})
	require.Equal(t, []int64{1, 100, 120}, p.column(t, "run", "task_revision"))
	require.Len(t, p.column(t, "tick", "run_id"), 3)
	require.NoError(t, p.store.Config.Writer(t.Context()).Exec("UPDATE cron_task SET catch_up_window_seconds = 60").Error)
	p.run(t, upkeep.Retention{RunDays: 110})
	require.Equal(t, []int64{1, 100}, p.column(t, "run", "task_revision"), "no less than the setting")
}

func TestPrune_LeavesTheRestWhenItsTimeIsShort(t *testing.T) {
	t.Parallel()
	p := newPruning(t)
	p.dead(t, p.task(t), 1, pruneNow.AddDate(0, 0, -100), false)
	ctx, stop := context.WithTimeout(t.Context(), 25*time.Second) // The margin is longer.
	defer stop()
	p.runWithin(ctx, t, upkeep.Retention{DeadDays: 93})
	require.Len(t, p.column(t, "subtask_dead", "account_id"), 1)
	p.run(t, upkeep.Retention{DeadDays: 93})
	require.Empty(t, p.column(t, "subtask_dead", "account_id"))
}

func TestRetention_Validate(t *testing.T) {
	t.Parallel()
	require.NoError(t, upkeep.Retention{}.Validate())
	require.NoError(t, upkeep.DefaultRetention().Validate())
	for key, c := range map[string]struct {
		least int
		of    func(days int) upkeep.Retention
	}{
		"raw_hourly_days":    {8, func(d int) upkeep.Retention { return upkeep.Retention{RawHourlyDays: d} }},
		"raw_daily_days":     {40, func(d int) upkeep.Retention { return upkeep.Retention{RawDailyDays: d} }},
		"report_hourly_days": {40, func(d int) upkeep.Retention { return upkeep.Retention{ReportHourlyDays: d} }},
		"report_daily_days":  {70, func(d int) upkeep.Retention { return upkeep.Retention{ReportDailyDays: d} }},
		"summary_days":       {40, func(d int) upkeep.Retention { return upkeep.Retention{SummaryDays: d} }},
		"run_days":           {14, func(d int) upkeep.Retention { return upkeep.Retention{RunDays: d} }},
		"dead_days":          {14, func(d int) upkeep.Retention { return upkeep.Retention{DeadDays: d} }},
		"healed_days":        {1, func(d int) upkeep.Retention { return upkeep.Retention{HealedDays: d} }},
		"config_change_days": {14, func(d int) upkeep.Retention { return upkeep.Retention{ConfigChangeDays: d} }},
		"audit_days":         {14, func(d int) upkeep.Retention { return upkeep.Retention{AuditDays: d} }},
		"file_days":          {40, func(d int) upkeep.Retention { return upkeep.Retention{FileDays: d} }},
	} {
		require.NoError(t, c.of(c.least).Validate(), key)
		below := c.least - 1
		if below == 0 { // 0 means forever.
			below = -1
		}
		require.ErrorContains(t, c.of(below).Validate(), key)
		require.ErrorContains(t, c.of(below).Validate(), fmt.Sprintf("want %d or more, or 0 = forever", c.least))
	}
}
