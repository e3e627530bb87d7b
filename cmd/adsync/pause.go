package main

import (
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func newPause(a *app) *cobra.Command {
	f := &stopFlags{}
	var length time.Duration
	var until string
	cmd := &cobra.Command{
		Use:   "pause KIND TARGET",
		Short: "Holds work up, for a time or until it is resumed",
		Long: `Holds work up within five seconds, also what is under way: nothing of it is lost, and it goes on when the
pause ends. A task or a platform that is paused makes no ticks either; what is missed is caught up as catch_up says.

` + stopTargets,
		Example: `  adsync pause media tencent --for 2h --reason 'maintenance of the platform'
  adsync pause account tencent/20000001 --reason 'disputed'`,
		Args: stopArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"kind": args[0], "target": args[1], "reason": f.reason, "by": f.by}
			if cmd.Flags().Changed("for") {
				if length < time.Second {
					return usagef("--for is %s: want a second or more, such as 2h", length)
				}
				body["for_seconds"] = int64(length / time.Second)
			}
			if until != "" {
				body["until"] = until
			}
			return f.call(a, cmd, http.MethodPost, "/api/v1/pauses", nil, body, printStop("Paused"))
		},
	}
	f.common(cmd.Flags())
	f.sign(cmd.Flags())
	cmd.Flags().DurationVar(&length, "for", 0, "how long, such as 2h; without --for and --until it lasts until it is resumed")
	cmd.Flags().StringVar(&until, "until", "", "until when, such as 2026-11-21T10:30:00Z")
	return cmd
}
