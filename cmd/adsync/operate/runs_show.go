package operate

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/api"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/table"
)

func newRunsShow(a *settings.Source) *cobra.Command {
	var watch bool
	cmd := api.Command(a, &cobra.Command{
		Use:   "show ID",
		Short: "Shows a run, its counts and its progress",
		Long: `Shows a run with its exact counts, how many subtasks end a second, and about when the run ends at this rate.
With --watch it shows the run until it has ended; an interrupt ends the command, and the run continues.`,
		Example: `  adsync runs show 7529853616300212345
  adsync runs show 7529853616300212345 --watch`,
		Args: runArg,
	}, func(r *api.Request, args []string) error {
		if !watch {
			return api.Get(r, runPath(args[0]), show.Run)
		}
		return watchRun(r, args[0])
	})
	cmd.Flags().BoolVar(&watch, "watch", false, "show it repeatedly until it has ended")
	return cmd
}

// watchRun shows a run until it has ended.
func watchRun(r *api.Request, id string) error {
	see := show.Watch(r.OutOrStdout())
	if r.JSON() {
		see = show.Nothing
	}
	answer, _, err := r.FollowRun(id, see)
	if r.JSON() && err == nil {
		return table.JSON(r.OutOrStdout(), answer)
	}
	if errors.Is(err, context.Canceled) {
		return nil // Stopped as asked.
	}
	return err
}
