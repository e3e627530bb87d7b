package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newKinds(a *settings.Source) *cobra.Command {
	cmd := api.Command(a, &cobra.Command{
		Use:   "kinds",
		Short: "Lists the kinds of work and the consumers that do them",
		Long: `Lists the kinds of work that this release knows (the handlers that tasks name), how many enabled tasks each
has, how many live consumers do it, and the tasks whose work no live consumer does.`,
		Example: `  adsync kinds
  adsync kinds --unserved`,
	}, func(r *api.Request, _ []string) error { return api.Get(r, "/api/v1/kinds", show.Kinds.Print) })
	cmd.Flags().Bool("unserved", false, "only those with work that no live consumer does")
	api.SendFlags(cmd, "unserved")
	return cmd
}
