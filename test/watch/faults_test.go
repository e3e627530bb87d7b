package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// trouble is a fault of the platforms, of the services or of people. Its alerts must fire while it lasts, and end
// after it is fixed.
type trouble struct {
	alerts []string
	// inject causes the fault, and returns the function that ends it.
	inject func(p *plant) (mend func())
}

// world is a running adsync that meets rounds of troubles. The troubles of a round happen at the same time.
type world struct {
	name     string
	accounts int
	setup    func(p *plant)
	calm     func(p *plant) // called before each round, so that no effect of the last one is left; may be nil
	rounds   [][]trouble
}

// none is for troubles that end without a fix.
func none() {}

// worlds returns all troubles. A trouble that would disturb the others has its own world.
var worlds = []world{
	{name: "platforms", accounts: 16, setup: beginAtNoon, calm: restAndTell, rounds: [][]trouble{
		{
			{alerts: []string{"AdsyncPauseForgotten warning"},
				inject: func(p *plant) func() { return p.pause("task", "system.wide") }},
			{alerts: []string{"AdsyncEndpointFails warning", "AdsyncDeadSubtasks warning"}, inject: endpointFails},
			{alerts: []string{"AdsyncEndpointSlow warning"}, inject: endpointIsSlow},
			{alerts: []string{"AdsyncLimitsRefused warning"}, inject: callsAreRefused},
			{alerts: []string{"AdsyncSuspectDays warning", "AdsyncSuspectPulls warning"}, inject: dayVanishes},
			{alerts: []string{"AdsyncLaneBehind critical", "AdsyncLaneBehind warning", "AdsyncPoolFull warning",
				"AdsyncRunOld warning"}, inject: platformHangs},
			{alerts: []string{"AdsyncAccountsParked warning"}, inject: accountIsFrozen},
			{alerts: []string{"AdsyncSpendUnassigned warning"}, inject: gameIsMistyped},
			{alerts: []string{"AdsyncBalanceLow warning"}, inject: spendJumps},
			{alerts: []string{"AdsyncSpendZero critical", "AdsyncSpendFalls critical"}, inject: figuresOfTodayVanish},
			{alerts: []string{"AdsyncLevelsDiffer warning"}, inject: levelsDiffer},
			{alerts: []string{"AdsyncHoles warning"}, inject: coverageIsDeleted},
			{alerts: []string{"AdsyncLimitsTight warning"}, inject: limitsAreTight},
			{alerts: []string{"AdsyncFieldRetired warning"}, inject: fieldIsRetired},
			{alerts: []string{"AdsyncWorkUnserved critical"}, inject: laneIsClosed},
			{alerts: []string{"AdsyncDestinationDown warning", "AdsyncFilesLate warning"}, inject: destinationIsAway},
			{alerts: []string{"AdsyncFilesFailed warning"}, inject: fileHasNoRows},
			{alerts: []string{"AdsyncFilesHeld warning"}, inject: figuresAreMissing},
			{alerts: []string{"AdsyncWebhookGivenUp warning"}, inject: webhookIsAway},
		},
	}},
	{name: "hours", accounts: 16, setup: beginAtNoon, calm: restAndTell, rounds: [][]trouble{
		{
			{alerts: []string{"AdsyncMoneyNotPulled critical", "AdsyncFiguresLate warning", "AdsyncSummaryStuck critical"},
				inject: nothingIsPulledForHours},
		},
	}},
	{name: "tables", accounts: 6, setup: begin, rounds: [][]trouble{
		{
			{alerts: []string{"AdsyncLeaderFails critical", "AdsyncTicksMissing critical"}, inject: ticksAreRefused},
			{alerts: []string{"AdsyncBadTasks warning"}, inject: taskIsMistyped},
			{alerts: []string{"AdsyncFiguresNotRead warning"}, inject: tableIsAway},
			{alerts: []string{"AdsyncOutcomesNotWritten critical"}, inject: countsAreRefused},
		},
		{
			{alerts: []string{"AdsyncDatabasePoolFull warning"}, inject: databaseIsLocked},
		},
	}},
	{name: "process", accounts: 6, setup: begin, rounds: [][]trouble{
		{
			{alerts: []string{"AdsyncHandlersHang warning"}, inject: handlerHangs},
			{alerts: []string{"AdsyncHandlerPanics warning"}, inject: handlerPanics},
			{alerts: []string{"AdsyncTicksLate warning", "AdsyncTicksGivenUp warning"}, inject: clockJumps},
		},
		{
			{alerts: []string{"AdsyncProcessKiller critical"}, inject: processDies},
		},
		{
			{alerts: []string{"AdsyncFilesNoRoom warning"}, inject: diskHasNoRoom},
		},
		{
			{alerts: []string{"AdsyncDown critical", "AdsyncNoLeader critical"}, inject: processIsGone},
		},
	}},
	{name: "jobs", accounts: 6, setup: beginAtOnce, rounds: [][]trouble{
		{
			{alerts: []string{"AdsyncJobsWait warning"}, inject: jobIsNotConsumed},
			{alerts: []string{"AdsyncJobsDie warning"}, inject: jobsLapse},
			{alerts: []string{"AdsyncJobsFail critical"}, inject: queuesAreRefused},
		},
	}},
	{name: "services", accounts: 6, setup: beginOnServices, rounds: [][]trouble{
		{
			{alerts: []string{"AdsyncRedisAway warning"}, inject: redisIsAway},
			{alerts: []string{"AdsyncLoginDead critical"}, inject: loginDies},
			{alerts: []string{"AdsyncRefreshTokenDies warning"}, inject: refreshTokenAges},
		},
		{
			{alerts: []string{"AdsyncKafkaFails critical", "AdsyncOutcomesWaiting warning"}, inject: kafkaIsAway},
		},
		{
			{alerts: []string{"AdsyncMessagesLost warning"}, inject: messagesAreDeleted},
		},
	}},
}

// TestWatching_LeavesNoAlertOut compares the troubles with the rules.
func TestWatching_LeavesNoAlertOut(t *testing.T) {
	t.Parallel()
	var want, have []string
	for _, f := range rules(t) {
		for _, group := range f.Groups {
			for _, r := range group.Rules {
				if r.Alert != "" {
					want = append(want, r.name())
				}
			}
		}
	}
	for _, w := range worlds {
		for _, round := range w.rounds {
			for _, trouble := range round {
				have = append(have, trouble.alerts...)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	require.Equal(t, want, slices.Compact(have), "each alert of the rules is one that a trouble makes fire")
}

// TestWatching_EachAlertFiresAndEnds injects each fault into a running program, sees its alerts fire, fixes it and
// sees them end.
func TestWatching_EachAlertFiresAndEnds(t *testing.T) {
	t.Parallel()
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			p := newPlant(t, w.accounts)
			w.setup(p)
			for i, round := range w.rounds {
				t.Logf("round %d", i+1)
				if w.calm != nil {
					w.calm(p)
				}
				var alerts []string
				for _, trouble := range round {
					alerts = append(alerts, trouble.alerts...)
				}
				p.end(alerts...)
				began := time.Now()
				var mends []func()
				for _, trouble := range round {
					mends = append(mends, trouble.inject(p))
				}
				p.fire(began, alerts...)
				for _, mend := range mends {
					mend()
				}
				p.end(alerts...)
			}
		})
	}
}

const (
	tencent     = "tencent"
	oceanengine = "oceanengine"
)

// begin starts a world in which only ordered work runs, and waits for its first figures.
func begin(p *plant) {
	p.start()
	p.send(http.MethodPost, "/_sim/traps", map[string]any{"on": false})
	p.unlimited()
	p.prometheus()
	p.eventually("the first round of all tasks has ended", func(ctx context.Context) (bool, error) {
		var last struct{ Runs []struct{ State string } }
		err := ask(ctx, http.MethodGet, p.url("/api/v1/runs?task=system.wide"), nil, &last)
		return len(last.Runs) > 0 && last.Runs[len(last.Runs)-1].State == "succeeded", err
	})
}

// beginAtOnce starts a world whose work does not matter.
func beginAtOnce(p *plant) {
	p.start()
	p.prometheus()
}

// unlimited raises the limits of calls beyond reach.
func (p *plant) unlimited() {
	p.t.Helper()
	var limits struct{ Rules []map[string]any }
	require.NoError(p.t, ask(p.t.Context(), http.MethodGet, p.url("/_sim/limits"), nil, &limits))
	for _, rule := range limits.Rules {
		rule["limit"] = 0
	}
	p.send(http.MethodPost, "/_sim/limits", map[string]any{"rules": limits.Rules})
	p.exec("config", "UPDATE rate_limit SET calls = 1000 * calls")
}

// rest waits until all work is done, and orders the summaries.
func (p *plant) rest() {
	p.t.Helper()
	p.eventually("all work is done", func(ctx context.Context) (bool, error) {
		for _, state := range []string{"fanning_out", "running"} {
			var open struct{ Runs []struct{ Task string } }
			if err := ask(ctx, http.MethodGet, p.url("/api/v1/runs?state="+state), nil, &open); err != nil {
				return false, err
			}
			if len(open.Runs) > 0 {
				return false, fmt.Errorf("%d runs are %s, such as one of %s", len(open.Runs), state, open.Runs[0].Task)
			}
		}
		return true, nil
	})
	p.run(nil, "system.summary")
}

// restAndTell waits until no work of a round is left, and until the metrics show that.
func restAndTell(p *plant) {
	p.rest()
	rested := time.Now().Unix()
	p.eventually("figures are read", func(ctx context.Context) (bool, error) {
		return p.holds(ctx, fmt.Sprintf(`min(adsync_figures_read_timestamp_seconds{part!="holes"}) > %d`, rested))
	})
}

// run orders a run and waits until it has ended.
func (p *plant) run(body map[string]any, task string) {
	p.t.Helper()
	id := p.orderRun(body, task)
	p.eventually("a run of "+task+" succeeds", func(ctx context.Context) (bool, error) {
		var run struct{ State string }
		err := ask(ctx, http.MethodGet, p.url("/api/v1/runs/"+id), nil, &run)
		return run.State == "succeeded", errors.Join(err, fmt.Errorf("it is %s", run.State))
	})
}

// levels returns the tasks that pull a report of the present day, one for each level.
func (p *plant) levels(report string) []string {
	p.t.Helper()
	var all struct{ Tasks []struct{ Name string } }
	require.NoError(p.t, ask(p.t.Context(), http.MethodGet, p.url("/api/v1/tasks"), nil, &all))
	var tasks []string
	for _, task := range all.Tasks {
		if level, ok := strings.CutPrefix(task.Name, report+"."); ok && !strings.Contains(level, ".") {
			tasks = append(tasks, task.Name)
		}
	}
	require.NotEmpty(p.t, tasks)
	return tasks
}

// spenders returns the bound accounts of a media that spent something yesterday and today, ordered by yesterday's
// spend, highest first.
func (p *plant) spenders(media string) []string {
	p.t.Helper()
	rows := p.truth(media, p.day(-1))
	slices.SortFunc(rows, func(a, b truthRow) int { return cmp.Compare(b.Metrics["cost"], a.Metrics["cost"]) })
	var known struct {
		Accounts []struct {
			ID    string `json:"external_id"`
			Bound bool
		}
	}
	require.NoError(p.t, ask(p.t.Context(), http.MethodGet, p.url("/api/v1/accounts?media="+media), nil, &known))
	bound, today := map[string]bool{}, map[string]bool{}
	for _, a := range known.Accounts {
		bound[a.ID] = a.Bound
	}
	for _, row := range p.truth(media, p.day(0)) {
		today[row.Account] = row.Metrics["cost"] > 0
	}
	var all []string
	for _, row := range rows {
		if row.Metrics["cost"] > 0 && today[row.Account] && bound[row.Account] {
			all = append(all, row.Account)
		}
	}
	require.GreaterOrEqual(p.t, len(all), 4, "%s has too few accounts that spend", media)
	return all
}

// of returns an order for some accounts and, unless it is empty, a day.
func of(day string, accounts ...string) map[string]any {
	order := map[string]any{"accounts": accounts}
	if day != "" {
		order["from"], order["to"] = day, day
	}
	return order
}

// altered returns a fault by which a platform returns wrong figures for an account's day.
func altered(what, media, account, granularity, day string) map[string]any {
	return map[string]any{
		"kind": "alter", "what": what, "seed": 1, "media": media, "account": account, "of": "report", "level": "account",
		"granularity": granularity, "day": day,
	}
}

// confirmed returns an order whose answer is accepted without a second look.
func confirmed(order map[string]any) map[string]any {
	order["confirm"] = true
	return order
}

// beginAtNoon starts a world, sets its clock to noon of a Tuesday, and stops it: no cron fires, and only ordered runs
// exist. Money for the weekend is paid in on Thursdays, and before that accounts may have less than they spend in a
// day.
func beginAtNoon(p *plant) {
	begin(p)
	// These accounts' spend would belong to no game.
	p.exec("config", "UPDATE media_account SET bound = 0 WHERE id NOT IN (SELECT account_id FROM account_binding)")
	// A week of figures is enough.
	p.exec("config", "UPDATE media_account SET initialised_at = '1970-01-01 00:00:00.000'")
	to := noonAfter(p.now())
	for to.Weekday() != time.Tuesday {
		to = to.AddDate(0, 0, 1)
	}
	p.setClock(to, true)
	p.caughtUp(to)
}

// caughtUp waits until the ticks exist that a jump of the clock has skipped.
func (p *plant) caughtUp(now time.Time) {
	p.t.Helper()
	p.eventually("what was missed is caught up", func(ctx context.Context) (bool, error) {
		var made struct {
			Runs []struct {
				PlannedAt time.Time `json:"planned_at"`
			}
		}
		err := ask(ctx, http.MethodGet, p.url("/api/v1/runs?task=tencent.report_daily.account&limit=1"), nil, &made)
		return len(made.Runs) > 0 && made.Runs[0].PlannedAt.After(now.Add(-time.Hour)), err
	})
}

// endpointFails makes the calls of a task fail. The task does not retry.
func endpointFails(p *plant) func() {
	mend := p.fault(map[string]any{"kind": "status", "status": 503, "media": tencent, "endpoint": "adgroups/get"})
	p.edit("tencent.adgroup.full", "retry_max", 0)
	p.order(nil, "tencent.adgroup.full")
	p.eventually("calls have failed", func(ctx context.Context) (bool, error) {
		return p.holds(ctx, `adsync_media_calls_total{endpoint="adgroups/get",answer="transient"} > 0`)
	})
	p.order(nil, "tencent.adgroup.full") // A rate is of more than the first ones.
	return func() {
		mend()
		p.send(http.MethodPost, "/api/v1/dead/drop", map[string]any{"all": true})
	}
}

func endpointIsSlow(p *plant) func() {
	mend := p.fault(map[string]any{"kind": "latency", "ms": 9500, "media": oceanengine,
		"endpoint": "2/advertiser/fund/get"})
	p.order(nil, "oceanengine.balance")
	return mend
}

func callsAreRefused(p *plant) func() {
	mend := p.fault(map[string]any{"kind": "over_limit", "media": oceanengine, "endpoint": "v3.0/project/list"})
	cancel := p.order(nil, "oceanengine.project.changes")
	return func() {
		mend()
		cancel()
	}
}

// limitsAreTight limits an app to one call each seven seconds. The limit takes effect after a moment.
func limitsAreTight(p *plant) func() {
	p.exec("config",
		"INSERT INTO rate_limit (media, endpoint, scope, period_ms, calls, share) VALUES ('tencent', 'funds/get', 'app', "+
			"7000, 1, 1)")
	var cancels []func()
	order := each(8, func() { cancels = append(cancels, p.order(nil, "tencent.balance")) })
	p.eventually("calls wait", func(ctx context.Context) (bool, error) {
		order()
		return p.holds(ctx, `adsync_ratelimit_waiting_calls{media="tencent"} >= 3`)
	})
	return func() {
		p.exec("config", "DELETE FROM rate_limit WHERE endpoint = 'funds/get' AND period_ms = 7000")
		for _, cancel := range cancels {
			cancel()
		}
	}
}

func fieldIsRetired(p *plant) func() {
	mend := p.fault(map[string]any{"kind": "retire_field", "media": tencent, "field": "reg_pv"})
	p.order(of(p.day(0), p.spenders(tencent)[0]), "tencent.report_hourly.account")
	return func() {
		mend()
		p.send(http.MethodPut, "/api/v1/fields", map[string]any{"media": tencent, "field": "reg_pv", "state": "asked",
			"by": "otto", "reason": "it is back"})
	}
}

func dayVanishes(p *plant) func() {
	yesterday, account := p.day(-1), p.spenders(tencent)[3]
	mend := p.fault(altered("day", tencent, account, "daily", yesterday))
	cancel := p.order(of(yesterday, account), "tencent.report_daily.account")
	return func() {
		mend()
		cancel() // Otherwise it would be retried only after some minutes.
		p.order(of(yesterday, account), "tencent.report_daily.account")
	}
}

// platformHangs leaves calls for an account without an answer, and gives a lane one slot.
func platformHangs(p *plant) func() {
	account := p.spenders(oceanengine)[3]
	mend := p.fault(map[string]any{"kind": "hang", "media": oceanengine, "account": account})
	p.exec("config", "INSERT INTO lane (media, name, pool_size) VALUES ('oceanengine', 'offline', 1)")
	cancel := p.order(of("", account), "oceanengine.report_daily.account", "oceanengine.promotion.full")
	return func() {
		mend()
		cancel()
		p.exec("config", "DELETE FROM lane WHERE media = 'oceanengine'")
	}
}

func accountIsFrozen(p *plant) func() {
	account := p.spenders(tencent)[1]
	is := func(state string) {
		p.send(http.MethodPost, "/_sim/accounts", map[string]any{"media": tencent, "account": account, "state": state})
	}
	is("frozen")
	p.order(of("", account), "tencent.report_daily.account")
	return func() {
		is("open")
		p.exec("config",
			"UPDATE media_account SET parked_until = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE parked LIKE 'frozen:%'")
		p.order(nil, "tencent.probe")
	}
}

// gameIsMistyped binds an account to a game that does not exist.
func gameIsMistyped(p *plant) func() {
	account := p.spenders(tencent)[2]
	is := func(change string) {
		p.exec("config", "UPDATE account_binding SET game = "+change+
			" WHERE account_id = (SELECT id FROM media_account WHERE external_id = ?)", account)
	}
	is("game || 'x'")
	return func() { is("rtrim(game, 'x')") }
}

// spendJumps makes an account spend eleven times as much as before, more than its balance.
func spendJumps(p *plant) func() {
	yesterday, account := p.day(-1), p.spenders(tencent)[0]
	by := func(percent int) {
		correction := map[string]any{"media": tencent, "account": account, "from": yesterday, "to": yesterday,
			"percent": percent}
		p.send(http.MethodPost, "/_sim/truth/correct", correction)
		for _, task := range p.levels("tencent.report_daily") {
			p.run(confirmed(of(yesterday, account)), task)
		}
	}
	by(1000)
	return func() { by(-91) }
}

// figuresOfTodayVanish makes a platform return no figures for today, and an order accept that.
func figuresOfTodayVanish(p *plant) func() {
	today, accounts := p.day(0), p.spenders(oceanengine)[:3]
	var mends []func()
	for _, account := range accounts {
		mends = append(mends, p.fault(altered("day", oceanengine, account, "hourly", today)))
	}
	p.run(confirmed(of(today, accounts...)), "oceanengine.report_hourly.account")
	p.order(nil, "system.summary")
	return func() {
		for _, mend := range mends {
			mend()
		}
		p.run(of(today, accounts...), "oceanengine.report_hourly.account")
		p.order(nil, "system.summary")
	}
}

// levelsDiffer makes an account's total differ from the sum of its ad groups, also when both are pulled again.
func levelsDiffer(p *plant) func() {
	yesterday, account := p.day(-1), p.spenders(oceanengine)[1]
	wrong := altered("value", oceanengine, account, "daily", yesterday)
	wrong["field"] = "cost"
	mend := p.fault(wrong)
	again := func(order map[string]any, done func(differences []difference) bool) {
		p.run(order, "oceanengine.report_daily.account")
		p.run(nil, "system.reconcile")
		p.eventually("the levels are compared again", func(ctx context.Context) (bool, error) {
			var open struct{ Differences []difference }
			p.run(nil, "system.reconcile.open")
			err := ask(ctx, http.MethodGet, p.url("/api/v1/reconciliation"), nil, &open)
			return err == nil && done(open.Differences), err
		})
	}
	again(of(yesterday, account), func(all []difference) bool {
		return slices.ContainsFunc(all, func(d difference) bool { return d.Account == account && !d.ConfirmedAt.IsZero() })
	})
	return func() {
		mend()
		again(confirmed(of(yesterday, account)), func(all []difference) bool { return len(all) == 0 })
	}
}

// difference is a difference between levels, as the API returns it.
type difference struct {
	Account     string
	ConfirmedAt time.Time `json:"confirmed_at"`
}

// coverageIsDeleted deletes a day's coverage. system.fill may have ordered that day when the world began, and does not
// order it again within an hour of the world's time, which is stopped: a person orders it.
func coverageIsDeleted(p *plant) func() {
	day := p.day(-3)
	p.exec("data",
		"DELETE FROM coverage WHERE report = 'report_daily' AND level = 'account' AND media = 'oceanengine' AND day = ?", day)
	return func() { p.order(map[string]any{"from": day, "to": day}, "oceanengine.report_daily.account.look_back") }
}

// nothingIsPulledForHours pauses a platform and the summaries until it is four o'clock on the next day.
func nothingIsPulledForHours(p *plant) func() {
	p.send(http.MethodPost, "/api/v1/tasks/system.summary/disable", nil)
	resume := p.pause("media", tencent)
	// The ticks of the new moment must come later.
	p.eventually("the pause is in force", func(ctx context.Context) (bool, error) {
		return p.holds(ctx, `sum(adsync_producer_stops_active{verb="pause"}) > 0`)
	})
	now := p.now()
	to := time.Date(now.Year(), now.Month(), now.Day()+1, 4, 0, 0, 0, now.Location())
	p.setClock(to, true)
	return func() {
		resume()
		p.send(http.MethodPost, "/api/v1/tasks/system.summary/enable", nil)
		p.caughtUp(to)
		p.rest()
	}
}

// ticksAreRefused makes the database refuse ticks while planned moments pass.
func ticksAreRefused(p *plant) func() {
	p.exec("data", "CREATE TRIGGER refuse_ticks BEFORE INSERT ON tick BEGIN SELECT RAISE(ABORT, 'refused'); END")
	p.setClock(p.now().Add(4*time.Minute), false)
	return func() { p.exec("data", "DROP TRIGGER refuse_ticks") }
}

func taskIsMistyped(p *plant) func() {
	p.edit(single, "cron", "at noon")
	return func() { p.edit(single, "cron", "~/10 * * * *") }
}

// laneIsClosed puts a task on a lane that no consumer reads.
func laneIsClosed(p *plant) func() {
	p.exec("config", "INSERT INTO lane (media, name, pool_size) VALUES ('system', 'closed', 0)")
	p.edit(single, "lane", "closed")
	return func() { p.edit(single, "lane", "normal") }
}

// subscribe makes a subscription, orders its file of a day, and returns the file's id.
func (p *plant) subscribe(name, destination, day string, more map[string]any) string {
	p.t.Helper()
	subscription := map[string]any{"destination": destination, "path": "{subscription}/{day}{ext}", "cron": "0 9 * * *",
		"timezone": "Asia/Shanghai", // that of p.day
		"format":   map[string]any{"format": "csv"},
		"query": "SELECT day, account_id FROM report_daily_account WHERE day = :day AND 1 = 0 " +
			"ORDER BY day, account_id, level, object_id"}
	maps.Copy(subscription, more)
	p.send(http.MethodPut, "/api/v1/subscriptions/"+name, subscription)
	ordered := p.send(http.MethodPost, "/api/v1/subscriptions/"+name+"/publications",
		map[string]any{"from": day, "to": day})
	p.order(nil, "system.files")
	return ordered["publications"].([]any)[0].(map[string]any)["id"].(string)
}

// destinationIsAway delivers a file to a directory that is not there. The file waits since an hour ago.
func destinationIsAway(p *plant) func() {
	p.send(http.MethodPut, "/api/v1/destinations/away", map[string]any{"kind": "dir", "address": p.t.TempDir() + "/away"})
	p.subscribe("away", "away", p.day(-1), nil)
	p.exec("data", "UPDATE publication SET ready_at = ? WHERE subscription = 'away'", sqlTime(p.now().Add(-time.Hour)))
	return func() {
		p.send(http.MethodDelete, "/api/v1/subscriptions/away", nil)
		p.send(http.MethodDelete, "/api/v1/destinations/away", nil)
	}
}

// sqlTime writes a moment as the databases of a world have it.
func sqlTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000") }

// figuresAreMissing holds a file of a day whose coverage is gone.
func figuresAreMissing(p *plant) func() {
	day := p.day(-4)
	p.exec("data",
		"DELETE FROM coverage WHERE report = 'report_daily' AND level = 'account' AND media = 'oceanengine' AND day = ?", day)
	id := p.subscribe("held", "reports", day, map[string]any{
		"completeness": map[string]any{"when": "complete", "latest_minutes": 60, "at_latest": "hold"}})
	p.exec("data", "UPDATE publication SET latest_at = ? WHERE id = ?", sqlTime(p.now().Add(-time.Hour)), id)
	return func() {
		p.send(http.MethodPost, "/api/v1/publications/"+id+"/cancel", nil)
		p.order(map[string]any{"from": day, "to": day}, "oceanengine.report_daily.account.look_back")
	}
}

// webhookIsAway publishes a file whose webhook does not answer, and calls it a day later.
func webhookIsAway(p *plant) func() {
	id := p.subscribe("hooked", "reports", p.day(-1),
		map[string]any{"webhook": "http://127.0.0.1:1/", "webhook_secret": "0123456789abcdef"})
	call := each(8, func() {
		now := p.now()
		p.exec("data", "UPDATE publication SET published_at = ?, webhook_at = ?, revisit_at = ? WHERE id = ? AND "+
			"state = 'published'", sqlTime(now.Add(-25*time.Hour)), sqlTime(now), sqlTime(now), id)
		p.order(nil, "system.files")
	})
	p.eventually("the webhook is given up", func(ctx context.Context) (bool, error) {
		call()
		return p.holds(ctx, `adsync_files_webhook_calls_total{subscription="hooked",result="given_up"} > 0`)
	})
	return none
}

// diskHasNoRoom starts adsync with a directory for files that is full. A day later that file is deleted.
func diskHasNoRoom(p *plant) func() {
	p.program.stop(p.t)
	full := filepath.Join(p.data, "files", "1-left.part")
	require.NoError(p.t, os.MkdirAll(filepath.Dir(full), 0o700))
	require.NoError(p.t, os.WriteFile(full, nil, 0o600))
	require.NoError(p.t, os.Truncate(full, 1<<30)) // It takes no room itself.
	p.start()
	p.exec("config", "UPDATE cron_task SET enabled = 1 WHERE name = 'system.files'")
	p.send(http.MethodPost, "/api/v1/tasks/reload", nil)
	p.subscribe("roomless", "reports", p.day(-1), nil)
	return func() {
		old := time.Now().Add(-25 * time.Hour)
		require.NoError(p.t, os.Chtimes(full, old, old))
	}
}

// fileHasNoRows orders a file without rows of a subscription that wants some. Its row follows the end of its subtask
// after some minutes of the world's time, which is stopped.
func fileHasNoRows(p *plant) func() {
	id := p.subscribe("none", "reports", p.day(-1), map[string]any{"on_empty": "fail"})
	plan := each(8, func() { p.order(nil, "system.files") })
	p.eventually("the file has failed", func(ctx context.Context) (bool, error) {
		var file struct{ State, Error string }
		if err := ask(ctx, http.MethodGet, p.url("/api/v1/publications/"+id), nil, &file); err != nil || file.Error == "" {
			return false, err
		}
		p.exec("data", "UPDATE publication SET updated_at = ? WHERE id = ?", sqlTime(p.now().Add(-time.Hour)), id)
		plan()
		return file.State == "failed", nil
	})
	return func() {
		p.send(http.MethodPut, "/api/v1/subscriptions/none", map[string]any{"on_empty": "send"})
		p.send(http.MethodPost, "/api/v1/publications/"+id+"/redeliver", nil)
		p.order(nil, "system.files")
	}
}

// countsAreRefused makes the database refuse the changes that outcomes of subtasks make to their runs.
func countsAreRefused(p *plant) func() {
	p.exec("data",
		"CREATE TRIGGER refuse_counts BEFORE UPDATE OF succeeded ON run BEGIN SELECT RAISE(ABORT, 'refused'); END")
	p.order(nil, "system.summary")
	return func() { p.exec("data", "DROP TRIGGER refuse_counts") }
}

func jobIsNotConsumed(p *plant) func() {
	p.publish("unread", 1)
	return func() { require.NoError(p.t, ask(p.t.Context(), http.MethodDelete, p.queue("unread"), nil, nil)) }
}

// jobsLapse claims jobs for their only try, and does not acknowledge them.
func jobsLapse(p *plant) func() {
	for range 3 {
		p.publish("lapsing", 64)
	}
	p.eventually("all jobs are claimed", func(ctx context.Context) (bool, error) {
		err := ask(ctx, http.MethodGet, p.queue("lapsing")+"?count=100&ttr=1", nil, nil)
		return err != nil && strings.Contains(err.Error(), "404"), err
	})
	return none
}

// queuesAreRefused makes the database refuse new queues while jobs are published.
func queuesAreRefused(p *plant) func() {
	p.exec("jobs", "CREATE TRIGGER refuse_queues BEFORE INSERT ON job_queue BEGIN SELECT RAISE(ABORT, 'refused'); END")
	p.eventually("publications fail", func(ctx context.Context) (bool, error) {
		if err := ask(ctx, http.MethodPut, p.queue("refused"), 17, nil); err == nil {
			return false, errors.New("the job is published")
		}
		return p.holds(ctx, `rate(adsync_jobs_requests_total{status="500"}[15s]) > 0`)
	})
	return func() { p.exec("jobs", "DROP TRIGGER refuse_queues") }
}

func tableIsAway(p *plant) func() {
	p.exec("data", "ALTER TABLE account_balance RENAME TO account_balance_away")
	return func() { p.exec("data", "ALTER TABLE account_balance_away RENAME TO account_balance") }
}

// databaseIsLocked locks the data database while there is much to write.
func databaseIsLocked(p *plant) func() {
	mend := p.fault(map[string]any{"kind": "latency", "ms": 2000})
	p.order(nil, "tencent.report_daily.account", "tencent.report_hourly.account", "tencent.balance",
		"oceanengine.report_daily.account", "oceanengine.report_hourly.account", "oceanengine.balance")
	db := p.database("data")
	tx, err := db.BeginTx(p.t.Context(), nil)
	require.NoError(p.t, err)
	return func() {
		require.NoError(p.t, tx.Rollback())
		require.NoError(p.t, db.Close())
		mend()
	}
}

// still stops the world's clock, and with it the crons, and waits until all work that they began is done.
func (p *plant) still() {
	p.t.Helper()
	p.setClock(p.now(), true)
	p.rest()
}

// single is a task of one subtask: the only copy is the partner's.
const single = "system.copy"

func handlerHangs(p *plant) func() {
	p.edit(single, "timeout_seconds", 1)
	p.still()
	p.arm("consumer.handled", "wait 20s", func() { p.order(nil, single) })
	return func() { p.edit(single, "timeout_seconds", 3600) }
}

func handlerPanics(p *plant) func() {
	p.arm("consumer.handling", "panic", func() { p.order(nil, "system.wide") })
	return none
}

// clockJumps sets the clock to half a minute after a full minute of the next day: the ticks of that minute are late,
// and those of a day are missed.
func clockJumps(p *plant) func() {
	p.setClock(p.now().Truncate(time.Minute).Add(24*time.Hour+30*time.Second), true)
	return none
}

// processDies makes a subtask kill its process four times. After that the subtask is isolated and takes a long time.
func processDies(p *plant) func() {
	// The clock runs again after each start, and other tasks would meet the failpoint.
	p.exec("config", "UPDATE cron_task SET enabled = 0 WHERE name <> ?", single)
	p.send(http.MethodPost, "/api/v1/tasks/reload", nil)
	p.rest()
	p.arm("consumer.handling", "kill", func() { p.order(nil, single) })
	for range 3 {
		p.program.died(p.t)
		p.arm("consumer.handling", "kill", p.launch)
	}
	p.program.died(p.t)
	p.arm("consumer.handling", "wait 8s", p.launch)
	return p.ready
}

func processIsGone(p *plant) func() {
	p.program.stop(p.t)
	return p.start
}
