package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
)

func newTasksDisable(a *settings.Source) *cobra.Command {
	return taskSwitchCommand(a, "disable", "off", &cobra.Command{
		Use:   "disable NAME",
		Short: "Switches a task off",
		Long: `Switches a task off: it has no more ticks. Its open runs continue: "adsync cancel task NAME" ends them. It can
still be run by hand.`,
		Example: `  adsync tasks disable {media}.report_daily.account`,
	})
}
