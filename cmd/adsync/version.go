package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"adsync/base/telemetry"
	"adsync/cmd/adsync/internal/usage"
)

func newVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Prints the version, the commit and the Go release",
		Example: `  adsync version
  adsync version --output json`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := usage.OneOf("output", output, "text", "json"); err != nil {
				return err
			}
			b := telemetry.ReadBuild()
			if output == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(b)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "adsync %s\ncommit %s\n%s\n", b.Version, b.Commit, b.Go)
			return nil
		},
	}
	cmd.Flags().StringVar(&output, "output", "text", "text or json")
	return cmd
}
