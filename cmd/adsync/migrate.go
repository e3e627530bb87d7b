package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"adsync/base/broker"
	"adsync/base/plural"
	"adsync/base/store"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/engine"
)

func newMigrate(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "migrate",
		Short: "Makes, upgrades and inspects the tables",
		Long: `The tables live in two databases, store.config and store.data, which must exist. Migrations go forward and are
numbered; "adsync serve" refuses tables that are older or newer than itself.

To upgrade: run "adsync migrate up" of the new release, then replace the consumers, then the producers.`,
		Example: `  adsync migrate status --config adsync.yaml
  adsync migrate up --config adsync.yaml`,
	})
	cmd.AddCommand(newMigrateUp(a), newMigrateDown(a), newMigrateStatus(a))
	return cmd
}

func newMigrateUp(a *settings.Source) *cobra.Command {
	var topics bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Brings the tables to this program's version",
		Long: `Applies the migrations that are missing, to both databases, makes the platforms' raw tables and the coming days' log
tables, writes the default tasks into an empty cron_task, and makes the Kafka topics of all lanes. It may be repeated,
and run by several at once: what is there stays as it is.`,
		Example: `  adsync migrate up --config adsync.yaml
  adsync migrate up --topics=false   # when Kafka is not there yet; serve makes the topics too`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithStore(cmd, "migrate", func(ctx context.Context, s *store.Store, cfg settings.Config, logger *slog.Logger) error {
				return migrateUp(ctx, s, cfg, topics, logger, cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().BoolVar(&topics, "topics", true, "make the Kafka topics too")
	return cmd
}

func migrateUp(ctx context.Context, s *store.Store, cfg settings.Config, topics bool, logger *slog.Logger, out io.Writer) error {
	seeded, err := engine.PrepareTables(ctx, s)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "The tables are at this program's version.")
	if seeded > 0 {
		fmt.Fprintf(out, "cron_task was empty: %s written.\n", plural.Count(seeded, "default task was", "default tasks were"))
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
		return fmt.Errorf("the tables are ready, the topics are not (--topics=false leaves them to serve): %w", err)
	}
	fmt.Fprintf(out, "%s there.\n", plural.Count(n, "topic is", "topics are"))
	return nil
}

func newMigrateDown(a *settings.Source) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Takes the newest migration of each database back, with the data in its tables",
		Long: `Takes back the newest migration of each database. Tables that it made are DROPPED with what is in them. Meant for
development: to go back to an older release, restore a backup.`,
		Example: `  adsync migrate down --yes --config adsync.yaml`,
		Args:    usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes {
				return usage.Errorf("this drops tables with what is in them: add --yes if that is what you want")
			}
			return a.WithStore(cmd, "migrate", func(ctx context.Context, s *store.Store, _ settings.Config, _ *slog.Logger) error {
				return s.MigrateDown(ctx)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "drop the data")
	return cmd
}

func newMigrateStatus(a *settings.Source) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Lists the migrations and whether they were applied",
		Long:    `Lists every migration of both databases. Exits with 1 if the tables are older or newer than this program.`,
		Example: `  adsync migrate status --config adsync.yaml`,
		Args:    usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithStore(cmd, "migrate", func(ctx context.Context, s *store.Store, _ settings.Config, _ *slog.Logger) error {
				list, err := s.MigrationStatus(ctx)
				if err != nil {
					return err
				}
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "DATABASE\tVERSION\tNAME\tSTATE")
				for _, m := range list {
					state := "missing"
					if m.Applied {
						state = "applied"
					}
					fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", m.Database, m.Version, m.Name, state)
				}
				return errors.Join(w.Flush(), s.CheckSchema(ctx))
			})
		},
	}
}
