package operate

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

const stopTargets = `KIND TARGET is one of

  run 7529853616300212345               one run, by its id
  task {media}.report_daily.account     all runs of a task, by its name
  account {media}/20000001              the work of an account in all runs, by the platform's id
  media {media}                         everything of a platform`

// stopping makes a command one that stops work, of which it is told why and by whom.
func stopping(a *settings.Source, cmd *cobra.Command, do func(r *request, body map[string]any) error) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		return usage.Args(2, "KIND TARGET, such as: media "+usage.SomePlatform())(cmd, args)
	}
	asking(a, cmd, func(r *request, args []string) error {
		body := r.params()
		body["kind"], body["target"] = args[0], args[1]
		return do(r, body)
	})
	param(cmd, "reason", "why; others will ask")
	param(cmd, "by", "your name, where no token says it")
	return cmd
}

func printStop(done string) printer {
	return printing(func(w io.Writer, s *client.Stop) error {
		end := ""
		if s.State == "active" && !s.Until.IsZero() {
			end = " until " + table.Moment(s.Until)
		}
		_, err := fmt.Fprintf(w, "%s %s %s%s, by order %s.\n", done, s.Kind, table.Plain(s.Target), end, s.ID)
		return err
	})
}
