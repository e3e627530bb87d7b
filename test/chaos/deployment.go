package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"time"

	"adsync/base/day"
	"adsync/base/store"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
)

// deployment is a running adsync on a stack: its own tables, topics and keys, a world, and the processes.
type deployment struct {
	stack     *stage.Stack
	name      string // of its databases, topics, groups and keys
	dir       string // for settings, logs and histories
	program   string
	world     *stage.World
	instances []*stage.Instance
	store     *store.Store // a look at the tables, not through a proxy
	accounts  map[string][]int64
	external  map[int64]string // the platforms' ids of the accounts
}

// deploy creates the tables, the world and the settings for a scenario, and starts the processes. Close the deployment
// also after an error.
func deploy(ctx context.Context, s *stage.Stack, program, dir, name string, seed int64, of scenario) (*deployment,
	error) {
	d := &deployment{stack: s, name: name, dir: dir, program: program}
	if err := s.CreateDatabases(ctx, name); err != nil {
		return d, err
	}
	var err error
	if d.world, err = stage.StartWorld(ctx, program, dir, s, seed, cmp.Or(of.speed, stage.UsualSpeed)); err != nil {
		return d, err
	}
	if err := d.world.Limit(ctx, stage.CallsASecond); err != nil {
		return d, err
	}
	if err := d.prepare(ctx, of.settings); err != nil {
		return d, err
	}
	if d.store, err = store.Open(ctx, stage.Databases(name, stage.Root, s.Tables.Addr()),
		slog.New(slog.DiscardHandler)); err != nil {
		return d, err
	}
	if err := d.readAccounts(ctx); err != nil {
		return d, err
	}
	return d, errors.Join(d.putLoad(ctx), d.world.SlowDown(ctx))
}

func (d *deployment) database(of string) string { return stage.Database(d.name, of) }

// prepare creates tables, topics, the world's accounts, and the settings of each seat.
func (d *deployment) prepare(ctx context.Context, change func(map[string]any)) (err error) {
	settings := stage.Settings(d.name)
	if change != nil {
		change(settings)
	}
	d.instances, err = d.stack.Install(ctx, d.program, d.dir, d.name, d.world.Address, settings, nil)
	return err
}

func (d *deployment) readAccounts(ctx context.Context) error {
	rows, err := d.store.Config.Writer(ctx).Raw("SELECT id, media, external_id FROM media_account ORDER BY id").Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	d.accounts, d.external = map[string][]int64{}, map[int64]string{}
	for rows.Next() {
		var id int64
		var media, external string
		if err := rows.Scan(&id, &media, &external); err != nil {
			return err
		}
		d.accounts[media] = append(d.accounts[media], id)
		d.external[id] = external
	}
	return rows.Err()
}

// start starts all processes and waits until they work.
func (d *deployment) start(ctx context.Context) error {
	for _, i := range d.instances {
		if err := i.Start(); err != nil {
			return err
		}
	}
	return d.awaitReady(ctx)
}

func (d *deployment) awaitReady(ctx context.Context) error {
	errs := make([]error, len(d.instances))
	var wg sync.WaitGroup
	for n, i := range d.instances {
		wg.Go(func() { errs[n] = i.AwaitReady(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// close ends the processes and removes what the deployment created on the servers.
func (d *deployment) close(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, i := range d.instances {
		wg.Go(i.Close)
	}
	wg.Wait()
	if d.world != nil && d.world.Process != nil {
		_ = d.world.Process.Stop(0)
	}
	var errs []error
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	return errors.Join(append(errs, d.stack.Forget(ctx, d.name))...)
}

// of returns the instances of a role.
func (d *deployment) of(role string) []*stage.Instance {
	var found []*stage.Instance
	for _, i := range d.instances {
		if i.Role == role {
			found = append(found, i)
		}
	}
	return found
}

// leader returns the producer that reports itself as the leader.
func (d *deployment) leader(ctx context.Context) (*stage.Instance, error) {
	var found *stage.Instance
	err := rig.Await(ctx, stage.Patience, "a producer leads", func(ctx context.Context) (bool, error) {
		for _, i := range d.of("producer") {
			if !i.Alive() {
				continue
			}
			_, metrics, err := rig.Get(ctx, i.Api+"/metrics")
			if err == nil && leads(metrics) {
				found = i
				return true, nil
			}
		}
		return false, nil
	})
	return found, err
}

// leads reports whether a process leads, by its metrics.
func leads(metrics string) bool { return strings.Contains(metrics, "\nadsync_producer_leader 1\n") }

// producerAPI returns the address of a randomly chosen producer that answers.
func (d *deployment) producerAPI(random *mathrand.Rand) (string, bool) {
	var alive []*stage.Instance
	for _, i := range d.of("producer") {
		if i.Alive() {
			alive = append(alive, i)
		}
	}
	if len(alive) == 0 {
		return "", false
	}
	return alive[random.IntN(len(alive))].Api + "/api/v1", true
}

// order orders a run of a task now, for accounts by adsync's ids or for the task's scope. It returns the run's id.
func (d *deployment) order(ctx context.Context, api, name string, accountIDs []int64) (int64, error) {
	request := map[string]any{"scope": "all"}
	if len(accountIDs) > 0 {
		clear(request)
		ids := make([]string, len(accountIDs))
		for i, id := range accountIDs {
			ids[i] = d.external[id]
		}
		request["accounts"] = ids
	}
	return d.orderRun(ctx, api, name, request)
}

// orderDays orders a run of a task now, for the task's scope and the days from one to another. It returns the run's id.
func (d *deployment) orderDays(ctx context.Context, api, name string, from, to day.Day) (int64, error) {
	return d.orderRun(ctx, api, name, map[string]any{"scope": "all", "from": from, "to": to})
}

func (d *deployment) orderRun(ctx context.Context, api, name string, request map[string]any) (int64, error) {
	var order struct {
		RunID json.Number `json:"run_id"`
	}
	if err := rig.Send(ctx, "POST", api+"/tasks/"+name+"/run", request, &order); err != nil {
		return 0, err
	}
	return order.RunID.Int64()
}

// now returns the database server's time.
func (d *deployment) now(ctx context.Context) (time.Time, error) { return d.store.Data.Now(ctx) }
