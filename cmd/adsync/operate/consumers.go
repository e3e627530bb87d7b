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
		Short: "Lists the consumers that live, and what their pools do",
		Long: `Lists the processes that work off lanes, as they told of themselves within the last 15 seconds, with a line for each pool: how many subtasks
run in how many places, how many of them wait for a call limit beside their place, and how many partitions of the lane the process has.`,
		Example: `  adsync consumers`,
	}, func(r *api.Request, _ []string) error { return api.Get(r, "/api/v1/consumers", show.Consumers) })
}
