package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

const gamesPath = "/api/v1/games"

func newGames(a *settings.Source) *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "games",
		Short: "Lists games and their accounts",
		Long: `Lists games and the accounts whose days belong to them. "adsync bind account" and "adsync
unbind" change which these are.`,
		Example: `  adsync games list
  adsync games show starfall`,
	})
	cmd.AddCommand(newGamesList(a), newGamesShow(a))
	return cmd
}
