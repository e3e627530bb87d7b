package operate

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"adsync/base/store/results"
	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
)

func newCoverage(a *settings.Source) *cobra.Command {
	var missing bool
	cmd := asking(a, &cobra.Command{
		Use:   "coverage MEDIA/ACCOUNT",
		Short: "Tells what is known of an account, by report, level and day",
		Long: `Tells for each report and level of an account which days were pulled whole, and which were not: without --from
and --to those of the last week. Days are in the account's time zone. Of a day that was never pulled NOTE says why it is no hole, if it
is none, and values that could not be used: "adsync coverage holes" counts, and orders, what the tasks reach alone. To have another day, order it: "adsync tasks run".`,
		Example: `  adsync coverage {media}/20000001
  adsync coverage {media}/20000001 --from 2026-11-01 --to 2026-11-21 --missing
  adsync coverage holes`,
		Args: usage.Account,
	}, func(r *request, args []string) error {
		return r.get(accountPath(args[0], "coverage"), printing(func(w io.Writer, c *client.AccountCoverage) error { return printCoverage(w, c, missing) }))
	})
	param(cmd, "from", "first day, such as 2026-11-15")
	param(cmd, "to", "last day, included")
	cmd.Flags().BoolVar(&missing, "missing", false, "only what is not complete (for people; json has all)")
	cmd.AddCommand(newCoverageHoles(a))
	return cmd
}

func printCoverage(w io.Writer, a *client.AccountCoverage, missing bool) error {
	t := table.New(w)
	t.Head("REPORT\tLEVEL\tDAY\tSTATE\tROWS\tPULLED\tNOTE")
	shown := 0
	for i := range a.Coverage {
		c := &a.Coverage[i]
		if missing && c.State == string(results.Complete) {
			continue
		}
		t.Row(c.Report, c.Level, cmp.Or(c.Day, "-"), c.State, c.Rows, c.PulledAt, coverageNote(c))
		shown++
	}
	if shown == 0 {
		_, err := fmt.Fprintf(w, "Everything from %s to %s is complete.\n", a.From, a.To)
		return err
	}
	return t.Flush()
}

func coverageNote(c *client.Coverage) string {
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
	return note
}
