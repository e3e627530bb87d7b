package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"adsync/base/config"
)

func (a *app) newConfig() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "config",
		Short: "Checks, prints and documents the settings",
		Long: `Settings come, later ones winning, from the defaults, a YAML file (--config FILE), environment variables
(ADSYNC_ and the key in upper case with _ between: api.listen is ADSYNC_API_LISTEN) and --set key=value.`,
		Example: `  adsync config check --config configs/producer.yaml
  ADSYNC_STORE_DATA_WRITER='adsync:…@tcp(db:3306)/adsync_data' adsync config print
  adsync config reference > docs/configuration.md`,
	})
	cmd.AddCommand(a.newConfigCheck(), a.newConfigPrint(), a.newConfigReference())
	return cmd
}

func (a *app) newConfigCheck() *cobra.Command {
	var command string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Reports every mistake in the settings at once",
		Long: `Reads the settings as the program would at its start and reports everything that is wrong: unknown keys and
variables, values of a wrong type or out of range, and what is missing, each with the key, the value, where it
was set and what would be right. Nothing is connected to. Exits 0 when all is well, and 2 if not.`,
		Example: `  adsync config check --config configs/consumer.yaml
  adsync config check --config configs/standalone.yaml --for standalone`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			commands := slices.DeleteFunc(slices.Sorted(maps.Keys(neededBy)), func(c string) bool { return c == "print" })
			if err := oneOf("for", command, commands...); err != nil {
				return err
			}
			if _, _, err := a.load(cmd, command); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The settings are fit for adsync %s.\n", command)
			return nil
		},
	}
	cmd.Flags().StringVar(&command, "for", "serve", "the command that is to run with them: bind, unbind, migrate, serve, simulate or standalone")
	return cmd
}

func (a *app) newConfigPrint() *cobra.Command {
	return &cobra.Command{
		Use:   "print",
		Short: "Prints the settings in effect, and where each was set",
		Long: `Prints every setting as YAML with the value that is in effect. What is not at its default has a comment that
says where it was set. Secrets, and database addresses, which hold passwords, are printed as <secret>. Values
are not checked: "adsync config check" does that.`,
		Example: `  adsync config print --config configs/producer.yaml
  adsync config print | grep '#'      # what is not at its default`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, sources, err := a.load(cmd, "print")
			if err != nil {
				return err
			}
			return config.Print(cmd.OutOrStdout(), &c, sources)
		},
	}
}

func (a *app) newConfigReference() *cobra.Command {
	return &cobra.Command{
		Use:     "reference",
		Short:   "Prints a page about every setting",
		Long:    `Prints a Markdown page of every setting: key, environment variable, type, default and meaning.`,
		Example: `  adsync config reference | less`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := defaultConfig()
			return config.Reference(cmd.OutOrStdout(), &c)
		},
	}
}
