package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/plural"
)

func newDeadShow(a *app) *cobra.Command {
	f := &deadFlags{}
	cmd := &cobra.Command{
		Use:   "show RUN ACCOUNT_ID PART",
		Short: "Shows all that is known of one dead subtask",
		Long:  `Shows one dead subtask, named by the first columns of "adsync dead list --rows", with its run and its log. The account may be named as MEDIA/ACCOUNT too.`,
		Example: `  adsync dead show 7529853616300212345 12 2026-11-20
  adsync dead show 7529853616300212345 tencent/20000001 2026-11-20`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 3 {
				return usagef("want RUN ACCOUNT_ID PART, as \"adsync dead list --rows\" shows them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			c, err := a.client(cmd, f.server)
			if err != nil {
				return err
			}
			q := url.Values{"run": {args[0]}, "account_id": {args[1]}, "part": {args[2]}}
			answer, err := c.call(cmd.Context(), http.MethodGet, "/api/v1/dead/subtask", q, nil)
			if err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), f.output, answer, printDead)
		},
	}
	f.common(cmd.Flags())
	return cmd
}

func printDead(w io.Writer, answer []byte) error {
	var d struct {
		deadRow
		Run *struct {
			Kind      string
			State     string
			Handler   string
			Lane      string
			PlannedAt time.Time `json:"planned_at"`
		}
		Params json.RawMessage
		Log    *struct {
			Delivery  int
			Node      string
			StartedAt time.Time `json:"started_at"`
			Calls     int64
		}
	}
	if err := json.Unmarshal(answer, &d); err != nil {
		return err
	}
	t := table(w)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, name+"\t"+format+"\n", args...) }
	line("task", "%s", d.Task)
	line("account", "%s (our id %s), %s", d.Account, d.AccountID, d.Media)
	line("part", "%s", plain(d.Part))
	line("died", "%s, after %s", moment(d.DeadAt), plural.Count(d.Attempts, "failure", "failures"))
	line("error class", "%s", d.ErrorClass)
	line("error print", "%s", plain(d.ErrorPrint))
	line("error", "%s", clean(d.Error))
	if d.RedriveRun != "" {
		line("taken up by", "run %s", d.RedriveRun)
	}
	if d.Run == nil {
		line("run", "%s, of which nothing is kept", d.RunID)
	} else {
		line("run", "%s (%s of %s), %s", d.RunID, d.Run.Kind, moment(d.Run.PlannedAt), d.Run.State)
		line("handler", "%s, lane %s", d.Run.Handler, d.Run.Lane)
	}
	if len(d.Params) > 0 {
		line("params", "%s", d.Params)
	}
	if d.Log == nil {
		line("log", "its day's table was dropped")
	} else {
		line("log", "sent %s, last begun %s on %s, %s in all", plural.Count(d.Log.Delivery, "time", "times"), moment(d.Log.StartedAt), d.Log.Node, plural.Count(d.Log.Calls, "API call", "API calls"))
	}
	return t.Flush()
}
