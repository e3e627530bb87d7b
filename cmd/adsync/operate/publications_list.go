package operate

import (
	"strings"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/completion"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newPublicationsList(a *settings.Source) *cobra.Command {
	cmd := api.ListCommand(a, publicationsPath, show.Publications, &cobra.Command{
		Use:   "list",
		Short: "Lists report files, the newest first",
		Long:  `Lists report files with their states, the newest first. --from and --to choose by the days of the files.`,
		Example: `  adsync publications list --subscription spend --from 2026-11-01
  adsync publications list --state failed`,
	})
	api.Param(cmd, "subscription", "only of this subscription")
	api.Param(cmd, "destination", "only those for this destination")
	api.Param(cmd, "customer", "only of this customer")
	api.Param(cmd, "name", "only with this name at the destination")
	api.Param(cmd, "state", "only in this state: "+strings.Join(completion.PublicationStates, ", "))
	api.Param(cmd, "from", "only about this day or a later one, such as 2026-11-21")
	api.Param(cmd, "to", "only about this day or an earlier one")
	return cmd
}
