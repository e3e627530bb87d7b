package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

func newDeadDrop(a *settings.Source) *cobra.Command {
	return deadChange(a, "drop", &cobra.Command{
		Use:     "drop",
		Short:   "Drops dead subtasks",
		Long:    `Shows what would be dropped, and with --yes drops it. What is dropped is gone.`,
		Example: `  adsync dead drop --task {media}.report_daily.account --until 720h --yes`,
	})
}
