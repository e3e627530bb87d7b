package operate

import (
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
)

const pausesPath = "/api/v1/pauses"

func newPause(a *settings.Source) *cobra.Command {
	var length time.Duration
	cmd := stopping(a, &cobra.Command{
		Use:   "pause KIND TARGET",
		Short: "Holds work up, for a time or until it is resumed",
		Long: `Holds work up within five seconds, also what is under way: nothing of it is lost, and it goes on when the
pause ends. A task or a platform that is paused makes no ticks either; what is missed is caught up as catch_up says.

` + stopTargets,
		Example: `  adsync pause media {media} --for 2h --reason 'maintenance of the platform'
  adsync pause account {media}/20000001 --reason 'disputed'`,
	}, func(r *request, body map[string]any) error {
		if r.Flags().Changed("for") {
			if length < time.Second {
				return usage.Errorf("--for is %s: want a second or more, such as 2h", length)
			}
			body["for_seconds"] = int64(length / time.Second)
		}
		return r.send(http.MethodPost, pausesPath, body, printStop("Paused"))
	})
	cmd.Flags().DurationVar(&length, "for", 0, "how long, such as 2h; without --for and --until it lasts until it is resumed")
	param(cmd, "until", "until when, such as 2026-11-21T10:30:00Z")
	return cmd
}
