package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

func newTasksEnable(a *settings.Source) *cobra.Command {
	return taskSwitchCommand(a, "enable", "on", &cobra.Command{
		Use:   "enable NAME",
		Short: "Switches a task on",
		Long: `Switches a task on: it runs from its next tick on. Ticks that it missed while it was off are not
caught up.`,
		Example: `  adsync tasks enable {media}.report_daily.account`,
	})
}
