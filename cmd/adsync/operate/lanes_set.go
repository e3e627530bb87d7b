package operate

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
)

func newLanesSet(a *settings.Source) *cobra.Command {
	numbers := [][2]string{
		{"pool-size", "how many subtasks one consumer does at a time; a new lane needs it, and 0 closes the lane"},
		{"workers-max", "how many subtasks all consumers do at a time together; 0 = no limit"},
		{"partitions", "of the topic; 0 = broker.partitions"},
		{"backlog-max", "how many messages may wait before the lane's fan-outs rest; 0 = the default"},
		{"late-seconds",
			"how old the oldest waiting message may be before the fan-outs of less important lanes rest; 0 = the default"},
		{"importance", "among the lanes of a platform: whose calls go first where a limit holds them back; 0 = by its name"},
	}
	cmd := api.Command(a, &cobra.Command{
		Use:   "set LANE",
		Short: "Makes a lane, or changes one",
		Long: `Makes a lane, or changes one; what is not given stays. Consumers follow within seconds, fan-outs within a
minute. "adsync tasks edit --lane" puts a task on a lane.`,
		Example: `  adsync lanes set normal --pool-size 48
  adsync lanes set {media}:urgent --pool-size 16 --importance 40`,
		Args: laneArg,
	}, func(r *api.Request, args []string) error {
		body := map[string]int64{}
		for _, n := range numbers {
			if r.Flags().Changed(n[0]) { // A 0 is a value too.
				body[strings.ReplaceAll(n[0], "-", "_")], _ = r.Flags().GetInt64(n[0]) // It is one.
			}
		}
		return api.Send(r, http.MethodPut, lanePath(args[0]), body, show.Lane)
	})
	for _, n := range numbers {
		cmd.Flags().Int64(n[0], 0, n[1])
	}
	return cmd
}
