package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"adsync/base/broker"
	"adsync/base/checkup"
	"adsync/base/redis"
	"adsync/base/store"
	"adsync/base/store/copies"
	"adsync/base/telemetry"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
	"adsync/engine"
)

func newConfigCheck(a *settings.Source) *cobra.Command {
	var command, output string
	var connect bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Reports every mistake in the settings at once",
		Long: `Reads the settings as the program does when it starts, and reports everything that is wrong: unknown keys and
variables, values of a wrong type or out of range, and missing values, each with the key, the value, where it
was set and what would be right. Exits with 0 if there is nothing, and with 2 otherwise. It connects to
nothing, unless --connect is given.

With --connect it then connects to the databases and their replicas, to each Kafka broker, to Redis, and to
the sources of copies. It reports whether each is reached, which rights the user
lacks, with the statement that grants them, and settings of the servers that adsync depends on: binlog_format,
max_allowed_packet, limits of connections, Kafka's version, min.insync.replicas and Redis's maxmemory-policy.
It changes nothing on them, and exits with 1 if there is a fault. A warning is not a fault.`,
		Example: `  adsync config check --config configs/consumer.yaml
  adsync config check --config configs/producer.yaml --connect
  adsync config check --config configs/standalone.yaml --for standalone`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			commands := slices.DeleteFunc(slices.Sorted(maps.Keys(settings.NeededBy)),
				func(c string) bool { return c == "print" })
			if err := usage.OneOf("for", command, commands...); err != nil {
				return err
			}
			if err := usage.OneOf("output", output, "table", "json"); err != nil {
				return err
			}
			if output == "json" && !connect {
				return usage.Errorf("--output json goes with --connect")
			}
			cfg, _, err := a.Load(cmd, command)
			if err != nil {
				return err
			}
			if connect {
				return checkServers(cmd, cfg, command, output)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The settings are valid for adsync %s.\n", command)
			return nil
		},
	}
	cmd.Flags().StringVar(&command, "for", "serve",
		"the command that the settings are for: bind, unbind, migrate, serve, simulate or standalone")
	cmd.Flags().BoolVar(&connect, "connect", false,
		"connect to the servers, and check the users' rights and the servers' settings")
	cmd.Flags().StringVar(&output, "output", "table", "table or json, with --connect")
	return cmd
}

// connectedBy lists the servers that a command connects to, as sections of the settings. Other commands start their
// own servers.
var connectedBy = map[string][]string{
	"serve":   {"store", "broker", "redis", "sources"},
	"migrate": {"store", "broker"},
	"bind":    {"store", "redis"},
	"unbind":  {"store"},
}

// errUnfit is the error of servers with a fault. The findings name them.
var errUnfit = errors.New("something is wrong with the servers: see the rows of state fault")

// checkServers checks the servers that a command needs, and prints the findings.
func checkServers(cmd *cobra.Command, cfg settings.Config, command, output string) error {
	if connectedBy[command] == nil {
		return usage.Errorf("--connect goes with --for bind, migrate, serve or unbind: adsync %s starts its own servers",
			command)
	}
	servers, closeAll, err := openServers(cmd, cfg, connectedBy[command])
	if err != nil {
		return errors.Join(err, closeAll())
	}
	findings := servers.CheckUp(cmd.Context())
	if output == "json" {
		err = table.PrintJSON(cmd.OutOrStdout(), map[string]any{"ok": checkup.Healthy(findings), "findings": findings})
	} else {
		err = show.Findings(cmd.OutOrStdout(), findings)
	}
	if err := errors.Join(err, closeAll()); err != nil {
		return err
	}
	if !checkup.Healthy(findings) {
		return errUnfit
	}
	return nil
}

// openServers makes clients of some servers. It contacts none.
func openServers(cmd *cobra.Command, cfg settings.Config, sections []string) (servers engine.Servers,
	closeAll func() error, err error) {
	var closers []func() error
	closeAll = func() error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c())
		}
		return errors.Join(errs...)
	}
	logger, _, err := telemetry.NewLogger(cfg.Log, cmd.ErrOrStderr())
	if err != nil {
		return servers, closeAll, err
	}
	for _, section := range sections {
		switch section {
		case "store":
			if servers.Store, err = store.New(cmd.Context(), cfg.Store, logger); err == nil {
				closers = append(closers, servers.Store.Close)
			}
		case "broker":
			if servers.Broker, err = broker.New(cfg.Broker, logger, prometheus.NewRegistry()); err == nil {
				closers = append(closers, servers.Broker.Close)
			}
		case "redis":
			servers.Keys = redis.NewKeys(cfg.Redis.KeyPrefix)
			if servers.Redis, err = redis.Open(cfg.Redis); err == nil {
				closers = append(closers, servers.Redis.Close)
			}
		case "sources":
			servers.Sources, err = copies.OpenSources(cfg.Sources)
			closers = append(closers, servers.Sources.Close)
		}
		if err != nil {
			return servers, closeAll, fmt.Errorf("set up %s: %w", section, err)
		}
	}
	return servers, closeAll, nil
}
