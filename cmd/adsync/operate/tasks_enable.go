package operate

import (
	"net/http"

	"adsync/cmd/adsync/internal/settings"

	"github.com/spf13/cobra"
)

// newTasksSwitch makes a command that switches a task on or off.
func newTasksSwitch(a *settings.Source, name, state string) *cobra.Command {
	long := "Switches a task on: it runs from its next tick on. What it missed while it was off is not caught up."
	if name == "disable" {
		long = `Switches a task off: it has no ticks any more. Runs that it has go on: "adsync cancel task NAME" ends them. It can be run by hand.`
	}
	return asking(a, &cobra.Command{
		Use:     name + " NAME",
		Short:   "Switches a task " + state,
		Long:    long,
		Example: "  adsync tasks " + name + " {media}.report_daily.account",
		Args:    taskArg,
	}, func(r *request, args []string) error {
		return r.send(http.MethodPost, taskPath(args[0])+"/"+name, nil, printChangedTask("Switched "+state))
	})
}
