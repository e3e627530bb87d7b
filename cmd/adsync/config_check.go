package main

import (
	"fmt"
	"maps"
	"slices"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"

	"github.com/spf13/cobra"
)

func newConfigCheck(a *settings.Source) *cobra.Command {
	var command, output string
	var connect bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Reports every mistake in the settings at once",
		Long: `Reads the settings as the program would at its start and reports everything that is wrong: unknown keys and
variables, values of a wrong type or out of range, and what is missing, each with the key, the value, where it
was set and what would be right. Exits with 0 if there is nothing, and with 2 otherwise. Nothing is connected to, unless
--connect is given.

With --connect it then connects to the databases and their replicas, to each Kafka broker, to Redis and to the partner's
database, and reports whether each is reached, what the user lacks of the rights that adsync needs, with the statement
that grants it, and settings of the servers that adsync depends on: binlog_format, max_allowed_packet, limits of
connections, Kafka's version, min.insync.replicas and Redis's maxmemory-policy. It changes nothing on them, and exits with
1 if there is a fault. A warning is no fault.`,
		Example: `  adsync config check --config configs/consumer.yaml
  adsync config check --config configs/producer.yaml --connect
  adsync config check --config configs/standalone.yaml --for standalone`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			commands := slices.DeleteFunc(slices.Sorted(maps.Keys(settings.NeededBy)), func(c string) bool { return c == "print" })
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
			fmt.Fprintf(cmd.OutOrStdout(), "The settings are fit for adsync %s.\n", command)
			return nil
		},
	}
	cmd.Flags().StringVar(&command, "for", "serve", "the command that is to run with them: bind, unbind, migrate, serve, simulate or standalone")
	cmd.Flags().BoolVar(&connect, "connect", false, "connect to the servers, and check the users' rights and the servers' settings")
	cmd.Flags().StringVar(&output, "output", "table", "table or json, with --connect")
	return cmd
}
