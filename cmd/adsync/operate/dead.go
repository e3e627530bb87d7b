package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

func newDead(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "dead",
		Short: "Shows, repeats and drops subtasks that failed for good",
		Long: `A subtask that failed for good is kept, whatever becomes of its run and its day's log, until it is taken up
again (redrive) or dropped. These commands ask a producer's API. If it wants a token, set ` + settings.TokenVariable + `.`,
		Example: `  adsync dead list --media {media}
  adsync dead redrive --task {media}.report_daily.account --yes`,
	})
	cmd.AddCommand(newDeadList(a), newDeadShow(a), newDeadRedrive(a), newDeadDrop(a))
	return cmd
}

// deadFilter adds the flags that choose dead subtasks.
func deadFilter(cmd *cobra.Command) {
	param(cmd, "task", "only of the task of this name")
	param(cmd, "media", "only of this platform")
	param(cmd, "account", "only of this account, by the platform's id, such as 20000001 or {media}/20000001")
	param(cmd, "run", "only of the run with this id")
	param(cmd, "print", "only with this error print, as list shows it")
	param(cmd, "class", "only with errors of this class: transient, quota, auth, invalid, bug")
	param(cmd, "text", "only with this in the error's text")
	instantParam(cmd, "since", "only what died since: "+sinceSyntax+"24h")
	instantParam(cmd, "until", "only what died until then")
}
