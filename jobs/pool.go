package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/config"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store/jobstore"
)

// poolDefault is the pool of a token that names none.
const poolDefault = "default"

// Pool is a database of jobs besides the default one. Namespaces whose tokens begin with its name lie in it.
type Pool struct {
	Name   string      `koanf:"name" doc:"How tokens name it: NAME:TOKEN. Letters, digits, - and _."`
	Driver string      `koanf:"driver" doc:"mysql (also for MariaDB) or sqlite. Empty means mysql."`
	Writer secret.Text `koanf:"writer" doc:"Its server, in the form of jobs.store.writer."`
}

func (p Pool) database(like sqldb.Database) sqldb.Database {
	return sqldb.Database{Driver: p.driver(), Writer: p.Writer, MaxOpenConns: like.MaxOpenConns, Patience: like.Patience}
}

func (p Pool) driver() string {
	if p.Driver == "" {
		return sqldb.MySQL
	}
	return p.Driver
}

func validatePools(all []Pool, like sqldb.Database) error {
	var errs []error
	seen := map[string]bool{poolDefault: true}
	for i, p := range all {
		key := fmt.Sprintf("pools[%d]", i)
		if !isName(p.Name) || len(p.Name) > poolNameMax || seen[p.Name] {
			errs = append(errs, &config.FieldError{Key: key + ".name", Value: p.Name, Want: fmt.Sprintf("a name of its own "+
				"with up to %d letters, digits, - and _, other than %s", poolNameMax, poolDefault)})
		}
		seen[p.Name] = true
		errs = append(errs, p.database(like).Validate(key))
	}
	return errors.Join(errs...)
}

const poolNameMax = 32

// Stores are the databases of the pools.
type Stores map[string]*jobstore.Store

// Default returns the database of tokens that name no pool. Its time is that of all.
func (s Stores) Default() *jobstore.Store { return s[poolDefault] }

// each calls a function for each database, in the order of their names.
func (s Stores) each(do func(name string, s *jobstore.Store) error) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if err := do(name, s[name]); err != nil {
			errs = append(errs, fmt.Errorf("pool %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// Close closes all connections.
func (s Stores) Close() error {
	return s.each(func(_ string, s *jobstore.Store) error { return s.Close() })
}

// MigrateUp brings all tables to this program's version. It may be repeated, and run concurrently.
func (s Stores) MigrateUp(ctx context.Context) error {
	return s.each(func(_ string, s *jobstore.Store) error { return s.MigrateUp(ctx) })
}

// MigrateDown reverts the newest migration of each database, with the data in its tables.
func (s Stores) MigrateDown(ctx context.Context) error {
	return s.each(func(_ string, s *jobstore.Store) error { return s.Schema().MigrateDown(ctx) })
}

// MigrationStatus returns every migration that this program knows, oldest first. The databases of pools have the pool's
// name after theirs.
func (s Stores) MigrationStatus(ctx context.Context) (all []sqldb.MigrationStatus, err error) {
	err = s.each(func(name string, s *jobstore.Store) error {
		known, err := s.Schema().MigrationStatus(ctx)
		for _, m := range known {
			if name != poolDefault {
				m.Database += " " + name
			}
			all = append(all, m)
		}
		return err
	})
	return all, err
}

// CheckSchema returns an error with a *sqldb.SchemaError if some tables are older or newer than this program.
func (s Stores) CheckSchema(ctx context.Context) error {
	return s.each(func(_ string, s *jobstore.Store) error { return s.Schema().Check(ctx) })
}

// Ping reports whether all databases answer.
func (s Stores) Ping(ctx context.Context) error {
	return s.each(func(_ string, s *jobstore.Store) error { return s.Ping(ctx) })
}

// Open opens the databases of the jobs: their own, or the data database with other connections, and those of the pools.
func (c Config) Open(ctx context.Context, data sqldb.Database, logger *slog.Logger) (all Stores, err error) {
	first := c.Store
	if first.Writer.Reveal() == "" {
		if data.ShardBy != "" {
			return nil, &config.FieldError{Key: "jobs.store.writer",
				Want: "a database of the jobs' own: the data database is behind a sharding proxy"}
		}
		first = data
		first.Replicas, first.MaxOpenConns = nil, c.Store.MaxOpenConns
	}
	all = Stores{}
	databases := map[string]sqldb.Database{poolDefault: first}
	for _, p := range c.Pools {
		databases[p.Name] = p.database(c.Store)
	}
	for name, database := range databases {
		s, err := jobstore.Open(ctx, database, logger)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("pool %s: %w", name, err), all.Close())
		}
		all[name] = s
	}
	return all, nil
}

// pool is the job queue in one database.
type pool struct {
	queues *queues
	look   *look
	api    *api
	// What the two addresses serve.
	handler, adminHandler http.Handler
}

func newPool(name string, cfg Config, d Deps) *pool {
	store := d.Stores[name]
	counts := newMetrics(name, prometheus.WrapRegistererWith(prometheus.Labels{"pool": name}, d.Registerer),
		store.Connections)
	q := newQueues(store, d.Clock, d.Logger, counts)
	if d.Redis != nil {
		q.wake = newWake(d.Redis, d.Keys.Of("jobs", "wake", name), d.Node, q.desks, d.Logger)
	}
	a := &api{pool: name, queues: q, limits: newLimits(d.Redis, d.Keys, name, d.Logger), openSizes: cfg.OpenSizes}
	a.log.logger = d.Logger
	a.quotas = &quotas{queues: q, limits: a.limits}
	if cfg.Tokens == TokensRequired {
		a.tokens = &tokens{store: store}
	}
	return &pool{queues: q, look: newLook(q, a.quotas, cfg.KeepDead, d.Logger), api: a, handler: a.handler()}
}

// byPool serves each request with the handler of its pool. That of the default pool refuses one that does not exist.
func byPool(all map[string]*pool, of func(*http.Request) string, handler func(*pool) http.Handler) http.Handler {
	if len(all) == 1 {
		return handler(all[poolDefault])
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := all[of(r)]
		if p == nil {
			p = all[poolDefault]
		}
		handler(p).ServeHTTP(w, r)
	})
}

// poolOfToken returns the pool that the token of a request names.
func poolOfToken(r *http.Request) string {
	pool, _ := tokenOf(r)
	return pool
}

// poolOfAdmin returns the pool that a request to the admin port names: pool=, or before a token.
func poolOfAdmin(r *http.Request) string {
	query := r.URL.Query()
	if name := query.Get("pool"); name != "" {
		return name
	}
	token := query.Get("token")
	if parts := strings.Split(r.URL.Path, "/"); len(parts) > 3 && parts[1] == "token" {
		token = parts[3]
	}
	pool, _ := poolOf(token)
	return pool
}
