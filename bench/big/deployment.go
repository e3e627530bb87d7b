package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	goredis "github.com/redis/go-redis/v9"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/httpapi"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/redis"
	"adsync/base/secret"
	"adsync/base/service"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/telemetry"
	"adsync/base/timer"
	"adsync/engine"
	"adsync/producer"
	"adsync/producer/api"
	"adsync/test/big"
	"adsync/test/services/local"
)

// today is the day of the tables.
const today = day.Day("2026-11-21")

// deployment is a store on its own servers, and the API over it.
type deployment struct {
	o       options
	report  *Report
	say     func(format string, args ...any)
	ports   *local.Ports
	servers []*local.Server
	mariadb *local.MariaDB
	redis   *local.Redis
	store   *store.Store
	tables  *big.Tables
	cache   goredis.UniversalClient
	broker  *broker.Client
	server  *httptest.Server
}

func (d *deployment) start(ctx context.Context, stderr io.Writer) error {
	// The logs of a transaction of a million rows are written once, and rows that a crash loses can be made again.
	// Durability is relaxed only while rows are made: no measure waits for a sync.
	d.mariadb = &local.MariaDB{Settings: []string{
		"--innodb-buffer-pool-size=" + d.o.buffer, "--innodb-log-file-size=2G", "--innodb-flush-log-at-trx-commit=2",
		"--innodb-doublewrite=0",
		"--innodb-undo-tablespaces=2", "--innodb-undo-log-truncate=1", "--innodb-stats-persistent-sample-pages=20",
	}}
	d.redis, d.ports = &local.Redis{}, local.NewPorts()
	var err error
	if d.servers, err = local.LaunchAll(ctx, d.o.dir, d.ports, stderr, d.mariadb, d.redis); err != nil {
		return err
	}
	return d.open(ctx)
}

// open creates the databases, and the rows that all stages need.
func (d *deployment) open(ctx context.Context) error {
	err := d.mariadb.CreateDatabases(ctx, "config", "data")
	if err != nil {
		return err
	}
	cfg := sqldb.DefaultConfig()
	cfg.Config.Driver, cfg.Config.Writer = sqldb.MySQL, secret.NewText(d.mariadb.DSN()+"config")
	cfg.Data.Driver, cfg.Data.Writer = sqldb.MySQL, secret.NewText(d.mariadb.DSN()+"data")
	if d.store, err = store.Open(ctx, cfg, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	if err := d.store.MigrateUp(ctx); err != nil {
		return err
	}
	if err := d.store.EnsureRawTables(ctx, engine.RawTables()); err != nil {
		return err
	}
	if err := d.partitionAnew(ctx); err != nil {
		return err
	}
	if d.tables, err = big.Of(d.mariadb.DSN()+"data", d.mariadb.DSN()+"config"); err != nil {
		return err
	}
	db := d.store.Config.Writer(ctx)
	for i := range big.Tasks {
		media := engine.PlatformNames()[i%2]
		err := db.Exec(
			"INSERT INTO cron_task (id, name, media, handler, cron, lane, params) VALUES (?, ?, ?, ?, '0 * * * *', 'normal', "+
				"'{\"level\":\"account\",\"days\":7}')",
			i+1, fmt.Sprintf("task.%d", i+1), media, media+".report_daily").Error
		if err != nil {
			return err
		}
	}
	return d.tables.Accounts(ctx, d.o.accounts)
}

// partitionAnew removes the partitions that the tables were created with: they begin with the day of this run, and all
// rows are of earlier days.
func (d *deployment) partitionAnew(ctx context.Context) error {
	for _, table := range []string{"report_daily", "report_hourly", "wide_daily"} {
		err := d.store.Data.Writer(ctx).Exec("ALTER TABLE " + table +
			" PARTITION BY RANGE COLUMNS (day) (PARTITION later VALUES LESS THAN (MAXVALUE))").Error
		if err != nil {
			return fmt.Errorf("partition %s again: %w", table, err)
		}
	}
	return nil
}

// build makes rows and records how fast.
func (d *deployment) build(ctx context.Context, table string, fill func() error) error {
	began := clock.Mark()
	before, err := d.rowsOf(ctx, table)
	if err != nil {
		return err
	}
	if err := fill(); err != nil {
		return fmt.Errorf("fill %s: %w", table, err)
	}
	took := clock.Since(began)
	n, err := d.rowsOf(ctx, table)
	if err != nil {
		return err
	}
	r := Rows{Table: table, Rows: n - before, PerSecond: float64(n-before) / took.Seconds()}
	err = d.tables.DB.QueryRowContext(ctx,
		"SELECT COALESCE(CAST((SUM(data_length) + SUM(index_length)) / 1048576 AS SIGNED), 0) FROM "+
			"information_schema.tables WHERE table_schema = 'data' AND table_name = ?", table).Scan(&r.MB)
	d.report.Rows = append(d.report.Rows, r)
	d.say("%s: %d rows, %.0f a second, %d MB", table, r.Rows, r.PerSecond, r.MB)
	return err
}

func (d *deployment) rowsOf(ctx context.Context, table string) (n int, err error) {
	err = d.tables.DB.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&n)
	return n, err
}

// serve serves the API over the store, with the producer's own list of tasks.
func (d *deployment) serve(ctx context.Context) error {
	service.GrowHeap()
	log := slog.New(slog.DiscardHandler)
	settings := redis.DefaultConfig()
	settings.Addrs = []string{d.redis.Addr()}
	var err error
	if d.cache, err = redis.Open(settings); err != nil {
		return err
	}
	keys := redis.NewKeys(settings.KeyPrefix)
	kafka := broker.DefaultConfig()
	kafka.Brokers = []string{"127.0.0.1:9"} // It is never called: the producer does not lead.
	reg := prometheus.NewRegistry()
	if d.broker, err = broker.New(kafka, log, reg); err != nil {
		return err
	}
	at := still{at: today.Start(time.UTC).Add(24*time.Hour - time.Minute)}
	registry := engine.New(engine.Deps{
		Store: d.store, Broker: d.broker, Redis: d.cache, Keys: keys, Planning: at, Waiting: at, Logger: log,
		Registerer: prometheus.NewRegistry(),
	}, ratelimit.DefaultConfig(), engine.MediaConfig{}).Registry()
	p, err := producer.New(producer.DefaultConfig(), producer.Deps{
		Store: d.store, Registry: registry, Broker: d.broker, Clock: at, Timer: timer.New(d.cache, keys, log, reg),
		Logger: log, Registerer: reg,
	})
	if err != nil {
		return err
	}
	if err := p.Reload(ctx); err != nil {
		return err
	}
	//nolint:contextcheck // Each request has its own context.
	server, err := httpapi.New(httpapi.DefaultConfig(), telemetry.NewRegistry(), log)
	if err != nil {
		return err
	}
	waiter := ratelimit.New(ratelimit.DefaultConfig(), d.cache, keys, d.store, grant.NewRules(), reg, log)
	//nolint:contextcheck // Each request has its own context.
	server.Register(api.Routes(api.Deps{Store: d.store, Now: d.store.Data.Now, Producer: p, Registry: registry,
		Platforms: engine.Platforms(), Limits: waiter, Clock: at})...)
	if err := server.Gate().Start(ctx); err != nil {
		return err
	}
	d.server = httptest.NewServer(server.Handler())
	return nil
}

// still is a stopped clock.
type still struct {
	clock.System
	at time.Time
}

func (s still) Now() time.Time { return s.at }

// close ends everything.
func (d *deployment) close() error {
	var errs []error
	if d.server != nil {
		d.server.Close()
	}
	if d.broker != nil {
		errs = append(errs, d.broker.Close())
	}
	if d.cache != nil {
		errs = append(errs, d.cache.Close())
	}
	if d.tables != nil {
		errs = append(errs, d.tables.Close())
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	for _, s := range d.servers {
		errs = append(errs, s.Kill())
	}
	d.ports.Release()
	return errors.Join(errs...)
}
