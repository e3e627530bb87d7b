package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"adsync/base/day"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/test/chaos/stage"
	"adsync/test/rig"
	"adsync/test/services/local"
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
	for _, database := range []string{d.database("config"), d.database("data")} {
		if _, err := s.DB.ExecContext(ctx, "CREATE DATABASE "+database+" CHARACTER SET utf8mb4"); err != nil {
			return d, err
		}
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
	if d.store, err = store.Open(ctx, d.databases(stage.Root, s.Tables.Addr()),
		slog.New(slog.DiscardHandler)); err != nil {
		return d, err
	}
	if err := d.readAccounts(ctx); err != nil {
		return d, err
	}
	return d, errors.Join(d.putLoad(ctx), d.world.SlowDown(ctx))
}

func (d *deployment) database(of string) string { return d.name + "_" + of }

// databases returns the settings by which an account reaches the databases at an address.
func (d *deployment) databases(account, address string) sqldb.Config {
	at := func(of string) sqldb.Database {
		return sqldb.Database{Driver: sqldb.MySQL, Writer: secret.NewText(fmt.Sprintf("%s@tcp(%s)/%s", account, address,
			d.database(of))), MaxOpenConns: 16}
	}
	return sqldb.Config{Config: at("config"), Data: at("data")}
}

// prepare creates tables, topics, the world's accounts, and the settings of each seat.
func (d *deployment) prepare(ctx context.Context, change func(map[string]any)) error {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	settings := map[string]any{
		"secret": map[string]any{"keys": []any{map[string]any{"id": "k1", "key": base64.StdEncoding.EncodeToString(key)}}},
		"broker": map[string]any{
			"prefix": d.name, "partitions": 6, "replication": 1, "min_insync": 1,
			// The shortest that Kafka allows: after it, the partitions of a killed consumer move.
			"session_timeout": "6s", "drain_timeout": "2500ms", "commit_interval": "200ms", "write_timeout": "10s",
		},
		// A machine that runs all of this at the same time as other work is slower than a real one: a call is sent later,
		// and a Redis that takes a second to answer is not down.
		"redis":     map[string]any{"key_prefix": d.name, "read_timeout": "3s", "write_timeout": "3s"},
		"ratelimit": map[string]any{"members": 3, "arrival_spread": "300ms", "redis_timeout": "2s"},
		// A batch is smaller than a platform's number of accounts, so that a fan-out takes several steps.
		"producer": map[string]any{"lease_ttl": "6s", "batch_size": 5},
		"consumer": map[string]any{"drain_timeout": "2s", "backoff_cap": "3s"},
	}
	if change != nil {
		change(settings)
	}
	admin := filepath.Join(d.dir, "admin.yaml")
	platforms, err := rig.Install(ctx, d.program, admin, d.world.Address, settings,
		d.addresses(d.stack.Tables.Addr(), d.stack.Kafka.Addr(), d.stack.Redis.Addr()))
	if err != nil {
		return err
	}
	for _, seat := range d.stack.Seats {
		port, err := d.stack.Ports.Take()
		if err != nil {
			return err
		}
		i := &stage.Instance{
			Seat: seat, Program: d.program, Config: filepath.Join(d.dir, seat.Name+".yaml"), Api: "http://" +
				local.Loopback(port),
			Points: filepath.Join(d.dir, "points", seat.Name), Logs: d.dir,
		}
		if err := os.MkdirAll(i.Points, 0o755); err != nil {
			return err
		}
		with := d.addresses(seat.MariaDB.Addr(), seat.Kafka.Addr(), seat.Redis.Addr())
		with["api"] = map[string]any{"listen": local.Loopback(port)}
		if err := rig.WriteSettings(i.Config, settings, platforms, with); err != nil {
			return err
		}
		d.instances = append(d.instances, i)
	}
	return nil
}

// addresses returns the settings with the services' addresses.
func (d *deployment) addresses(mariadb, kafka, cache string) map[string]any {
	databases := d.databases(d.stack.Account, mariadb)
	at := func(database sqldb.Database) map[string]any {
		return map[string]any{"driver": database.Driver, "writer": database.Writer.Reveal(),
			"max_open_conns": database.MaxOpenConns}
	}
	redisAt, brokerAt := d.stack.RedisAt, d.stack.BrokerAt
	if redisAt == nil {
		redisAt = map[string]any{"addrs": []string{cache}}
	}
	if brokerAt == nil {
		brokerAt = map[string]any{"brokers": []string{kafka}}
	}
	return map[string]any{
		"store":  map[string]any{"config": at(databases.Config), "data": at(databases.Data)},
		"broker": brokerAt,
		"redis":  redisAt,
	}
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
	for _, database := range []string{d.database("config"), d.database("data")} {
		_, err := d.stack.DB.ExecContext(ctx, "DROP DATABASE IF EXISTS "+database)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, d.stack.Kafka.DeleteTopics(ctx, d.name))...)
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
