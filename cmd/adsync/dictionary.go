package main

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/usage"
	"adsync/engine"
	"adsync/media/dictionary"
)

func newDictionary() *cobra.Command {
	return &cobra.Command{
		Use:   "dictionary",
		Short: "Prints a page about every figure",
		Long: `Prints a Markdown page of every figure in the result tables: its meaning, and each platform's field, unit
and basis.`,
		Example: `  adsync dictionary | less`,
		Args:    usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return dictionary.Write(cmd.OutOrStdout(), engine.Platforms())
		},
	}
}
