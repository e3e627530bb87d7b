package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"adsync/base/store/settings"
	"adsync/media"
	"adsync/media/account"
	"adsync/publish"
	"adsync/upkeep"
)

// DefaultTasks returns the rows of cron_task of a new installation. They are written once, into an empty table.
// Operators change them as they like.
func DefaultTasks(platforms []media.Platform) []settings.NewTask {
	tasks := []settings.NewTask{
		{Name: "system.tables", Media: upkeep.Name, Handler: "system.tables", Cron: "5 * * * *", Lane: "important",
			Params: `{"keep_days":7}`},
		{Name: "system.summary", Media: upkeep.Name, Handler: "system.summary", Cron: "* * * * *", Lane: "important"},
		{Name: upkeep.CopyName, Media: upkeep.Name, Handler: upkeep.CopyName, Cron: "~/10 * * * *", Lane: "normal",
			TimeoutSeconds: 3600},
		// A day of an account is rebuilt completely. It runs four times an hour, and not together with the tasks of every
		// tenth minute.
		{Name: "system.wide", Media: upkeep.Name, Handler: upkeep.WideName, Cron: "7-59/15 * * * *", Lane: "normal"},
		{Name: "system.fill", Media: upkeep.Name, Handler: upkeep.FillName, Cron: "~/10 * * * *", Lane: "normal",
			Params: `{"max_subtasks":2000}`},
		{Name: "system.reconcile", Media: upkeep.Name, Handler: upkeep.ReconcileName, Cron: "0 9 * * *", Timezone: tasksZone,
			Lane: "offline", Params: `{"days":8}`},
		// Days that differed in the morning and were pulled again are checked soon.
		{Name: "system.reconcile.open", Media: upkeep.Name, Handler: upkeep.ReconcileName, Cron: "~ * * * *", Lane: "offline",
			Params: `{"only_open":true}`},
		// Large files take long to make and to deliver. A try that fails is repeated for about two hours.
		{Name: publish.FilesName, Media: publish.Media, Handler: publish.FilesName, Cron: "* * * * *", Lane: publish.Lane,
			TimeoutSeconds: 4 * 3600, RetryMax: 15},
	}
	minutes := spread{}
	for _, p := range platforms {
		tasks = append(tasks, platformTasks(p, minutes)...)
	}
	return tasks
}

// spread gives tasks of the same period different minutes. Limits are per second, and if all tasks began at one tick
// the figures of the present day would wait. The crons' own "~" depends on the name alone, which would give some
// minutes four of them.
type spread map[int]int // the number of tasks with a period, in minutes

// every returns the cron of the next task with a period of minutes: 10 or 30.
func (s spread) every(minutes int) string {
	at := s[minutes] * 7 % minutes // Each minute once before any twice, and neighbours far apart.
	s[minutes]++
	return fmt.Sprintf("%d-59/%d * * * *", at, minutes)
}

// tasksZone is the zone of the default tasks' crons: that of nearly all accounts of the present platforms.
const tasksZone = "Asia/Shanghai"

// platformTasks returns the tasks of every platform, derived from its description.
func platformTasks(p media.Platform, minutes spread) []settings.NewTask {
	name := p.Name()
	task := func(suffix, handler, cron, lane, scope string, params any) settings.NewTask {
		text := ""
		if params != nil {
			b, _ := json.Marshal(params) // Maps of strings and numbers cannot fail.
			text = string(b)
		}
		return settings.NewTask{Name: name + "." + suffix, Media: name, Handler: name + "." + handler, Cron: cron,
			Timezone: tasksZone, Lane: lane, Scope: scope, Params: text}
	}
	type params map[string]any
	tasks := []settings.NewTask{
		task("token_refresh", "token_refresh", "17 * * * *", "important", "all", nil),
		task("account_list", "account_list", "20 4 * * *", "normal", "all", nil),
		task("initialise", "initialise", "~/5 * * * *", "normal", "all", params{"days": account.InitialiseDaysDefault}),
		task("probe", "probe", minutes.every(10), "normal", "all", nil),
		task("activity", "activity", "50 * * * *", "normal", "all", nil),
	}
	for _, l := range p.Lists() {
		period := 10
		if isFine(l.Level) {
			period = 30
		}
		suffix, mode := ".changes", "changes"
		if l.NoSince { // Every pull reads the whole list.
			suffix, mode, period = ".active", "full", 30
		}
		tasks = append(tasks,
			task(l.Name+suffix, l.Name, minutes.every(period), "normal", "active", params{"mode": mode}),
			task(l.Name+".full", l.Name, "30 3 * * *", "offline", nightly, params{"mode": "full"}))
	}
	for _, r := range p.Reports() {
		now, lane := "", "normal"
		switch {
		case r.Level == "account":
			now, lane = "*/2 * * * *", "important"
		case r.Level == "adgroup":
			now = "1-59/2 * * * *" // Media buyers check these. They run after those of accounts.
		case isFine(r.Level) && r.Hourly:
			// The hours of creatives are most of all rows, and wait for the night.
		case isFine(r.Level):
			now = minutes.every(30)
		default:
			now = minutes.every(10)
		}
		today := params{"level": r.Level, "days": 1}
		if r.HasHours {
			today["moving_hours"] = movingHours
		}
		back := params{"level": r.Level, "days": lookBackDays(r)}
		suffix := r.Name + "." + r.Level
		if now != "" {
			tasks = append(tasks, task(suffix, r.Name, now, lane, "active", today))
			if r.HasHours {
				// The last hours change. The rest of the day, and what the platform removed from it, is pulled once an hour.
				tasks = append(tasks, task(suffix+".day", r.Name, "~ * * * *", "normal", "active",
					params{"level": r.Level, "days": 1}))
			}
		}
		// Once after midnight, and again when the platforms report yesterday as complete.
		tasks = append(tasks, task(suffix+".look_back", r.Name, "40 1,8 * * *", "offline", nightly, back))
		if days := min(matureDays, r.LookBack+1); !r.Hourly && days > lookBackDays(r) {
			// Figures of cohorts grow for weeks, in days that no look-back reaches any longer.
			tasks = append(tasks, task(suffix+".mature", r.Name, "20 5 * * 1", "offline", nightly,
				params{"level": r.Level, "days": days, "skip": lookBackDays(r)}))
		}
	}
	return slices.Concat(tasks, fundTasks(p.Funds(), minutes, task), operationTasks(p, minutes, task))
}

// operationTasks pull the platform's log of operations, if it has one. Entries may be shown late.
func operationTasks(p media.Platform, minutes spread,
	task func(suffix, handler, cron, lane, scope string, params any) settings.NewTask) []settings.NewTask {
	log, has := media.OperationsOf(p)
	if !has {
		return nil
	}
	name, days := media.OperationsName, min(7, log.LookBack+1)
	return []settings.NewTask{
		task(name, name, minutes.every(30), "normal", "active", map[string]any{"days": min(2, days)}),
		task(name+".look_back", name, "50 4 * * *", "offline", nightly, map[string]any{"days": days}),
	}
}

// fundTasks pull the money of accounts: of active ones every half hour, of all once a day, and the days' cash flow
// when platforms report that of yesterday. A late day comes with one of the next six.
func fundTasks(funds media.Funds, minutes spread,
	task func(suffix, handler, cron, lane, scope string, params any) settings.NewTask) (tasks []settings.NewTask) {
	if funds.Balance.Fetch != nil {
		tasks = append(tasks, task(media.BalanceName, media.BalanceName, minutes.every(30), "normal", "active", nil),
			task(media.BalanceName+".all", media.BalanceName, "10 4 * * *", "offline", nightly, nil))
	}
	if funds.Daily.Page != nil {
		tasks = append(tasks, task(media.FundDailyName, media.FundDailyName, "50 8 * * *", "offline", nightly,
			map[string]any{"days": 7}))
	}
	return tasks
}

// nightly is the scope of tasks that include quiet accounts. Accounts that cannot be pulled are left to the activity
// check.
const nightly = settings.TierActive + "," + settings.TierInactive

// movingHours is how many of the last hours are pulled continuously: platforms complete the hour before the present
// one late.
const movingHours = 3

// matureDays is how many days back figures of cohorts still change.
const matureDays = 30

// isFine reports whether a level has many rows that few users read within the hour.
func isFine(level string) bool { return level == "creative" || level == "image" || level == "video" }

// lookBackDays returns how many days the nightly pull covers, including today: late corrections reach back some days,
// and hours settle sooner. Some platforms keep fewer.
func lookBackDays(r media.Report) int {
	days := 7
	if r.Hourly {
		days = 2
	}
	return min(days, r.LookBack+1)
}
