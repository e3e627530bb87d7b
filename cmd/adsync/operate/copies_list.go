package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newCopiesList(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:     "list",
		Short:   "Lists the copies of tables",
		Long:    `Lists the tables of other databases that are copied, when each was copied last, and what failed.`,
		Example: "  adsync copies list",
	}, func(r *api.Request, _ []string) error { return api.Get(r, copiesPath, show.TableCopies.Print) })
}
