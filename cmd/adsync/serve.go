package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/httpapi"
	"adsync/base/redis"
	"adsync/base/secret"
	"adsync/base/service"
	"adsync/base/store"
	"adsync/base/store/copies"
	"adsync/base/telemetry"
	"adsync/base/trace"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/engine"
	"adsync/jobs"
	"adsync/media"
	"adsync/producer/page"
)

// role is the part of the work that a process does.
type role string

const (
	roleProducer role = "producer"
	roleConsumer role = "consumer"
	roleJobs     role = "jobs"
	roleAll      role = "all"
)

func newServe(a *settings.Source) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Runs a role of a deployment",
		Long: `Runs until SIGTERM or Ctrl-C, then finishes its open work and exits with 0 within 15 seconds. A second
signal ends it at once.

  producer   turns due tasks into runs and runs into work for the consumers, sends retries, serves the API.
             Several may run: one leads and the others stand by.
  consumer   calls the platforms and writes the tables. Any number may run.
  jobs       serves the job queue over HTTP, on jobs.listen (127.0.0.1:7777). Any number may run. It needs only
             the database.
  all        producer and consumer in one process, and jobs if jobs.listen is set; the default.

Before the first start, and after an upgrade, run "adsync migrate up": serve refuses tables that are older or
newer than itself. The start waits up to 5 minutes for each database and for Kafka, and logs what it waits for. It
exits with 1 if a part did not start, failed, or did not stop in time. On the address of api.listen
(127.0.0.1:8080) it serves /healthz (the process runs), /readyz (it works; 503 with the reasons if not), /version
and, with a token, /metrics and the API. api.metrics_listen is an address for /metrics alone, without a token.`,
		Example: `  adsync serve --role=producer --config configs/producer.yaml
  ADSYNC_ROLE=consumer ADSYNC_BROKER_BROKERS=k1:9092,k2:9092 adsync serve`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen := role(cmp.Or(name, settings.Variable(a.Environ, "ADSYNC_ROLE"), string(roleAll)))
			if err := usage.OneOf("role", string(chosen), string(roleProducer), string(roleConsumer),
				string(roleJobs), string(roleAll)); err != nil {
				return err
			}
			needs := "serve"
			if chosen == roleJobs {
				needs = "jobs"
			}
			cfg, _, err := a.Load(cmd, needs)
			if err != nil {
				return err
			}
			logger, level, err := telemetry.NewLogger(cfg.Log, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if chosen == roleJobs {
				return serveJobs(cmd.Context(), cfg, logger.With("role", string(chosen)))
			}
			return serve(cmd.Context(), cfg, chosen, logger.With("role", string(chosen)), level)
		},
	}
	cmd.Flags().StringVar(&name, "role", "", "producer, consumer, jobs or all (or ADSYNC_ROLE)")
	settings.Flag(cmd.Flags(), "listen", "api.listen", "address of the API, health and metrics")
	return cmd
}

// instance has the servers and clients that the parts of a role share.
type instance struct {
	engine.Servers

	server   *httpapi.Server
	registry *prometheus.Registry
	box      *secret.Box
	tracer   *trace.Tracer
	clock    *clock.Database
	parts    *engine.Engine
	files    *engine.Files // nil for a producer
	jobs     jobs.Stores   // nil without a database of jobs
	logger   *slog.Logger
}

// serve runs the role until ctx ends. The parts start in the order in which they are added, and stop in reverse: the
// API closes, the producer releases its leadership, the consumer drains, writes, commits and leaves its group, token
// refreshes end, and the connections close.
func serve(ctx context.Context, cfg settings.Config, chosen role, logger *slog.Logger, level *slog.LevelVar) error {
	service.GrowHeap()
	p, err := newInstance(ctx, cfg, chosen, logger)
	if err != nil {
		return err
	}
	m := service.NewManager(logger)
	p.addShared(m, cfg, chosen, level)
	if chosen != roleProducer {
		if err := p.addConsumer(m, cfg); err != nil {
			return err
		}
	}
	if chosen != roleConsumer {
		if err := p.addProducer(m, cfg); err != nil {
			return err
		}
	}
	if chosen == roleAll && cfg.Jobs.Listen != "" {
		err := addJobs(ctx, m, p.server, cfg, jobs.Deps{Redis: p.Redis, Keys: p.Keys, Logger: logger, Registerer: p.registry})
		if err != nil {
			return err
		}
	}
	m.Add("api", p.server.Gate())
	return m.Run(ctx)
}

// newInstance makes the clients of all servers. It contacts only the config database, for the platforms without Go
// code.
func newInstance(ctx context.Context, cfg settings.Config, chosen role, logger *slog.Logger) (p *instance, err error) {
	registry := telemetry.NewRegistry()
	p = &instance{registry: registry, logger: logger}
	if p.server, err = httpapi.New(cfg.API, registry, logger); err != nil {
		return nil, err
	}
	if p.box, err = secret.OpenBox(cfg.Secret, logger); err != nil {
		return nil, err
	}
	if p.Store, err = store.New(ctx, cfg.Store, logger); err != nil {
		return nil, err
	}
	if p.Broker, err = broker.New(cfg.Broker, logger, registry); err != nil {
		return nil, fmt.Errorf("set up Kafka: %w", err)
	}
	if p.Redis, err = redis.Open(cfg.Redis); err != nil {
		return nil, fmt.Errorf("set up Redis: %w", err)
	}
	if p.Sources, err = copies.OpenSources(cfg.Sources); err != nil {
		return nil, err
	}
	if p.tracer, err = trace.New(ctx, cfg.Trace, string(chosen), node(), logger); err != nil {
		return nil, err
	}
	if chosen != roleProducer {
		if p.files, err = engine.OpenFiles(cfg.Files, cfg.Store.Data); err != nil {
			return nil, err
		}
	}
	if hasJobs(cfg) {
		if p.jobs, err = cfg.Jobs.Open(ctx, cfg.Store.Data, logger); err != nil {
			return nil, fmt.Errorf("set up the job queue: %w", err)
		}
	}
	external, err := p.external(ctx)
	if err != nil {
		return nil, err
	}
	p.clock = clock.NewDatabase(p.Store.Data.Now, logger)
	p.Keys = redis.NewKeys(cfg.Redis.KeyPrefix)
	p.parts = engine.New(engine.Deps{
		Store: p.Store, Broker: p.Broker, Redis: p.Redis, Keys: p.Keys, Box: p.box,
		Planning: p.clock, Waiting: p.clock, Node: node(), Sources: p.Sources, Files: p.files,
		Jobs: p.jobs, External: external, Retention: cfg.Retention, Tracer: p.tracer,
		Logger: logger, Registerer: registry,
	}, cfg.RateLimit, cfg.Media)
	return p, nil
}

// external reads the platforms without Go code, and waits for the config database.
func (p *instance) external(ctx context.Context) (platforms []media.Platform, err error) {
	ctx, cancel := context.WithTimeout(ctx, service.StartPatience)
	defer cancel()
	err = engine.Await(ctx, p.logger, "the config database", func(ctx context.Context) (err error) {
		platforms, err = engine.ExternalPlatforms(ctx, p.Store, p.logger)
		return err
	})
	return platforms, err
}

// addShared adds the parts of every role.
func (p *instance) addShared(m *service.Manager, cfg settings.Config, chosen role, level *slog.LevelVar) {
	p.server.NeedForRequests("config database", p.Store.Config.Ping)
	p.server.NeedForRequests("data database", p.Store.Data.Ping)
	p.server.Need("kafka", p.Broker.Ready)
	// Without Redis everything works, only slower: the process starts and is ready. A Redis that answers a ping may
	// still be unusable: its memory is full, the user lacks a right, or the keys of one platform are on a node that is
	// down.
	p.server.Mention("redis", p.parts.CheckRedis)

	m.Add("http", p.server)
	m.Add("profiles", telemetry.NewProfiles(cfg.Debug, p.logger))
	m.Add("traces", p.tracer)
	m.Add("store", service.Func{StopFunc: closing(p.logger, "store", p.Store.Close)})
	if p.files != nil {
		m.Add("report files", service.Func{StopFunc: closing(p.logger, "report files", p.files.Close)})
	}
	m.Add("sources", service.Func{StopFunc: closing(p.logger, "sources", p.Sources.Close)})
	m.Add("jobs of subtasks", service.Func{StopFunc: closing(p.logger, "jobs of subtasks", p.jobs.Close)})
	m.AddPatient("schema", awaited(p.logger, "the databases", p.Store.CheckSchema))
	m.AddPatient("clock", service.Func{
		StartFunc: awaiting(p.logger, "the database's time", p.clock.Start),
		StopFunc:  p.clock.Stop,
	})
	m.Add("kafka", service.Func{StopFunc: closing(p.logger, "kafka", p.Broker.Close)})
	m.AddPatient("topics", awaited(p.logger, "Kafka and its topics", func(ctx context.Context) error {
		_, err := engine.PrepareTopics(ctx, p.Store, p.Broker)
		return err
	}))
	m.Add("redis", service.Func{StopFunc: closing(p.logger, "redis", p.Redis.Close)})
	m.Add("servers", p.LogFindings(p.logger))
	m.Add("log level", p.parts.LogLevel(string(chosen), level))
	m.Add("limits", p.parts.Limits())
	m.Add("accounts", p.parts.Accounts())
	m.Add("tokens", p.parts.Tokens())
}

func (p *instance) addConsumer(m *service.Manager, cfg settings.Config) error {
	work, err := p.parts.NewConsumer(cfg.Consumer)
	if err != nil {
		return err
	}
	p.server.Check("consumer", work.Ready)
	m.Add("consumer", work)
	m.Add("token refreshes", p.parts.HoldTokens())
	return nil
}

func (p *instance) addProducer(m *service.Manager, cfg settings.Config) error {
	plan, err := p.parts.NewProducer(cfg.Producer)
	if err != nil {
		return err
	}
	board := p.parts.Overview(plan, p.server.FailedChecks, nil)
	p.server.Register(p.parts.Routes(plan, board)...)
	first, err := page.New(board.Get)
	if err != nil {
		return err
	}
	if err := p.server.RegisterPages(p.box, first); err != nil {
		return err
	}
	ended := p.server.ShareSessions(p.Store)
	m.AddPatient("sessions", service.Func{StartFunc: awaiting(p.logger, "the list of ended sessions", ended.Start),
		StopFunc: ended.Stop})
	p.server.Check("producer", plan.Ready)
	m.Add("producer", plan)
	return nil
}

// hasJobs reports whether there is a database of jobs: a data database behind a sharding proxy cannot have them.
func hasJobs(cfg settings.Config) bool {
	return cfg.Jobs.Store.Writer.Reveal() != "" || cfg.Store.Data.ShardBy == ""
}

// serveJobs runs the role jobs until ctx ends. It needs no Kafka, and uses Redis if it is there.
func serveJobs(ctx context.Context, cfg settings.Config, logger *slog.Logger) error {
	registry := telemetry.NewRegistry()
	server, err := httpapi.New(cfg.API, registry, logger)
	if err != nil {
		return err
	}
	cache, err := redis.Open(cfg.Redis)
	if err != nil {
		return fmt.Errorf("set up Redis: %w", err)
	}
	m := service.NewManager(logger)
	m.Add("http", server)
	m.Add("profiles", telemetry.NewProfiles(cfg.Debug, logger))
	m.Add("redis", service.Func{StopFunc: closing(logger, "redis", cache.Close)})
	err = addJobs(ctx, m, server, cfg, jobs.Deps{Redis: cache, Keys: redis.NewKeys(cfg.Redis.KeyPrefix), Logger: logger,
		Registerer: registry})
	if err != nil {
		return err
	}
	m.Add("api", server.Gate())
	return m.Run(ctx)
}

// addJobs adds the job queue and its database. It completes d.
func addJobs(ctx context.Context, m *service.Manager, server *httpapi.Server, cfg settings.Config, d jobs.Deps) error {
	stores, err := cfg.Jobs.Open(ctx, cfg.Store.Data, d.Logger)
	if err != nil {
		return fmt.Errorf("set up the job queue: %w", err)
	}
	server.NeedForRequests("jobs database", stores.Ping)
	now := clock.NewDatabase(stores.Default().Now, d.Logger)
	d.Stores, d.Clock, d.Node = stores, now, node()
	m.Add("jobs store", service.Func{StopFunc: closing(d.Logger, "jobs store", stores.Close)})
	m.AddPatient("jobs schema", awaited(d.Logger, "the database of jobs", stores.CheckSchema))
	m.AddPatient("jobs clock", service.Func{StartFunc: awaiting(d.Logger, "the time of the jobs database", now.Start),
		StopFunc: now.Stop})
	m.Add("jobs", jobs.New(cfg.Jobs, d))
	return nil
}

// node returns the name of this process in the rows of its subtasks.
func node() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// awaited returns a part that retries its start until it succeeds, or the manager's patience ends.
func awaited(logger *slog.Logger, what string, start func(context.Context) error) service.Service {
	return service.Func{StartFunc: awaiting(logger, what, start)}
}

// awaiting returns a start that is retried until it succeeds.
func awaiting(logger *slog.Logger, what string, start func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return engine.Await(ctx, logger, what, start) }
}

// closing returns a StopFunc that calls a Close and logs its error.
func closing(logger *slog.Logger, name string, closeFunc func() error) func() {
	return func() {
		if err := closeFunc(); err != nil {
			logger.Warn("close failed", "part", name, "err", err)
		}
	}
}
