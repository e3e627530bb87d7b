package main

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

func newConfig(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "config",
		Short: "Checks, prints and documents the settings",
		Long: `Settings come from the defaults, a YAML file (--config FILE), environment variables (ADSYNC_ and the key in
upper case with _ between: api.listen is ADSYNC_API_LISTEN) and --set key=value. Later ones override earlier
ones.`,
		Example: `  adsync config check --config configs/producer.yaml
  ADSYNC_STORE_DATA_WRITER='adsync:…@tcp(db:3306)/adsync_data' adsync config print
  adsync config reference > docs/configuration.md`,
	})
	cmd.AddCommand(newConfigCheck(a), newConfigPrint(a), newConfigReference())
	return cmd
}
