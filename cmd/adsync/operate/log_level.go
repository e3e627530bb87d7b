package operate

import (
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/usage"
)

func newLogLevel(a *settings.Source) *cobra.Command {
	var length time.Duration
	var end bool
	cmd := api.Command(a, &cobra.Command{
		Use:   "log-level [LEVEL]",
		Short: "Has running processes log more, or less, for a time",
		Long: `Has all processes of a deployment, or those of a role or with a name, log at another level for a time: debug, info, warn or error. It holds
within 5 seconds, in consumers too, and ends by itself; without a level it shows what is in force. One order holds at a time: the next takes its place.
It goes by Redis; without that, processes log as they are configured to.`,
		Example: `  adsync log-level debug --role consumer --for 10m
  adsync log-level
  adsync log-level --end`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || end && len(args) > 0 {
				return usage.Errorf("want one level, such as debug, or --end, or nothing")
			}
			return nil
		},
	}, func(r *api.Request, args []string) error {
		switch {
		case end:
			return api.Send(r, http.MethodDelete, logLevelPath, nil, show.LogLevel)
		case len(args) == 0:
			return api.Get(r, logLevelPath, show.LogLevel)
		case length < time.Second:
			return usage.Errorf("--for is %s: want a second or more, such as 10m", length)
		}
		body := r.Params()
		body["level"] = args[0]
		if r.Flags().Changed("for") {
			body["for_seconds"] = int64(length / time.Second)
		}
		return api.Send(r, http.MethodPut, logLevelPath, body, show.LogLevel)
	})
	api.Param(cmd, "role", "only of processes of this role: producer, consumer or all")
	api.Param(cmd, "node", "only of the process with this name, as the column node of the log tables tells it")
	cmd.Flags().DurationVar(&length, "for", 15*time.Minute, "how long, 24h at the most")
	cmd.Flags().BoolVar(&end, "end", false, "end what is in force")
	return cmd
}

const logLevelPath = "/api/v1/log-level"
