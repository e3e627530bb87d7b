package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newGamesList(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "list",
		Short: "Lists the games",
		Long: `Lists the games, each with how many accounts belong to it today. Of unassigned it is how many
accounts are pulled and have no game: "adsync accounts list --game unassigned" lists those.`,
		Example: "  adsync games list",
	}, func(r *api.Request, _ []string) error { return api.Get(r, gamesPath, show.Games.Print) })
}
