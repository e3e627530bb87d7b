package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// stopFlags are what the commands that stop work share.
type stopFlags struct {
	apiFlags

	reason, by string
}

func (f *stopFlags) sign(flags *pflag.FlagSet) {
	flags.StringVar(&f.reason, "reason", "", "why; others will ask")
	flags.StringVar(&f.by, "by", "", "your name, where no token says it")
}

const stopTargets = `KIND TARGET is one of

  run 7529853616300212345               one run, by its id
  task tencent.report_daily.account     all runs of a task, by its name
  account tencent/20000001              the work of an account in all runs, by the platform's id
  media tencent                         everything of a platform`

func stopArgs(_ *cobra.Command, args []string) error {
	if len(args) != 2 {
		return usagef("want KIND TARGET, such as: media tencent")
	}
	return nil
}

func (a *app) newPause() *cobra.Command {
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

func (a *app) newResume() *cobra.Command {
	f := &stopFlags{}
	cmd := &cobra.Command{
		Use:     "resume PAUSE",
		Short:   "Ends a pause",
		Long:    `Ends a pause before its time, by its id: "adsync pauses" lists them.`,
		Example: `  adsync resume 7529853616300212345`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want the id of a pause: adsync pauses lists them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.call(a, cmd, http.MethodDelete, "/api/v1/pauses/"+url.PathEscape(args[0]), given(map[string]string{"by": f.by}), nil, printStop("Ended the pause of"))
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&f.by, "by", "", "your name, where no token says it")
	return cmd
}

func (a *app) newCancel() *cobra.Command {
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

func (a *app) newPauses() *cobra.Command {
	f := &stopFlags{}
	var all bool
	cmd := &cobra.Command{
		Use:     "pauses",
		Short:   "Lists what is paused",
		Long:    `Lists the pauses that hold work up now, the newest first; with --all also those that have ended.`,
		Example: `  adsync pauses --all`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"limit": {"500"}}
			if !all {
				query.Set("state", "active")
			}
			return f.call(a, cmd, http.MethodGet, "/api/v1/pauses", query, nil, printPauses)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "also those that have ended")
	return cmd
}

func (a *app) newCancels() *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:     "cancels",
		Short:   "Lists what was cancelled",
		Long:    `Lists what was cancelled, by whom and why, the newest first. A cancel is active until it is carried out.`,
		Example: `  adsync cancels --limit 10`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.list(a, cmd, "/api/v1/cancels", url.Values{}, "cancels", printCancels)
		},
	}
	f.common(cmd.Flags())
	return cmd
}

type stopRow struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Target    string    `json:"target"`
	Reason    string    `json:"reason"`
	By        string    `json:"by"`
	State     string    `json:"state"`
	OrderedAt time.Time `json:"ordered_at"`
	Until     time.Time `json:"until"`
	EndedAt   time.Time `json:"ended_at"`
	LiftedBy  string    `json:"lifted_by"`
}

func printStop(done string) func(io.Writer, []byte) error {
	return func(w io.Writer, answer []byte) error {
		var s stopRow
		if err := json.Unmarshal(answer, &s); err != nil {
			return err
		}
		end := ""
		if s.State == "active" && !s.Until.IsZero() {
			end = " until " + moment(s.Until)
		}
		_, err := fmt.Fprintf(w, "%s %s %s%s, by order %s.\n", done, s.Kind, plain(s.Target), end, s.ID)
		return err
	}
}

func printPauses(w io.Writer, answer []byte) error {
	var a struct {
		Pauses []stopRow
		Next   string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Pauses) == 0 {
		_, err := fmt.Fprintln(w, "Nothing is paused.")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "PAUSE\tKIND\tTARGET\tSTATE\tORDERED\tUNTIL\tENDED\tBY\tREASON")
	for _, p := range a.Pauses {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			p.ID, p.Kind, plain(p.Target), p.State, moment(p.OrderedAt), moment(p.Until), moment(p.EndedAt), plain(p.By), plain(p.Reason))
	}
	if a.Next != "" {
		fmt.Fprintln(t, "There are more.")
	}
	return t.Flush()
}

func printCancels(w io.Writer, answer []byte) error {
	var a struct {
		Cancels []stopRow
		Next    string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Cancels) == 0 {
		_, err := fmt.Fprintln(w, "Nothing was cancelled.")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "CANCEL\tKIND\tTARGET\tSTATE\tORDERED\tENDED\tBY\tREASON")
	for _, c := range a.Cancels {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", plain(c.ID), plain(c.Kind), plain(c.Target), plain(c.State), moment(c.OrderedAt), moment(c.EndedAt), plain(c.By), plain(c.Reason))
	}
	if a.Next != "" {
		fmt.Fprintln(t, "There are more: raise --limit.")
	}
	return t.Flush()
}
