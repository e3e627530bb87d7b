package main

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/usage"
	"adsync/quota"
)

// newQuotaCaller is a process of a drill.
func newQuotaCaller() *cobra.Command {
	return &cobra.Command{
		Use: "caller", Hidden: true, Args: usage.NoArgs, Short: "Is one process of a drill", Example: "  adsync quota caller < order.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return quota.Call(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
}
