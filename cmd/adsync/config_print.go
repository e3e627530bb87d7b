package main

import (
	"github.com/spf13/cobra"

	"adsync/base/config"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

func newConfigPrint(a *settings.Source) *cobra.Command {
	return &cobra.Command{
		Use:   "print",
		Short: "Prints the settings in effect, and where each was set",
		Long: `Prints every setting as YAML with the value in effect. A setting that is not at its default has a comment that
names where it was set. Secrets, and database addresses, which hold passwords, are printed as <secret>. Values
are not checked: "adsync config check" does that.`,
		Example: `  adsync config print --config configs/producer.yaml
  adsync config print | grep '#'      # only settings that are not at their defaults`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, sources, err := a.Load(cmd, "print")
			if err != nil {
				return err
			}
			return config.Print(cmd.OutOrStdout(), &c, sources)
		},
	}
}
