package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/day"
	"adsync/base/ratelimit"
	"adsync/base/schedule"
	"adsync/base/secret"
	"adsync/engine"
	"adsync/standalone"
	"adsync/test/rig"
	"adsync/test/services/local"

	"adsync/simulator/control"
	"adsync/simulator/fault"
	"adsync/simulator/limit"
)

// simulatorName names the simulated platform among those that spend CPU time.
const simulatorName = "simulator"

// world is the process with the simulated platform, and the clients that reach it.
type world struct {
	program, listen, dir string
	control              control.Client
	accounts             int
	ads                  int // of each account; 0 is a mix
	yesterday            day.Day
	process              *local.Process
	engine               *engine.Engine
	box                  *secret.Box
}

// limitMost is the highest limit of calls that the simulator accepts: no limit slows the full path.
const limitMost = 1_000_000

// startWorld starts the platform.
func (d *deployment) startWorld(ctx context.Context) error {
	program, err := rig.Build(ctx, d.o.dir, "timetzdata")
	if err != nil {
		return err
	}
	port, err := d.ports.Take()
	if err != nil {
		return err
	}
	d.world = &world{program: program, listen: local.Loopback(port), dir: d.o.dir,
		accounts: max(1, d.o.accounts/fullPart)}
	d.world.control = control.Client{Address: "http://" + d.world.listen}
	return d.world.start(ctx, mixed.ads)
}

// start starts the process with a stopped clock, so that the platform's figures do not change. Logins and accounts are
// the same, with any number of ads.
func (w *world) start(ctx context.Context, ads int) error {
	// All accounts are in one zone, so that all have the same yesterday.
	cmd := exec.Command(w.program, "simulate", "--listen", w.listen, "--media", fullPlatform.Name,
		"--accounts", strconv.Itoa(w.accounts), "--usd", "0", "--ads", strconv.Itoa(ads))
	cmd.Env = []string{"ADSYNC_LOG_FORMAT=json"}
	var err error
	w.process, err = local.StartLogged(simulatorName, filepath.Join(w.dir, "logs", simulatorName+".log"), cmd)
	if err != nil {
		return err
	}
	w.ads = ads
	var clock struct {
		Now time.Time `json:"now"`
	}
	err = local.AwaitReady(ctx, simulatorName, func(ctx context.Context) error {
		return w.control.Get(ctx, "clock", &clock)
	}, w.process.Exited())
	if err != nil {
		return err
	}
	zone, err := schedule.Zone("Asia/Shanghai")
	if err != nil {
		return err
	}
	w.yesterday = day.Of(clock.Now, zone).Add(-1)
	if err := w.control.Post(ctx, "clock", map[string]any{"frozen": true}); err != nil {
		return err
	}
	var limits struct {
		Rules []limit.Rule `json:"rules"`
	}
	if err := w.control.Get(ctx, "limits", &limits); err != nil {
		return err
	}
	for i := range limits.Rules {
		limits.Rules[i].Limit = limitMost
	}
	return w.control.Post(ctx, "limits", limits)
}

// become makes the accounts run a number of ads, and the platform answer later by the latency.
func (w *world) become(ctx context.Context, ads, ms int) error {
	if w.ads != ads {
		if err := errors.Join(w.stop(), w.start(ctx, ads)); err != nil {
			return err
		}
	}
	if err := w.control.Send(ctx, http.MethodDelete, "faults", nil, nil); err != nil {
		return err
	}
	return w.control.Post(ctx, "faults", map[string]any{"kind": fault.Latency, "media": fullPlatform.Name, "ms": ms})
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
func (w *world) base() string { return w.control.Address + fullPlatform.BasePath }

// bindWorld writes the platform's app, login, accounts and limits into the tables, makes the limits take effect, and
// starts the look-up of accounts.
func (d *deployment) bindWorld(ctx context.Context) error {
	bound, err := standalone.Bind(ctx, d.store, d.world.box, d.world.control.Address)
	if err != nil {
		return err
	}
	if at := bound.BaseURLs[fullPlatform.Name]; at != d.world.base() {
		return fmt.Errorf("the simulator serves %s at %s, not at %s", fullPlatform.Name, at, d.world.base())
	}
	return errors.Join(d.world.engine.Limits().Start(ctx), d.world.engine.Accounts().Start(ctx))
}

// reported are the sums over rows of a report.
type reported struct{ Rows, Impressions, Cost int64 }

// truth returns the platform's own figures of the accounts that are pulled.
func (w *world) truth(ctx context.Context, level string, pulled pulledDay) (sums reported, err error) {
	err = w.eachTrue(ctx, level, pulled, func(r trueRow) {
		sums.Rows++
		sums.Impressions += r.Metrics["impressions"]
		sums.Cost += r.Metrics["cost"]
	})
	return sums, err
}

// changedPart is which share of the rows changeSome changes.
const changedPart = 10

// changeSome corrects the figures of one ad in ten of the accounts that are pulled.
func (w *world) changeSome(ctx context.Context, pulled pulledDay) error {
	var orders []map[string]any
	n := 0
	err := w.eachTrue(ctx, "ad", pulled, func(r trueRow) {
		if n++; n%changedPart == 0 {
			orders = append(orders, map[string]any{"media": fullPlatform.Name, "account": r.Account, "object": r.Object,
				"from": pulled.day, "to": pulled.day, "percent": 7})
		}
	})
	for i := 0; i < len(orders) && err == nil; i++ {
		err = w.control.Post(ctx, "truth/correct", orders[i])
	}
	return err
}

// trueRow is a row of the platform's truth.
type trueRow struct {
	Account, Object string
	Metrics         map[string]int64
	Count           *int64 // in the last one only
}

// eachTrue calls each for the rows of the accounts that are pulled.
func (w *world) eachTrue(ctx context.Context, level string, pulled pulledDay, each func(trueRow)) error {
	wanted := map[string]bool{}
	for _, a := range pulled.accounts {
		wanted[a.ExternalID] = true
	}
	address := w.control.Address + control.Prefix + "truth?" + url.Values{"media": {fullPlatform.Name},
		"kind": {"report_daily"}, "level": {level}, "from": {pulled.day.String()}, "to": {pulled.day.String()}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var row trueRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return fmt.Errorf("read the truth of %s: %w", pulled.day, err)
		}
		if row.Count != nil {
			return nil
		}
		if wanted[row.Account] {
			each(row)
		}
	}
	return fmt.Errorf("the truth of %s was cut off: %w", pulled.day, errors.Join(lines.Err(), io.ErrUnexpectedEOF))
}

// tokens returns the accounts' access tokens, by the platform's ids.
func (w *world) tokens(ctx context.Context) (map[string]string, error) {
	var all map[string]control.Credentials
	if err := w.control.Get(ctx, "credentials", &all); err != nil {
		return nil, err
	}
	of := map[string]string{}
	for _, app := range all[fullPlatform.Name].Apps {
		for _, login := range app.Logins {
			for _, account := range login.AccountIDs {
				of[account] = login.AccessToken
			}
		}
	}
	return of, nil
}

// stop ends the platform.
func (w *world) stop() error {
	if w == nil || w.process == nil {
		return nil
	}
	return w.process.Stop(0)
}
