package main

import (
	"net/http"

	"github.com/spf13/cobra"
)

func newCancel(a *app) *cobra.Command {
	f := &stopFlags{}
	cmd := &cobra.Command{
		Use:   "cancel KIND TARGET",
		Short: "Ends open work for good",
		Long: `Ends what is open of the work now, within five seconds also what is under way, and keeps nothing that comes
later from running: disable or pause for that. It cannot be taken back, but the run can be ordered again.

` + stopTargets,
		Example: `  adsync cancel run 7529853616300212345 --reason 'wrong days'`,
		Args:    stopArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"kind": args[0], "target": args[1], "reason": f.reason, "by": f.by}
			return f.call(a, cmd, http.MethodPost, "/api/v1/cancels", nil, body, printStop("Cancelled"))
		},
	}
	f.common(cmd.Flags())
	f.sign(cmd.Flags())
	return cmd
}
