package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/ratelimit"
	"adsync/base/secret"
	"adsync/base/store/ledger"
	"adsync/base/store/results"
	"adsync/engine"
	"adsync/standalone"
	"adsync/test/rig"
	"adsync/test/services/local"

	"adsync/simulator"
	"adsync/simulator/fault"
	"adsync/simulator/limit"
)

// fullTask is the full path: an account's ad groups of yesterday, a page of a real platform's wire format, into raw
// and public rows with their coverage. The platform is the first of the list.
var (
	fullPlatform = simulator.First().Spec()
	fullTask     = fullPlatform.Name + ".report_daily"
	fullRaw      = fullPlatform.Name + "_report_daily"
)

const (
	fullLevel  = "adgroup"
	fullParams = `{"level":"` + fullLevel + `","days":2,"skip":1}`
	// fullPart is the share of the accounts that have such a pull: with all of them a round at 1,000 ms would take
	// minutes.
	fullPart = 8
	// slots is the peer of the full path: the most that the lane's pool could do, its slots divided by the latency of a
	// call.
	slots = "slots/latency"
	// simulatorName names the simulated platform among those that spend CPU time.
	simulatorName = "simulator"
)

// fullLatencies are those of the simulated platform, in milliseconds.
var fullLatencies = []int{50, 200, 1000}

func fullID(ms int) string { return fmt.Sprint("full-", ms) }

// fullMeasures are the full path at each latency.
func fullMeasures() []measure {
	var all []measure
	for _, ms := range fullLatencies {
		all = append(all, measure{
			id: fullID(ms), figures: append([]figure{{fullID(ms), "subtasks/s", true}}, budget(fullID(ms), simulatorName)...),
			peers:   []string{slots},
			durable: allDurable + ", raw and public rows with fence and coverage",
			ours: func(d *deployment, ctx context.Context) (map[string]float64, error) {
				return d.full(ctx, ms)
			},
			sideBySide: map[string]take{slots: func(d *deployment, _ context.Context) (map[string]float64, error) {
				return map[string]float64{fullID(ms): float64(d.o.pool) / (float64(ms) / 1000)}, nil
			}},
		})
	}
	return all
}

// world is the process with the simulated platform, and the clients that reach it.
type world struct {
	address  string
	accounts int
	process  *local.Process
	engine   *engine.Engine
	box      *secret.Box
}

// limitMost is the highest limit of calls that the simulator accepts: no limit slows the full path.
const limitMost = 1_000_000

// startWorld starts the platform with a stopped clock, so that its figures do not change.
func (d *deployment) startWorld(ctx context.Context) error {
	program, err := rig.Build(ctx, d.o.dir, "timetzdata")
	if err != nil {
		return err
	}
	port, err := d.ports.Take()
	if err != nil {
		return err
	}
	listen := local.Loopback(port)
	d.world = &world{address: "http://" + listen, accounts: max(1, d.o.accounts/fullPart)}
	// Its accounts are distributed over all platforms in turn. All are in one zone, so that all have the same yesterday.
	accounts := len(simulator.Platforms()) * d.world.accounts
	cmd := exec.Command(program, "simulate", "--listen", listen, "--accounts", strconv.Itoa(accounts), "--usd", "0")
	cmd.Env = []string{"ADSYNC_LOG_FORMAT=json"}
	if d.world.process, err = local.StartLogged(simulatorName, filepath.Join(d.o.dir, "logs", simulatorName+".log"),
		cmd); err != nil {
		return err
	}
	err = local.AwaitReady(ctx, simulatorName, func(ctx context.Context) error {
		_, _, err := rig.Get(ctx, d.world.address+"/_sim/clock")
		return err
	}, d.world.process.Exited())
	if err != nil {
		return err
	}
	if err := d.world.order(ctx, "clock", map[string]any{"frozen": true}); err != nil {
		return err
	}
	var limits struct {
		Rules []limit.Rule `json:"rules"`
	}
	if err := rig.Send(ctx, http.MethodGet, d.world.address+"/_sim/limits", nil, &limits); err != nil {
		return err
	}
	for i := range limits.Rules {
		limits.Rules[i].Limit = limitMost
	}
	return d.world.order(ctx, "limits", limits)
}

// order posts to the simulator's control API.
func (w *world) order(ctx context.Context, what string, body any) error {
	return rig.Send(ctx, http.MethodPost, w.address+"/_sim/"+what, body, nil)
}

// slow makes the platform answer later by the latency from now on.
func (w *world) slow(ctx context.Context, ms int) error {
	if err := rig.Send(ctx, http.MethodDelete, w.address+"/_sim/faults", nil, nil); err != nil {
		return err
	}
	return w.order(ctx, "faults", map[string]any{"kind": fault.Latency, "media": fullPlatform.Name, "ms": ms})
}

// reachWorld builds the clients that call the platform, as a deployment does.
func (d *deployment) reachWorld() error {
	var err error
	if d.world.box, err = secret.NewBox(secret.NewKey("bench")); err != nil {
		return err
	}
	d.world.engine = engine.New(engine.Deps{
		Store: d.store, Broker: d.broker, Redis: d.cache, Keys: d.keys, Box: d.world.box, Planning: d.time, Waiting: d.time,
		Node:   "bench",
		Logger: d.log, Registerer: prometheus.NewRegistry(),
	}, ratelimit.DefaultConfig(), engine.MediaConfig{BaseURL: map[string]string{fullPlatform.Name: d.world.base()}})
	return nil
}

// base returns the address at which the simulator serves the platform; bindWorld checks it.
func (w *world) base() string { return w.address + fullPlatform.BasePath }

// bindWorld writes the platform's app, login, accounts and limits into the tables, and makes the limits take effect.
func (d *deployment) bindWorld(ctx context.Context) error {
	bound, err := standalone.Bind(ctx, d.store, d.world.box, d.world.address)
	if err != nil {
		return err
	}
	if at := bound.BaseURLs[fullPlatform.Name]; at != d.world.base() {
		return fmt.Errorf("the simulator serves %s at %s, not at %s", fullPlatform.Name, at, d.world.base())
	}
	return d.world.engine.Limits().Start(ctx)
}

// full measures how many subtasks of the full path end in a second, from the order to the end of the run, at a latency
// of each call.
func (d *deployment) full(ctx context.Context, ms int) (map[string]float64, error) {
	if err := d.world.slow(ctx, ms); err != nil {
		return nil, err
	}
	if err := d.resize(ctx, fullPlatform.Name, d.o.pool); err != nil {
		return nil, err
	}
	defer d.resize(ctx, fullPlatform.Name, 0) //nolint:errcheck // The next measure would show it.
	var some []int64
	const first = "SELECT id FROM media_account WHERE media = ? ORDER BY id LIMIT 10"
	if err := d.store.Config.Writer(ctx).Raw(first, fullPlatform.Name).Scan(&some).Error; err != nil {
		return nil, err
	}
	if err := d.warmUp(ctx, fullTask, some); err != nil {
		return nil, err
	}
	defer d.stopConsumer()
	if err := d.emptyReports(ctx, fullRaw); err != nil {
		return nil, err
	}
	before, err := d.spent()
	if err != nil {
		return nil, err
	}
	began := clock.Mark()
	run, err := d.order(ctx, fullTask, nil)
	if err != nil {
		return nil, err
	}
	if err := d.await(ctx, run, over); err != nil {
		return nil, err
	}
	took := clock.Since(began)
	after, err := d.spent()
	if err != nil {
		return nil, err
	}
	want := d.world.accounts
	values := map[string]float64{fullID(ms): float64(want) / took.Seconds()}
	addCosts(values, fullID(ms), before, after, want)
	if err := d.exact(ctx, run, want); err != nil {
		return nil, err
	}
	if err := d.pulledExactly(ctx, run); err != nil {
		return nil, err
	}
	return values, d.emptyReports(ctx, fullRaw)
}

// reported are the sums over rows of a report.
type reported struct{ Rows, Impressions, Cost int64 }

// pulledExactly checks that the tables have the platform's own figures of the day, each account's once, and coverage
// of all accounts.
func (d *deployment) pulledExactly(ctx context.Context, run int64) error {
	db := d.store.Data.Writer(ctx)
	var parts []string
	if err := db.Raw("SELECT DISTINCT part FROM "+ledger.LogTable(run)+" WHERE run_id = ?",
		run).Scan(&parts).Error; err != nil {
		return err
	}
	if len(parts) != 1 {
		return fmt.Errorf("the subtasks of run %d are of the days %v, want one", run, parts)
	}
	truth, err := d.world.truth(ctx, day.Day(parts[0]))
	if err != nil {
		return err
	}
	var errs []error
	var have reported
	const sums = "SELECT COUNT(*) AS `rows`, COALESCE(SUM(impressions), 0) AS impressions, COALESCE(SUM(cost), 0) AS " +
		"cost FROM report_daily"
	if err := db.Raw(sums).Scan(&have).Error; err != nil {
		return err
	}
	if have != truth {
		errs = append(errs, fmt.Errorf("report_daily has %+v, the platform %+v", have, truth))
	}
	var raw int64
	if err := db.Raw("SELECT COUNT(*) FROM " + fullRaw).Scan(&raw).Error; err != nil {
		return err
	}
	if raw != truth.Rows {
		errs = append(errs, fmt.Errorf("%s has %d rows, the platform %d", fullRaw, raw, truth.Rows))
	}
	var scopes, rows int64
	const covered = "SELECT COUNT(*), COALESCE(SUM(row_count), 0) FROM coverage WHERE state = ? AND level = ? AND day = ?"
	if err := db.Raw(covered, results.Complete, fullLevel, parts[0]).Row().Scan(&scopes, &rows); err != nil {
		return err
	}
	if int(scopes) != d.world.accounts || rows != truth.Rows {
		errs = append(errs, fmt.Errorf("coverage reports %d accounts that are complete, with %d rows, want %d and %d",
			scopes, rows, d.world.accounts, truth.Rows))
	}
	return errors.Join(errs...)
}

// truth returns the platform's own figures of a day.
func (w *world) truth(ctx context.Context, d day.Day) (reported, error) {
	var sums reported
	address := fmt.Sprintf("%s/_sim/truth?media=%s&kind=report_daily&level=ad&from=%s&to=%s", w.address, fullPlatform.Name,
		d, d)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return sums, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return sums, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var row struct {
			Metrics map[string]int64 `json:"metrics"`
			Count   *int64           `json:"count"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return sums, fmt.Errorf("read the truth of %s: %w", d, err)
		}
		if row.Count != nil {
			return sums, nil
		}
		sums.Rows++
		sums.Impressions += row.Metrics["impressions"]
		sums.Cost += row.Metrics["cost"]
	}
	return sums, fmt.Errorf("the truth of %s was cut off: %w", d, errors.Join(lines.Err(), io.ErrUnexpectedEOF))
}

// stop ends the platform.
func (w *world) stop() error {
	if w == nil || w.process == nil {
		return nil
	}
	return w.process.Stop(0)
}
