package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	goredis "github.com/redis/go-redis/v9"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/redis"
	"adsync/base/secret"
	"adsync/base/service"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/timer"
	"adsync/consumer"
	"adsync/engine"
	"adsync/media"
	"adsync/producer"
	"adsync/test/rig"
	"adsync/test/services/local"
)

// platform is the media whose tasks are measured, and lane is their lane.
const (
	platform = "bench"
	lane     = "normal"
	// partitions is the number of partitions of its topic.
	partitions = 6
)

const (
	// patience is how long a part may take to become ready.
	patience = 2 * time.Minute
	// roundTime is how long one measure may take.
	roundTime = 30 * time.Minute
)

// databaseSettings make the database as large as its data; the rest is as shipped, with a sync at each commit.
var databaseSettings = []string{"--innodb-buffer-pool-size=4G", "--innodb-log-file-size=1G"}

// postgresSettings do the same for a peer's PostgreSQL: fsync and synchronous_commit are on, as shipped.
var postgresSettings = []string{"shared_buffers=4GB", "max_wal_size=4GB"}

// deployment is a running adsync on its own servers: one producer and, while it is needed, one consumer, both in this
// process.
type deployment struct {
	o       options
	ports   *local.Ports
	servers []*local.Server
	mariadb *local.MariaDB
	kafka   *local.Kafka
	redis   *local.Redis

	stderr    io.Writer
	log       *slog.Logger
	store     *store.Store
	broker    *broker.Client
	cache     goredis.UniversalClient
	keys      redis.Keys
	time      *clock.Database
	waiter    *ratelimit.Waiter
	registry  *media.Registry
	producer  *producer.Producer
	consumers []*consumer.Consumer // those that work
	hold      *hold
	accounts  []int64
	tasks     map[string]int64  // ids by handlers
	world     *world            // nil where no measure needs it
	peers     map[string]string // their programs, by their modules; dlt's Python
	postgres  *local.Postgres   // of a peer
	database  *local.Server     // postgres, nil before its first start

	// The flat measures make these once: the run id above those of the long day's table, and the crowd's accounts.
	filledBelow int64
	crowded     bool

	jobQueues int // databases of job queues that were made
}

// deploy starts everything but a consumer. Close the deployment also after an error.
func deploy(ctx context.Context, o options, stderr io.Writer) (*deployment, error) {
	d := &deployment{
		o: o, ports: local.NewPorts(), mariadb: &local.MariaDB{Settings: databaseSettings}, kafka: &local.Kafka{},
		redis: &local.Redis{}, hold: newHold(),
		postgres: &local.Postgres{Settings: postgresSettings},
		stderr:   stderr, log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	service.GrowHeap()
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return d, err
	}
	var err error
	if d.servers, err = local.LaunchAll(ctx, o.dir, d.ports, stderr, d.kafka, d.mariadb, d.redis); err != nil {
		return d, err
	}
	pulling := append(fullMeasures(), pullMeasures()...)
	if slices.ContainsFunc(pulling, func(m measure) bool { return slices.Contains(o.only, m.id) }) {
		if err := d.startWorld(ctx); err != nil {
			return d, err
		}
	}
	if err := d.connect(ctx); err != nil {
		return d, err
	}
	if err := d.fill(ctx); err != nil {
		return d, err
	}
	if d.world != nil {
		if err := d.bindWorld(ctx); err != nil {
			return d, err
		}
	}
	return d, d.startProducer(ctx)
}

func (d *deployment) connect(ctx context.Context) error {
	err := d.mariadb.CreateDatabases(ctx, "config", "data")
	if err != nil {
		return err
	}
	tables := sqldb.DefaultConfig()
	tables.Config.Driver, tables.Config.Writer = sqldb.MySQL, secret.NewText(d.mariadb.DSN()+"config")
	tables.Data.Driver, tables.Data.Writer = sqldb.MySQL, secret.NewText(d.mariadb.DSN()+"data")
	log := d.log
	if d.store, err = store.Open(ctx, tables, log); err != nil {
		return err
	}
	if err := d.store.MigrateUp(ctx); err != nil {
		return err
	}
	if err := d.store.EnsureRawTables(ctx, append(engine.RawTables(), rawTable)); err != nil {
		return err
	}
	kafka := broker.DefaultConfig()
	kafka.Brokers, kafka.Partitions, kafka.Replication, kafka.MinInsync = []string{d.kafka.Addr()}, partitions, 1, 1
	kafka.Span = heldMax // All messages of a partition may be in flight.
	reg := prometheus.NewRegistry()
	if d.broker, err = broker.New(kafka, log, reg); err != nil {
		return err
	}
	cache := redis.DefaultConfig()
	cache.Addrs = []string{d.redis.Addr()}
	if d.cache, err = redis.Open(cache); err != nil {
		return err
	}
	d.keys = redis.NewKeys(cache.KeyPrefix)
	d.time = clock.NewDatabase(d.store.Data.Now, log)
	if err := d.time.Start(ctx); err != nil {
		return err
	}
	rules := grant.NewRules()
	if err := rules.Set([]grant.Rule{grantRule}); err != nil {
		return err
	}
	d.waiter = ratelimit.New(ratelimit.DefaultConfig(), d.cache, d.keys, d.store, rules, reg, log)
	handlers := d.handlers()
	if d.world != nil {
		if err := d.reachWorld(); err != nil {
			return err
		}
		handler, _ := d.world.engine.Registry().Get(fullTask)
		handlers = append(handlers, handler)
	}
	d.registry = media.NewRegistry(handlers...)
	d.producer, err = d.newProducer(false)
	return err
}

// newProducer returns a producer, with ticks or only with orders by hand.
func (d *deployment) newProducer(ticks bool) (*producer.Producer, error) {
	cfg := producer.DefaultConfig()
	cfg.Schedule = ticks
	reg := prometheus.NewRegistry()
	return producer.New(cfg, producer.Deps{
		Store: d.store, Registry: d.registry, Broker: d.broker, Clock: d.time, Waiting: d.time,
		Timer: timer.New(d.cache, d.keys, d.log, reg), Logger: d.log, Registerer: reg,
	})
}

// fill creates the accounts, the lane and a task of each handler, in place of the seeded ones.
func (d *deployment) fill(ctx context.Context) error {
	db := d.store.Config.Writer(ctx)
	for _, statement := range []string{"DELETE FROM cron_task", "DELETE FROM lane"} {
		if err := db.Exec(statement).Error; err != nil {
			return err
		}
	}
	// Until another media's lane is measured, no consumer works on it.
	for _, of := range []string{platform, fullPlatform.Name, crowd, idle} {
		pool, backlog := 0, 0
		switch of {
		case platform:
			pool = d.o.pool
		case crowd:
			backlog = 2 * d.o.flatAccounts // All of it may wait.
		}
		err := db.Exec("INSERT INTO lane (media, name, pool_size, partitions, backlog_max) VALUES (?, ?, ?, ?, ?)", of, lane,
			pool, partitions, backlog).Error
		if err != nil {
			return err
		}
	}
	const atOnce = 1000
	for from := 1; from <= d.o.accounts; from += atOnce {
		var rows []string
		for id := from; id < min(from+atOnce, d.o.accounts+1); id++ {
			rows = append(rows, fmt.Sprintf("(%d, '%s', '%d', 0, 1)", id, platform, id))
			d.accounts = append(d.accounts, int64(id))
		}
		if err := db.Exec("INSERT INTO media_account (id, media, external_id, token_id, bound) VALUES " +
			strings.Join(rows, ", ")).Error; err != nil {
			return err
		}
	}
	d.tasks = map[string]int64{}
	for i, name := range d.registry.Names() {
		of, _, _ := strings.Cut(name, ".")
		if err := db.Exec(
			"INSERT INTO cron_task (id, name, media, handler, cron, lane, params, fan_out_rate) VALUES (?, ?, ?, ?, '0 0 1 1 "+
				"*', ?, ?, ?)",
			i+1, name, of, name, lane, taskParams[name], fanOutRates[name]).Error; err != nil {
			return err
		}
		d.tasks[name] = int64(i + 1)
	}
	return nil
}

func (d *deployment) startProducer(ctx context.Context) error {
	if err := d.producer.Start(ctx); err != nil {
		return err
	}
	return rig.Await(ctx, patience, "the producer leads",
		func(context.Context) (bool, error) { return d.producer.Leading(), nil })
}

// startConsumer adds a consumer to those that run, until stopConsumer.
func (d *deployment) startConsumer(ctx context.Context) error {
	reg := prometheus.NewRegistry()
	c, err := consumer.New(consumer.DefaultConfig(), consumer.Deps{
		Store: d.store, Registry: d.registry, Broker: d.broker, Clock: d.time, Logger: d.log, Registerer: reg, Node: "bench",
		Redis: d.cache, Keys: d.keys, Timer: timer.New(d.cache, d.keys, d.log, reg),
	})
	if err != nil {
		return err
	}
	d.consumers = append(d.consumers, c)
	return c.Start(ctx)
}

// stopConsumer stops all consumers.
func (d *deployment) stopConsumer() {
	for _, c := range d.consumers {
		c.Stop()
	}
	d.consumers = nil
}

// peerModules are the modules of the peers' programs, which are not adsync's.
var peerModules = map[string]string{"asynq": "bench/peers", river: "bench/peers", machinery: "bench/peers/machinery"}

// buildPeers builds the programs of the peers that are measured. A program that cannot be built, since its module is
// not available, is left out.
func (d *deployment) buildPeers(ctx context.Context, say func(format string, args ...any)) {
	d.peers = map[string]string{}
	for _, m := range measures {
		if !slices.Contains(d.o.only, m.id) {
			continue
		}
		for _, who := range m.peers {
			if _, tried := d.peers[dlt]; who == dlt && !tried {
				python, err := installDlt(ctx)
				if err != nil {
					say("%s is left out, it cannot be installed: %v", dlt, err)
				}
				d.peers[dlt] = python
			}
			module := peerModules[who]
			if module == "" || d.peers[module] != "" {
				continue
			}
			program := filepath.Join(d.o.dir, filepath.Base(module))
			out, err := exec.CommandContext(ctx, "go", "build", "-C", module, "-o", program, ".").CombinedOutput()
			if err != nil {
				say("%s is left out, its program cannot be built: %v: %s", who, err, out)
				continue
			}
			d.peers[module] = program
		}
	}
}

// has reports whether somebody can be measured: the program of a peer was built or installed.
func (d *deployment) has(who string) bool {
	if who == dlt {
		return d.peers[dlt] != ""
	}
	module := peerModules[who]
	return module == "" || d.peers[module] != ""
}

// startPostgres starts PostgreSQL, until stopPostgres: its background work after a peer's turn must not slow down the
// others.
func (d *deployment) startPostgres(ctx context.Context) error {
	var err error
	if d.database == nil {
		if err := d.postgres.Install(ctx, d.stderr); err != nil {
			return fmt.Errorf("install %s: %w", d.postgres.Name(), err)
		}
		d.database, err = local.Launch(ctx, d.postgres, d.o.dir, d.ports)
	} else {
		err = d.database.Start()
	}
	if err != nil {
		return err
	}
	return d.database.Await(ctx)
}

func (d *deployment) stopPostgres() error { return d.database.Stop() }

// close ends everything.
func (d *deployment) close() error {
	var errs []error
	d.hold.release()
	d.stopConsumer()
	if d.producer != nil {
		d.producer.Stop()
	}
	if d.world != nil && d.world.engine != nil {
		d.world.engine.Accounts().Stop()
		d.world.engine.Limits().Stop()
	}
	if d.time != nil {
		d.time.Stop()
	}
	if d.broker != nil {
		errs = append(errs, d.broker.Close())
	}
	if d.cache != nil {
		errs = append(errs, d.cache.Close())
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	errs = append(errs, d.world.stop())
	if d.database != nil {
		errs = append(errs, d.database.Kill())
	}
	for _, s := range d.servers {
		errs = append(errs, s.Kill())
	}
	d.ports.Release()
	return errors.Join(errs...)
}
