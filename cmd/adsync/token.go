package main

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/usage"
)

func newToken() *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:     "token",
		Short:   "Makes tokens for the API",
		Example: `  adsync token new --name otto --role operator`,
	})
	cmd.AddCommand(newTokenNew())
	return cmd
}
