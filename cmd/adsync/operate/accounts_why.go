package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newAccountsWhy(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "why MEDIA/ACCOUNT",
		Short: "Shows in one line whether an account is late, and why",
		Long: `Shows in one line whether the figures of an account's present day are late, and the likeliest reason: it is
parked or paused, or waits for a retry, a call limit, its lane or its run. Below is a command that shows more
of it, or ends it. "adsync subtasks wait --account" shows each open subtask.`,
		Example: `  adsync accounts why {media}/20000001`,
		Args:    usage.Account,
	}, func(r *api.Request, args []string) error { return api.Get(r, accountPath(args[0], "why"), show.Why) })
}
