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

	"adsync/base/plural"
	"adsync/base/store"
	"adsync/base/task"
)

func (a *app) newLimits() *cobra.Command {
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
	cmd.AddCommand(a.newLimitsEndPause())
	return cmd
}

func (a *app) newLimitsEndPause() *cobra.Command {
	f := &apiFlags{}
	var media, endpoint, subject string
	var all, yes bool
	cmd := &cobra.Command{
		Use:   "end-pause",
		Short: "Ends pauses that platforms have asked for",
		Long: `Shows the pauses in force that the answers of a platform have ordered, and with --yes ends them in all processes: pauses of calls, and of a login's
refresh of tokens, which is the endpoint token_refresh. Subtasks that wait for a moment after a call was put off are due at once, and those that wait to be
tried again after a failure too, unless --endpoint or --subject is given. A limit that is really used up is paused again by the next refusal. What an
operator has paused is lifted by "adsync resume".`,
		Example: `  adsync limits end-pause --media tencent
  adsync limits end-pause --media tencent --endpoint adgroups/get --yes
  adsync limits end-pause --subject tencent/20000058 --yes`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			of, _ := store.SplitName(subject)
			if media == "" && of == "" && !all || media != "" && all {
				return usagef("want --media, --subject with its platform, or --all for all platforms")
			}
			body := map[string]any{"dry_run": !yes}
			for name, value := range map[string]string{"media": media, "endpoint": endpoint, "subject": subject} {
				if value == "" && cmd.Flags().Changed(name) {
					return usagef("--%s is empty: want a value, or leave it out", name)
				}
				if value != "" {
					body[name] = value
				}
			}
			if all {
				body["scope"] = task.ScopeAll
			}
			return f.call(a, cmd, http.MethodPost, "/api/v1/limits/end-pause", nil, body, printEndedPauses)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&media, "media", "", "of this platform")
	cmd.Flags().BoolVar(&all, "all", false, "of all platforms, instead of --media")
	cmd.Flags().StringVar(&endpoint, "endpoint", "", "only of this endpoint")
	cmd.Flags().StringVar(&subject, "subject", "", "only of this app, account or login, by the id that adsync limits shows, or with its platform, such as tencent/20000058")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without it nothing is changed")
	return cmd
}

func printEndedPauses(w io.Writer, answer []byte) error {
	var a struct {
		limitsAnswer

		DryRun   bool `json:"dry_run"`
		Subtasks int
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Pauses)+a.Subtasks == 0 {
		_, err := fmt.Fprintln(w, "Nothing that was chosen is paused.")
		return err
	}
	t := table(w)
	a.pauses(t)
	if err := t.Flush(); err != nil {
		return err
	}
	if len(a.Pauses) > 0 {
		fmt.Fprintln(w)
	}
	if a.DryRun {
		_, err := fmt.Fprintf(w, "%s that would be due at once. Nothing was changed: add --yes to do it.\n", plural.Count(a.Subtasks, "subtask waits", "subtasks wait"))
		return err
	}
	_, err := fmt.Fprintf(w, "Ended %s; %s due at once.\n", plural.Count(len(a.Pauses), "pause", "pauses"), plural.Count(a.Subtasks, "subtask that waited is", "subtasks that waited are"))
	return err
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
