package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"adsync/base/broker"
	"adsync/base/plural"
	"adsync/base/store"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/engine"
	"adsync/jobs"
)

func newMigrateUp(a *settings.Source) *cobra.Command {
	var topics bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Brings the tables to this program's version",
		Long: `Applies the missing migrations to both databases and to that of the jobs, creates the platforms' raw tables
and the coming days' log tables, writes the default tasks of each platform that has none, and creates the Kafka
topics of all lanes. It may be repeated, and run by several at once: what exists stays as it is.`,
		Example: `  adsync migrate up --config adsync.yaml
  adsync migrate up --topics=false   # without Kafka; serve creates the topics too`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithStore(cmd, "migrate", func(ctx context.Context, s *store.Store, cfg settings.Config,
				logger *slog.Logger) error {
				return migrateUp(ctx, s, cfg, topics, logger, cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().BoolVar(&topics, "topics", true, "create the Kafka topics too")
	return cmd
}

func migrateUp(ctx context.Context, s *store.Store, cfg settings.Config, topics bool, logger *slog.Logger,
	out io.Writer) error {
	seeded, err := engine.PrepareTables(ctx, s)
	if err != nil {
		return err
	}
	err = withJobs(ctx, cfg, logger, func(s jobs.Stores) error { return s.MigrateUp(ctx) })
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "The tables are at this program's version.")
	if seeded > 0 {
		fmt.Fprintf(out, "%s written.\n", plural.Count(seeded, "default task was", "default tasks were"))
	}
	if !topics {
		return nil
	}
	kafka, err := broker.New(cfg.Broker, logger, prometheus.NewRegistry())
	if err != nil {
		return fmt.Errorf("set up Kafka: %w", err)
	}
	n, err := engine.PrepareTopics(ctx, s, kafka)
	if err = errors.Join(err, kafka.Close()); err != nil {
		return fmt.Errorf("the tables are ready, the topics are not (with --topics=false, serve creates them): %w", err)
	}
	fmt.Fprintf(out, "%s ready.\n", plural.Count(n, "topic is", "topics are"))
	return nil
}
