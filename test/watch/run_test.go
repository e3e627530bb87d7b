package watch

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// afterEvents are metrics with labels that have no series before their first event. This world has none of these
// events.
var afterEvents = regexp.MustCompile(`^adsync_(` + strings.Join([]string{
	// trouble of runs
	`producer_(errors|ticks_given_up|subtasks_skipped|subtasks_resent|subtasks_swept|braked_seconds)_?\w*`,
	`producer_orders_total`,
	`consumer_(panics_total|handlers_hung)`,
	`broker_(group_errors|write_errors)_total`,
	`ratelimit_(late|paused|tightened|would_exceed)_total`,
	`media_unwritten_total`,
	`pull_(partial|suspect_days)_total`,
	`account_(parked|returned|woken|probe_calls)_total`,
	`token_refreshes_total`,
	`producer_(due_found_total|due_subtasks|oldest_run_seconds)`,
	`files_webhook_calls_total`,
}, "|") + `)$`)

// TestWatching_BoardsTellTheTruth starts the program, lets a real Prometheus scrape it, and runs the queries of boards
// and rules.
func TestWatching_BoardsTellTheTruth(t *testing.T) {
	t.Parallel()
	p := newPlant(t, 40)
	p.start()
	// Traps make days partial, for which report files wait.
	p.send(http.MethodPost, "/_sim/traps", map[string]any{"on": false})
	p.prometheus()
	p.publish("orders", 1)
	noon := noonAfter(p.now()) // Far from midnight: the day must not change, and have its first figures.
	p.setClock(noon, false)
	p.caughtUp(noon)

	// Yesterday's figures of an account with spend, and something of everything else.
	yesterday, today := p.day(-1), p.day(0)
	account := p.spender(yesterday)
	p.order(map[string]any{"from": yesterday, "to": yesterday}, "tencent.report_daily.account")
	p.order(nil, "tencent.report_daily.account", "tencent.report_hourly.account", "tencent.adgroup.changes",
		"tencent.balance",
		"oceanengine.report_daily.account", "oceanengine.report_hourly.account", "oceanengine.promotion.changes",
		"oceanengine.balance")
	p.eventually("yesterday is there, and today's figures are summed up", func(ctx context.Context) (bool, error) {
		var coverage struct {
			Coverage []struct{ Report, Level, Day, State string }
		}
		err := ask(ctx, http.MethodGet, p.url("/api/v1/accounts/tencent/"+account+"/coverage?from="+yesterday+"&to="+
			yesterday), nil, &coverage)
		for _, c := range coverage.Coverage {
			if c.Report == "report_daily" && c.Level == "account" && c.State == "complete" {
				return p.holds(ctx, `count(adsync_spend_today_micros) and count(adsync_balance_micros)`)
			}
		}
		return false, fmt.Errorf("of account %s there is %v (%w)", account, coverage.Coverage, err)
	})
	p.samplesArrive()
	p.boardsTellTheTruth(today)
	p.metricsAreThere()
}

// samplesArrive waits for a file of each sample subscription, and compares what arrived with its row.
func (p *plant) samplesArrive() {
	p.t.Helper()
	var list struct {
		Publications []struct{ Subscription, Name, Sha256 string }
	}
	p.eventually("the sample files are published", func(ctx context.Context) (bool, error) {
		err := ask(ctx, http.MethodGet, p.url("/api/v1/publications?state=published"), nil, &list)
		samples := map[string]bool{}
		for _, f := range list.Publications {
			samples[f.Subscription] = true
		}
		return len(samples) == 3, fmt.Errorf("published are %v (%w)", list.Publications, err)
	})
	for _, f := range list.Publications {
		content, err := os.ReadFile(filepath.Join(p.data, "reports", f.Name))
		require.NoError(p.t, err)
		require.Equal(p.t, f.Sha256, fmt.Sprintf("%x", sha256.Sum256(content)), f.Name)
	}
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

// truthRow is an account's figures of a day in the simulator.
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

// boardsTellTheTruth stops the world's clock, pulls the present day, and compares the overview with the spend that the
// platforms report.
func (p *plant) boardsTellTheTruth(today string) {
	p.t.Helper()
	p.send(http.MethodPost, "/_sim/clock", map[string]any{"frozen": true})
	p.order(map[string]any{"from": today, "to": today}, "tencent.report_hourly.account",
		"oceanengine.report_hourly.account")
	for _, media := range []string{"tencent", "oceanengine"} {
		spent := int64(0)
		for _, row := range p.truth(media, today) {
			spent += row.Metrics["cost"]
		}
		require.Positive(p.t, spent)
		sumUp := each(10, func() { p.order(nil, "system.summary") }) // The world's clock is stopped, and with it the crons.
		p.eventually(media+"'s spend on the board is the platform's", func(ctx context.Context) (bool, error) {
			sumUp()
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

// metricsAreThere checks that each query of each panel and rule parses, and that its metrics exist.
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
	wanted := map[string]string{}
	for expr, of := range exprs {
		_, err := p.query(p.t.Context(), expr)
		require.NoError(p.t, err, of)
		names, err := p.selectors(p.t.Context(), expr)
		require.NoError(p.t, err, of)
		require.NotEmpty(p.t, names, of)
		for _, name := range names {
			if !afterEvents.MatchString(name) {
				wanted[name] = of
			}
		}
	}
	p.eventually("all metrics are there", func(ctx context.Context) (bool, error) {
		var there struct{ Data []string }
		if err := ask(ctx, http.MethodGet, p.address+"/api/v1/label/__name__/values", nil, &there); err != nil {
			return false, err
		}
		missing := maps.Clone(wanted)
		maps.DeleteFunc(missing, func(name, _ string) bool { return slices.Contains(there.Data, name) })
		return len(missing) == 0, fmt.Errorf("there is no %v", missing)
	})
	require.True(p.t, records["adsync:spend_today:micros"])
}
