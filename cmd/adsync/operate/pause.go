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

const pausesPath = "/api/v1/pauses"

func newPause(a *settings.Source) *cobra.Command {
	var length time.Duration
	cmd := stopCommand(a, &cobra.Command{
		Use:   "pause KIND TARGET",
		Short: "Stops work for a time, or until it is resumed",
		Long: `Stops work within five seconds, also work that is running: nothing of it is lost, and it continues when the
pause ends. A task or a platform that is paused makes no ticks; missed ticks are caught up as the task's
catch_up orders.

` + stopTargets,
		Example: `  adsync pause media {media} --for 2h --reason 'maintenance of the platform'
  adsync pause account {media}/20000001 --reason 'disputed'`,
	}, func(r *api.Request, body map[string]any) error {
		if r.Flags().Changed("for") {
			if length < time.Second {
				return usage.Errorf("--for is %s: want a second or more, such as 2h", length)
			}
			body["for_seconds"] = int64(length / time.Second)
		}
		return api.Send(r, http.MethodPost, pausesPath, body, show.Stop("Paused"))
	})
	cmd.Flags().DurationVar(&length, "for", 0, "how long, such as 2h; without --for and --until, until it is resumed")
	api.Param(cmd, "until", "until when, such as 2026-11-21T10:30:00Z")
	return cmd
}

const stopTargets = `KIND TARGET is one of

  run 7529853616300212345               one run, by its id
  task {media}.report_daily.account     all runs of a task, by its name
  account {media}/20000001              the work of an account in all runs, by the platform's id
  media {media}                         everything of a platform`

// stopCommand makes cmd a command that stops work, with the flags --reason and --by.
func stopCommand(a *settings.Source, cmd *cobra.Command,
	do func(r *api.Request, body map[string]any) error) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		return usage.Args(2, "KIND TARGET, such as: media "+usage.SomePlatform())(cmd, args)
	}
	api.Command(a, cmd, func(r *api.Request, args []string) error {
		body := r.Params()
		body["kind"], body["target"] = args[0], args[1]
		return do(r, body)
	})
	api.Param(cmd, "reason", "why, for others to read")
	api.Param(cmd, "by", "your name, if no token carries it")
	return cmd
}
