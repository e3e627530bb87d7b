package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newPublicationsShow(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "show ID",
		Short: "Shows one report file",
		Long: `Shows one report file: when it passed each state, its last failure or what it waits for, and the figures that
an incomplete one lacks.`,
		Example: "  adsync publications show 7529853616300212345",
		Args:    publicationArg,
	}, func(r *api.Request, args []string) error {
		return api.Get(r, publicationPath(args[0]), show.Publication)
	})
}
