package main

import (
	"github.com/spf13/cobra"

	"adsync/base/config"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

func newConfigReference() *cobra.Command {
	return &cobra.Command{
		Use:     "reference",
		Short:   "Prints a page about every setting",
		Long:    `Prints a Markdown page of every setting: key, environment variable, type, default and meaning.`,
		Example: `  adsync config reference | less`,
		Args:    usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := settings.Default()
			return config.Reference(cmd.OutOrStdout(), &c)
		},
	}
}
