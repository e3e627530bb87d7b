package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"adsync/base/broker"
	"adsync/base/clock"
	"adsync/base/httpapi"
	"adsync/base/redis"
	"adsync/base/secret"
	"adsync/base/service"
	"adsync/base/store"
	"adsync/base/telemetry"
	"adsync/base/trace"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/engine"
	"adsync/producer/page"
)

// role is which part of the work a process does.
type role string

const (
	roleProducer role = "producer"
	roleConsumer role = "consumer"
	roleAll      role = "all"
)

func newServe(a *settings.Source) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Runs a role of a deployment",
		Long: `Runs until SIGTERM or Ctrl-C, then finishes what it is doing and exits with 0 within 15 seconds; a second
signal ends it at once.

  producer   turns due tasks into runs and runs into work for the consumers, pumps retries, answers the API.
             Several may run: one leads and the others stand by.
  consumer   calls the platforms and writes the tables. Any number may run.
  all        both in one process; the default.

Before the first start, and after an upgrade, run "adsync migrate up": serve refuses tables that are older or
newer than itself. A database or a Kafka that does not answer yet is waited for, 5 minutes each, with a line in the log
that says so. Exits with 1 when a part did not start, failed, or did not stop in time. On the address of api.listen (127.0.0.1:8080) it answers /healthz (the process lives),
/readyz (it works; 503 with the reasons if not), /version and, with a token, /metrics and the API. api.metrics_listen is an address for
/metrics alone, without a token.`,
		Example: `  adsync serve --role=producer --config configs/producer.yaml
  ADSYNC_ROLE=consumer ADSYNC_BROKER_BROKERS=k1:9092,k2:9092 adsync serve`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen := role(cmp.Or(name, settings.Variable(a.Environ, "ADSYNC_ROLE"), string(roleAll)))
			if err := usage.OneOf("role", string(chosen), string(roleProducer), string(roleConsumer), string(roleAll)); err != nil {
				return err
			}
			cfg, _, err := a.Load(cmd, "serve")
			if err != nil {
				return err
			}
			logger, level, err := telemetry.NewLogger(cfg.Log, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return serve(cmd.Context(), cfg, chosen, logger.With("role", string(chosen)), level)
		},
	}
	cmd.Flags().StringVar(&name, "role", "", "producer, consumer or all (or ADSYNC_ROLE)")
	settings.Flag(cmd.Flags(), "listen", "api.listen", "address of the API, health and metrics")
	return cmd
}

// serve runs the role until ctx ends. The order of the parts is the order of their starts; they stop in reverse: the
// API closes first, then the producer hands over, the consumer drains, writes, commits and leaves, refreshes of tokens
// end, and what all of them write to is closed.
func serve(ctx context.Context, cfg settings.Config, chosen role, logger *slog.Logger, level *slog.LevelVar) error {
	service.GrowHeap()
	registry := telemetry.NewRegistry()
	server, err := httpapi.New(cfg.API, registry, logger)
	if err != nil {
		return err
	}
	box, err := secret.OpenBox(cfg.Secret, logger)
	if err != nil {
		return err
	}
	tables, err := store.New(ctx, cfg.Store, logger)
	if err != nil {
		return err
	}
	kafka, err := broker.New(cfg.Broker, logger, registry)
	if err != nil {
		return fmt.Errorf("set up Kafka: %w", err)
	}
	cache, err := redis.Open(cfg.Redis)
	if err != nil {
		return fmt.Errorf("set up Redis: %w", err)
	}
	partner, err := store.OpenPartner(cfg.Partner)
	if err != nil {
		return err
	}
	tracer, err := trace.New(ctx, cfg.Trace, string(chosen), node(), logger)
	if err != nil {
		return err
	}
	databaseTime := clock.NewDatabase(tables.Data.Now, logger)
	keys := redis.NewKeys(cfg.Redis.KeyPrefix)
	parts := engine.New(engine.Deps{
		Store: tables, Broker: kafka, Redis: cache, Keys: keys, Box: box,
		Planning: databaseTime, Waiting: databaseTime, Node: node(), Partner: partner, Retention: cfg.Retention, Tracer: tracer, Logger: logger, Registerer: registry,
	}, cfg.RateLimit, cfg.Media)

	server.NeedForRequests("config database", tables.Config.Ping)
	server.NeedForRequests("data database", tables.Data.Ping)
	server.Need("kafka", kafka.Ready)
	// Without Redis everything goes on, only slower: it is no reason not to start, nor to be sent no requests.
	// One that answers a ping may still be no use: its memory is full, the user lacks a right, or the keys of one platform are on a node that is down.
	server.Mention("redis", parts.CheckRedis)

	m := service.NewManager(logger)
	m.Add("http", server)
	m.Add("profiles", telemetry.NewProfiles(cfg.Debug, logger))
	m.Add("traces", tracer)
	m.Add("store", service.Func{StopFunc: closing(logger, "store", tables.Close)})
	m.Add("partner", service.Func{StopFunc: closing(logger, "partner", partner.Close)})
	m.AddPatient("schema", awaited(logger, "the databases", tables.CheckSchema))
	m.AddPatient("clock", service.Func{
		StartFunc: func(ctx context.Context) error {
			return engine.Await(ctx, logger, "the database's time", databaseTime.Start)
		},
		StopFunc: databaseTime.Stop,
	})
	m.Add("kafka", service.Func{StopFunc: closing(logger, "kafka", kafka.Close)})
	m.AddPatient("topics", awaited(logger, "Kafka and its topics", func(ctx context.Context) error {
		_, err := engine.PrepareTopics(ctx, tables, kafka)
		return err
	}))
	m.Add("redis", service.Func{StopFunc: closing(logger, "redis", cache.Close)})
	m.Add("servers", engine.Servers{Store: tables, Broker: kafka, Redis: cache, Keys: keys, Partner: partner}.LogFindings(logger))
	m.Add("log level", parts.LogLevel(string(chosen), level))
	m.Add("limits", parts.Limits())
	m.Add("accounts", parts.Accounts())
	m.Add("tokens", parts.Tokens())
	if chosen != roleProducer {
		work, err := parts.NewConsumer(cfg.Consumer)
		if err != nil {
			return err
		}
		server.Check("consumer", work.Ready)
		m.Add("consumer", work)
		m.Add("token refreshes", parts.HoldTokens())
	}
	if chosen != roleConsumer {
		plan, err := parts.NewProducer(cfg.Producer)
		if err != nil {
			return err
		}
		board := parts.Overview(plan, server.FailedChecks, nil)
		server.Register(parts.Routes(plan, board)...)
		first, err := page.New(board.Get)
		if err != nil {
			return err
		}
		if err := server.RegisterPages(box, first); err != nil {
			return err
		}
		ended := server.ShareSessions(tables)
		m.AddPatient("sessions", service.Func{
			StartFunc: func(ctx context.Context) error {
				return engine.Await(ctx, logger, "the list of ended sessions", ended.Start)
			},
			StopFunc: ended.Stop,
		})
		server.Check("producer", plan.Ready)
		m.Add("producer", plan)
	}
	m.Add("api", server.Gate())
	return m.Run(ctx)
}

// node names this process in the rows of the subtasks that it works on.
func node() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// awaited makes a part whose start is tried until it succeeds, for as long as the manager is patient.
func awaited(logger *slog.Logger, what string, start func(context.Context) error) service.Service {
	return service.Func{StartFunc: func(ctx context.Context) error { return engine.Await(ctx, logger, what, start) }}
}

// closing makes a StopFunc of a Close.
func closing(logger *slog.Logger, name string, closeFunc func() error) func() {
	return func() {
		if err := closeFunc(); err != nil {
			logger.Warn("close failed", "part", name, "err", err)
		}
	}
}
