package operate

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
)

func newLimits(a *settings.Source) *cobra.Command {
	cmd := asking(a, &cobra.Command{
		Use:   "limits",
		Short: "Tells how the call limits stand",
		Long: `Lists the limits that were asked for within the last day, but for those of single accounts: how many calls the period before now
holds, what part that is of what we allow ourselves, how many are granted for the next 2 s beside them, how many the last minute and the last hour had, and for each importance how many calls are wanted and how many a second are its
share. Below are the points at which calls are paused, or were, with how often.`,
		Example: `  adsync limits --media {media}`,
	}, func(r *request, _ []string) error { return r.get("/api/v1/limits", printing(printLimits)) })
	param(cmd, "media", "only of this platform")
	cmd.AddCommand(newLimitsEndPause(a))
	return cmd
}

func printLimits(w io.Writer, a *client.LimitList) error {
	if len(a.Limits)+len(a.Pauses) == 0 {
		_, err := fmt.Fprintln(w, "No calls were asked for within the last day.")
		return err
	}
	t := table.New(w)
	printCallLimits(t, a.Limits)
	if len(a.Limits) > 0 && len(a.Pauses) > 0 {
		fmt.Fprintln(t)
	}
	printPausedPoints(t, a.Pauses)
	return t.Flush()
}

func printCallLimits(t table.Table, limits []client.Limit) {
	if len(limits) == 0 {
		return
	}
	t.Head("LIMIT\tOF\tALLOWS\tIN THE WINDOW\tFULL\tAHEAD\tLAST MINUTE\tLAST HOUR\tIMPORTANCE: WANTED, SHARE A SECOND")
	for _, l := range limits {
		var lanes []string
		for _, lane := range l.Lanes {
			lanes = append(lanes, fmt.Sprintf("%d: %d, %.1f", lane.Importance, lane.Wanted, lane.SharePerSecond))
		}
		allows := fmt.Sprintf("%d %s per %s", l.Calls, l.Unit, l.Period)
		if l.CallsMax > 0 {
			allows += fmt.Sprintf(", tried up to %d", l.CallsMax)
		}
		t.Row(l.Media+" "+l.Endpoint, strings.TrimSpace(l.Scope+" "+l.Subject), allows,
			l.Window, fmt.Sprintf("%.0f %%", 100*l.Full), l.Ahead, l.LastMinute, l.LastHour, table.Whole(strings.Join(lanes, "; ")))
	}
}

func printPausedPoints(t table.Table, pauses []client.PausedPoint) {
	if len(pauses) == 0 {
		return
	}
	t.Head("PAUSED AT\tOF\tUNTIL\tTIMES")
	for _, p := range pauses {
		t.Row(strings.TrimSpace(p.Media+" "+p.Endpoint), strings.TrimSpace(p.Scope+" "+p.Subject), p.PausedUntil, p.Times)
	}
}
