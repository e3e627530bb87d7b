package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

func newLimits(a *app) *cobra.Command {
	f := &apiFlags{}
	var media string
	cmd := &cobra.Command{
		Use:   "limits",
		Short: "Tells how the call limits stand",
		Long: `Lists the limits that were asked for within the last day, but for those of single accounts: how many calls the period before now
holds, what part that is of what we allow ourselves, how many are granted for the next 2 s beside them, how many the last minute and the last hour had, and for each importance how many calls are wanted and how many a second are its
share. Below are the points at which calls are paused, or were, with how often.`,
		Example: `  adsync limits --media tencent`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.call(a, cmd, http.MethodGet, "/api/v1/limits", given(map[string]string{"media": media}), nil, printLimits)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&media, "media", "", "only of this platform")
	cmd.AddCommand(newLimitsEndPause(a))
	return cmd
}

// limitsAnswer is how limits stand, and where calls are paused.
type limitsAnswer struct {
	Limits []struct {
		Media, Endpoint, Scope, Subject, Unit, Period string
		Calls, Window, Ahead                          int
		CallsMax                                      int `json:"calls_max"`
		Full                                          float64
		LastMinute                                    int `json:"last_minute"`
		LastHour                                      int `json:"last_hour"`
		Lanes                                         []struct {
			Importance, Processes, Wanted int
			PerSecond                     float64 `json:"share_per_second"`
		}
	}
	Pauses []struct {
		Media, Endpoint, Scope, Subject string
		PausedUntil                     time.Time `json:"paused_until"`
		Times                           int
	}
}

func printLimits(w io.Writer, answer []byte) error {
	var a limitsAnswer
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Limits)+len(a.Pauses) == 0 {
		_, err := fmt.Fprintln(w, "No calls were asked for within the last day.")
		return err
	}
	t := table(w)
	a.limits(t)
	if len(a.Limits) > 0 && len(a.Pauses) > 0 {
		fmt.Fprintln(t)
	}
	a.pauses(t)
	return t.Flush()
}

func (a *limitsAnswer) limits(t *tabwriter.Writer) {
	if len(a.Limits) == 0 {
		return
	}
	fmt.Fprintln(t, "LIMIT\tOF\tALLOWS\tIN THE WINDOW\tFULL\tAHEAD\tLAST MINUTE\tLAST HOUR\tIMPORTANCE: WANTED, SHARE A SECOND")
	for _, l := range a.Limits {
		var lanes []string
		for _, lane := range l.Lanes {
			lanes = append(lanes, fmt.Sprintf("%d: %d, %.1f", lane.Importance, lane.Wanted, lane.PerSecond))
		}
		allows := fmt.Sprintf("%d %s per %s", l.Calls, plain(l.Unit), plain(l.Period))
		if l.CallsMax > 0 {
			allows += fmt.Sprintf(", tried up to %d", l.CallsMax)
		}
		fmt.Fprintf(t, "%s %s\t%s\t%s\t%d\t%.0f %%\t%d\t%d\t%d\t%s\n", plain(l.Media), plain(l.Endpoint), plain(strings.TrimSpace(l.Scope+" "+l.Subject)), allows,
			l.Window, 100*l.Full, l.Ahead, l.LastMinute, l.LastHour, strings.Join(lanes, "; "))
	}
}

func (a *limitsAnswer) pauses(t *tabwriter.Writer) {
	if len(a.Pauses) == 0 {
		return
	}
	fmt.Fprintln(t, "PAUSED AT\tOF\tUNTIL\tTIMES")
	for _, p := range a.Pauses {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\n", plain(strings.TrimSpace(p.Media+" "+p.Endpoint)), plain(strings.TrimSpace(p.Scope+" "+p.Subject)), moment(p.PausedUntil), p.Times)
	}
}
