package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/store"
)

func newCoverage(a *app) *cobra.Command {
	f := &apiFlags{}
	var from, to string
	var missing bool
	cmd := &cobra.Command{
		Use:   "coverage MEDIA/ACCOUNT",
		Short: "Tells what is known of an account, by report, level and day",
		Long: `Tells for each report and level of an account which days were pulled whole, and which were not: without --from
and --to those of the last week. Days are in the account's time zone. Of a day that was never pulled NOTE says why it is no hole, if it
is none, and values that could not be used: "adsync coverage holes" counts, and orders, what the tasks reach alone. To have another day, order it: "adsync tasks run".`,
		Example: `  adsync coverage tencent/20000001
  adsync coverage tencent/20000001 --from 2026-11-01 --to 2026-11-21 --missing
  adsync coverage holes`,
		Args: accountArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			query := given(map[string]string{"from": from, "to": to})
			return f.call(a, cmd, http.MethodGet, accountPath(args[0], "coverage"), query, nil, func(w io.Writer, answer []byte) error {
				return printCoverage(w, answer, missing)
			})
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&from, "from", "", "first day, such as 2026-11-15")
	cmd.Flags().StringVar(&to, "to", "", "last day, included")
	cmd.Flags().BoolVar(&missing, "missing", false, "only what is not complete (for people; json has all)")
	cmd.AddCommand(newHoles(a))
	return cmd
}

func printCoverage(w io.Writer, answer []byte, missing bool) error {
	var a struct {
		From, To string
		Coverage []struct {
			Report, Level, Day, State, Note string
			PulledAt                        time.Time `json:"pulled_at"`
			Rows                            int64
			SummaryPending                  bool `json:"summary_pending"`
			Unusable                        int64
			UnusableValues                  []struct {
				Field, Kind string
				Number      int64
			} `json:"unusable_values"`
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "REPORT\tLEVEL\tDAY\tSTATE\tROWS\tPULLED\tNOTE")
	shown := 0
	for _, c := range a.Coverage {
		if missing && c.State == string(store.Complete) {
			continue
		}
		note := c.Note
		if c.Unusable > 0 && !strings.Contains(note, "unusable") { // The note of a day that is not whole names them.
			parts := make([]string, len(c.UnusableValues))
			for i, u := range c.UnusableValues {
				parts[i] = fmt.Sprintf("%d × %s of %s", u.Number, u.Kind, u.Field)
			}
			note = strings.TrimPrefix(note+"; unusable values: "+strings.Join(parts, ", "), "; ")
		}
		if c.SummaryPending {
			note = strings.TrimPrefix(note+"; the summaries follow", "; ")
		}
		day := c.Day
		if day == "" {
			day = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", plain(c.Report), plain(c.Level), day, c.State, c.Rows, moment(c.PulledAt), plain(note))
		shown++
	}
	if shown == 0 {
		_, err := fmt.Fprintf(w, "Everything from %s to %s is complete.\n", a.From, a.To)
		return err
	}
	return t.Flush()
}
