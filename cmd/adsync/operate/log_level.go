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
		Short: "Changes the log level of running processes for a time",
		Long: `Changes the log level of all processes of a deployment for a time, or of those with a role or a name: debug,
info, warn or error. It takes effect within 5 seconds, in consumers too, and ends automatically. Without a
level it shows the order in force. One order is in force at a time: the next replaces it. The order is kept in
Redis; without Redis, processes log at their configured level.`,
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
	api.Param(cmd, "node", "only of the process with this name, as in the column node of the log tables")
	cmd.Flags().DurationVar(&length, "for", 15*time.Minute, "how long, at most 24h")
	cmd.Flags().BoolVar(&end, "end", false, "end the order in force")
	return cmd
}

const logLevelPath = "/api/v1/log-level"
