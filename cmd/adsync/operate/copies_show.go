package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newCopiesShow(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:     "show NAME",
		Short:   "Shows one copy of a table",
		Long:    `Shows one copy, how far it has come, and its last run.`,
		Example: "  adsync copies show orders",
		Args:    copyArg,
	}, func(r *api.Request, args []string) error { return api.Get(r, copyPath(args[0]), show.TableCopy) })
}
