package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// afterEvents are metrics with labels that have no series before their first event, none of which this world has.
var afterEvents = regexp.MustCompile(`^adsync_(` + strings.Join([]string{
	`producer_(errors|ticks_given_up|subtasks_skipped|subtasks_resent|subtasks_swept|braked_seconds)_?\w*`, // trouble of runs
	`producer_orders_total`,
	`consumer_(panics_total|handlers_hung)`,
	`broker_(group_errors|write_errors)_total`,
	`ratelimit_(late|paused|tightened|would_exceed)_total`,
	`media_unwritten_total`,
	`pull_(partial|suspect_days)_total`,
	`account_(parked|returned|woken|probe_calls)_total`,
	`token_refreshes_total`,
	`producer_(due_found_total|due_subtasks|oldest_run_seconds)`,
}, "|") + `)$`)

// plant is a running adsync with simulated platforms, and a Prometheus that scrapes it.
type plant struct {
	server
	t       *testing.T
	port    int
	data    string
	program *process
}

func (p *plant) start() {
	p.t.Helper()
	p.program = start(p.t, "adsync", adsync, "standalone", "--accounts", "40", "--seed", "1", "--usd", "0", "--data", p.data, "--listen", fmt.Sprintf("127.0.0.1:%d", p.port))
	p.eventually("adsync is ready", func(ctx context.Context) (bool, error) {
		return ask(ctx, http.MethodGet, p.url("/version"), nil, nil) == nil, nil
	})
}

func (p *plant) url(path string) string { return fmt.Sprintf("http://127.0.0.1:%d%s", p.port, path) }

func (p *plant) eventually(what string, is func(ctx context.Context) (bool, error)) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := is(ctx)
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			require.FailNow(p.t, what+" did not come true", "%v", err)
		case <-tick.C:
		}
	}
}

// send sends an order to the API or to the simulator and returns the answer.
func (p *plant) send(method, path string, body any) map[string]any {
	p.t.Helper()
	answer := map[string]any{}
	require.NoError(p.t, ask(p.t.Context(), method, p.url(path), body, &answer))
	return answer
}

func (p *plant) order(task string, body map[string]any) {
	p.t.Helper()
	p.send(http.MethodPost, "/api/v1/tasks/"+task+"/run", body)
}

// fault orders a fault of a platform and returns its id.
func (p *plant) fault(of map[string]any) string {
	p.t.Helper()
	return p.send(http.MethodPost, "/_sim/faults", of)["id"].(string)
}

func (p *plant) mend(fault string) {
	p.t.Helper()
	require.NoError(p.t, ask(p.t.Context(), http.MethodDelete, p.url("/_sim/faults/"+fault), nil, nil))
}

// prometheus starts a Prometheus with the shipped configuration and rules on a faster clock: alerts wait for nothing, and what looks back a minute or more
// looks back 15 seconds.
func (p *plant) prometheus() {
	p.t.Helper()
	dir := p.t.TempDir()
	var conf map[string]any
	readYAML(p.t, "prometheus/prometheus.yml", &conf)
	scrape := conf["scrape_configs"].([]any)[0].(map[string]any)
	delete(scrape, "dns_sd_configs")
	scrape["static_configs"] = []any{map[string]any{"targets": []any{fmt.Sprintf("127.0.0.1:%d", p.port)}}}
	delete(conf, "alerting")
	global := conf["global"].(map[string]any)
	global["scrape_interval"], global["evaluation_interval"] = "1s", "1s"
	require.NoError(p.t, os.Mkdir(filepath.Join(dir, "rules"), 0o755))
	write := func(name string, value any) {
		text, err := yaml.Marshal(value)
		require.NoError(p.t, err)
		require.NoError(p.t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	write("prometheus.yml", conf)
	for name, file := range rules(p.t) {
		for i := range file.Groups {
			for j := range file.Groups[i].Rules {
				r := &file.Groups[i].Rules[j]
				r.Expr, r.For = faster(r.Expr), ""
			}
		}
		write("rules/"+name, file)
	}
	port := freePort(p.t)
	p.address = fmt.Sprintf("http://127.0.0.1:%d", port)
	start(p.t, "prometheus", prometheus, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port), "--log.level=warn")
	p.eventually("Prometheus has scraped", func(ctx context.Context) (bool, error) {
		samples, err := p.query(ctx, `up{job="adsync"} == 1`)
		return len(samples) == 1, err
	})
}

var lookBack = regexp.MustCompile(`\[\d+[mh]\]|offset \d+[mh]`)

func faster(expr string) string {
	return lookBack.ReplaceAllStringFunc(expr, func(s string) string {
		if strings.HasPrefix(s, "[") {
			return "[15s]"
		}
		return "offset 15s"
	})
}

// fire waits until each of some alerts has fired.
func (p *plant) fire(names ...string) {
	p.t.Helper()
	missing := slices.Clone(names)
	p.eventually(fmt.Sprintf("the firing of %v", names), func(ctx context.Context) (bool, error) {
		firing, err := p.firing(ctx)
		if err != nil {
			return false, err
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return firing[name] })
		return len(missing) == 0, fmt.Errorf("missing %v", missing)
	})
}

// end waits until none of some alerts fires.
func (p *plant) end(names ...string) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("the end of %v", names), func(ctx context.Context) (bool, error) {
		firing, err := p.firing(ctx)
		if err != nil {
			return false, err
		}
		left := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !firing[name] })
		return len(left) == 0, fmt.Errorf("%v still fire", left)
	})
}

// TestWatching_OfARunningProgram starts the program, has a real Prometheus scrape it, hurts it and mends it.
func TestWatching_OfARunningProgram(t *testing.T) {
	t.Parallel()
	p := &plant{t: t, port: freePort(t), data: filepath.Join(t.TempDir(), "world")}
	p.start()
	p.prometheus()

	// Yesterday's figures of an account with spend, and something of everything else.
	clock := p.send(http.MethodGet, "/_sim/clock", nil)
	now, err := time.Parse(time.RFC3339, clock["now"].(string))
	require.NoError(t, err)
	yesterday := now.In(time.FixedZone("", 8*3600)).AddDate(0, 0, -1).Format(time.DateOnly)
	account := p.spender(yesterday)
	p.order("tencent.report_daily.account", map[string]any{"from": yesterday, "to": yesterday})
	for _, task := range []string{
		"tencent.report_daily.account", "tencent.report_hourly.account", "tencent.adgroup.changes", "tencent.balance",
		"oceanengine.report_daily.account", "oceanengine.report_hourly.account", "oceanengine.promotion.changes", "oceanengine.balance",
	} {
		p.order(task, map[string]any{})
	}
	p.eventually("yesterday is there, and today's figures are summed up", func(ctx context.Context) (bool, error) {
		var coverage struct {
			Coverage []struct{ Report, Level, Day, State string }
		}
		err := ask(ctx, http.MethodGet, p.url("/api/v1/accounts/tencent/"+account+"/coverage?from="+yesterday+"&to="+yesterday), nil, &coverage)
		for _, c := range coverage.Coverage {
			if c.Report == "report_daily" && c.Level == "account" && c.State == "complete" {
				samples, err := p.query(ctx, `count(adsync_spend_today_micros) and count(adsync_balance_micros)`)
				return len(samples) > 0, err
			}
		}
		return false, err
	})
	faults := []string{"AdsyncPauseForgotten", "AdsyncEndpointFails", "AdsyncEndpointSlow", "AdsyncFieldRetired", "AdsyncSuspectDays", "AdsyncSuspectPulls"}
	p.end(append([]string{"AdsyncDown", "AdsyncNoLeader", "AdsyncDeadSubtasks"}, faults...)...)
	p.boardsTellTheTruth(now.In(time.FixedZone("", 8*3600)).Format(time.DateOnly))

	pause := p.send(http.MethodPost, "/api/v1/pauses", map[string]any{"kind": "task", "target": "system.wide", "reason": "to see it", "by": "otto"})["id"].(string)
	fails := p.fault(map[string]any{"kind": "status", "status": 503, "media": "tencent", "endpoint": "adgroups/get"})
	slow := p.fault(map[string]any{"kind": "latency", "ms": 9500, "media": "oceanengine", "endpoint": "2/advertiser/fund/get"})
	retired := p.fault(map[string]any{"kind": "retire_field", "media": "tencent", "field": "reg_pv"})
	suspect := p.fault(map[string]any{
		"kind": "alter", "what": "day", "seed": 1, "media": "tencent", "account": account, "of": "report", "level": "account", "granularity": "daily", "day": yesterday,
	})
	p.order("tencent.adgroup.full", map[string]any{})
	p.order("oceanengine.balance", map[string]any{})
	p.order("tencent.report_hourly.account", map[string]any{})
	again := map[string]any{"accounts": []string{account}, "from": yesterday, "to": yesterday}
	p.order("tencent.report_daily.account", again)
	p.fire(faults...)

	// What was spent cannot be left out of a report: it is dead.
	p.mend(retired)
	spend := p.fault(map[string]any{"kind": "retire_field", "media": "tencent", "field": "cost"})
	p.order("tencent.report_hourly.account", map[string]any{})
	p.fire("AdsyncDeadSubtasks")

	require.NoError(t, ask(t.Context(), http.MethodDelete, p.url("/api/v1/pauses/"+pause+"?by=otto"), nil, nil))
	for _, fault := range []string{fails, slow, spend, suspect} {
		p.mend(fault)
	}
	p.send(http.MethodPut, "/api/v1/fields", map[string]any{"media": "tencent", "field": "reg_pv", "state": "asked", "by": "otto", "reason": "it is back"})
	p.order("tencent.report_daily.account", again)
	p.send(http.MethodPost, "/api/v1/dead/drop", map[string]any{"all": true})
	p.metricsAreThere()
	p.end(append([]string{"AdsyncDeadSubtasks"}, faults...)...)

	p.program.stop(t)
	p.fire("AdsyncDown", "AdsyncNoLeader")
	p.start()
	p.end("AdsyncDown", "AdsyncNoLeader")
}

// spender is an account of Tencent that spent something on a day.
func (p *plant) spender(day string) string {
	p.t.Helper()
	for _, row := range p.truth("tencent", day) {
		if row.Metrics["cost"] > 0 {
			return row.Account
		}
	}
	require.Fail(p.t, "no account has spent anything")
	return ""
}

// truthRow is what an account did on a day, as the simulator knows it.
type truthRow struct {
	Account string
	Metrics map[string]int64
}

func (p *plant) truth(media, day string) []truthRow {
	p.t.Helper()
	query := url.Values{"media": {media}, "kind": {"report_daily"}, "level": {"account"}, "from": {day}, "to": {day}}
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url("/_sim/truth?"+query.Encode()), nil)
	require.NoError(p.t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(p.t, err)
	defer answer.Body.Close()
	var rows []truthRow
	for lines := json.NewDecoder(answer.Body); ; {
		var row struct {
			truthRow
			Count *int
		}
		require.NoError(p.t, lines.Decode(&row))
		if row.Count != nil {
			require.Len(p.t, rows, *row.Count)
			return rows
		}
		rows = append(rows, row.truthRow)
	}
}

// boardsTellTheTruth stops the world, pulls the present day, and compares what the overview shows with what the platforms say they charged.
func (p *plant) boardsTellTheTruth(today string) {
	p.t.Helper()
	p.send(http.MethodPost, "/_sim/clock", map[string]any{"frozen": true})
	for _, task := range []string{"tencent.report_hourly.account", "oceanengine.report_hourly.account"} {
		p.order(task, map[string]any{"from": today, "to": today})
	}
	for _, media := range []string{"tencent", "oceanengine"} {
		spent := int64(0)
		for _, row := range p.truth(media, today) {
			spent += row.Metrics["cost"]
		}
		require.Positive(p.t, spent)
		tries := 0
		p.eventually(media+"'s spend on the board is the platform's", func(ctx context.Context) (bool, error) {
			if tries++; tries%10 == 1 {
				p.order("system.summary", map[string]any{}) // The world stands, and with it the crons.
			}
			samples, err := p.query(ctx, fill(`sum(adsync_spend_today_micros{media="`+media+`", currency="$currency"})`))
			if err != nil || len(samples) != 1 {
				return false, err
			}
			told, err := strconv.ParseFloat(samples[0].Value[1].(string), 64)
			return err == nil && int64(told) == spent, fmt.Errorf("the board says %.0f, the platform %d (%w)", told, spent, err)
		})
	}
	p.send(http.MethodPost, "/_sim/clock", map[string]any{"frozen": false})
}

// metricsAreThere shows that each query of each panel and rule parses, and that its metrics are there.
func (p *plant) metricsAreThere() {
	p.t.Helper()
	exprs := map[string]string{}
	for _, b := range boards(p.t) {
		for _, panel := range b.Panels {
			for _, target := range panel.Targets {
				exprs[fill(target.Expr)] = b.UID + ": " + panel.Title
			}
		}
		for _, v := range b.Templating.List {
			if name, ok := strings.CutPrefix(v.Definition, "label_values("); ok {
				metric, _, _ := strings.Cut(name, ",")
				exprs[metric] = b.UID + ": variable " + v.Name
			}
		}
	}
	records := map[string]bool{}
	for file, f := range rules(p.t) {
		for _, group := range f.Groups {
			for _, r := range group.Rules {
				exprs[r.Expr] = file + ": " + r.Alert + r.Record
				records[r.Record] = true
			}
		}
	}
	ctx := p.t.Context()
	var there struct{ Data []string }
	require.NoError(p.t, ask(ctx, http.MethodGet, p.address+"/api/v1/label/__name__/values", nil, &there))
	var missing []string
	for expr, of := range exprs {
		_, err := p.query(ctx, expr)
		require.NoError(p.t, err, of)
		names, err := p.selectors(ctx, expr)
		require.NoError(p.t, err, of)
		require.NotEmpty(p.t, names, of)
		for _, name := range names {
			if !slices.Contains(there.Data, name) && !afterEvents.MatchString(name) {
				missing = append(missing, of+": "+name)
			}
		}
	}
	slices.Sort(missing)
	require.Empty(p.t, missing, "no such metrics")
	require.True(p.t, records["adsync:spend_today:micros"])
}
