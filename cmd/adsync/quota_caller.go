package main

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/usage"
	"adsync/quota"
)

// newQuotaCaller makes the command of a process of a drill.
func newQuotaCaller() *cobra.Command {
	return &cobra.Command{
		Use: "caller", Hidden: true, Args: usage.NoArgs, Short: "Runs one process of a drill",
		Example: "  adsync quota caller < order.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return quota.Call(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
}
