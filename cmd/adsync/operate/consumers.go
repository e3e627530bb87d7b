package operate

import (
	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newConsumers(a *settings.Source) *cobra.Command {
	return api.Command(a, &cobra.Command{
		Use:   "consumers",
		Short: "Lists the running consumers and their pools",
		Long: `Lists the consumers that reported within the last 15 seconds, with a line for each pool: how many of its
subtasks run and how many can run at once, how many more wait for a call limit, and how many partitions of the
lane the process has.`,
		Example: `  adsync consumers`,
	}, func(r *api.Request, _ []string) error { return api.Get(r, "/api/v1/consumers", show.Consumers) })
}
