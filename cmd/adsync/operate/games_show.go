package operate

import (
	"net/url"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newGamesShow(a *settings.Source) *cobra.Command {
	return api.LimitedCommand(a, &cobra.Command{
		Use:   "show CODE",
		Short: "Lists the accounts that belong to a game on any day",
		Long: `Lists the accounts that belong to a game, or did, with the days. Those of a binding without
an end belong to it now.`,
		Example: "  adsync games show starfall",
		Args:    usage.Args(1, `the code of a game: "adsync games list" lists them`),
	}, func(r *api.Request, args []string) error {
		return api.List(r, gamesPath+"/"+url.PathEscape(args[0]), show.GameAccounts)
	})
}
