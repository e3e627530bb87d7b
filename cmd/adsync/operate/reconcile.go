package operate

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"adsync/client"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/table"
	"adsync/producer/overview"
)

func newReconcile(a *settings.Source) *cobra.Command {
	cmd := asking(a, &cobra.Command{
		Use:   "reconcile",
		Short: "Tells which figures of accounts are not the sums of their levels",
		Long: `Lists what the task system.reconcile found: figures of settled days of which the account level says something else than
the sum of a level below. Each was ordered to be pulled again once; what was seen after that has a time under CONFIRMED. A line is
one day of an account: its levels and figures that differ, and the one that is furthest apart, money in the account's currency. Each figure
is in --output json, money there in millionths.`,
		Example: `  adsync reconcile --media {media}
  adsync reconcile --state all --day 2026-11-20`,
	}, func(r *request, _ []string) error { return r.get("/api/v1/reconciliation", printing(printDifferences)) })
	param(cmd, "media", "only of this platform")
	param(cmd, "state", "open, mended or all (open if not given)")
	param(cmd, "day", "only of this day, such as 2026-11-20")
	param(cmd, "limit", "how many (100 if not given)")
	return cmd
}

func apart(d *client.Difference) int64 {
	return max(d.AccountValue-d.SumValue, d.SumValue-d.AccountValue)
}

// figure writes a value of a figure that differs: money in units of the currency, others as they are.
func figure(d *client.Difference, value int64) string {
	if d.Metric == "cost" {
		return strings.TrimSpace(table.Plain(d.Currency) + " " + overview.Amount(value))
	}
	return strconv.FormatInt(value, 10)
}

// differentDay is what differs of one day of an account.
type differentDay struct {
	levels, metrics []string
	worst           *client.Difference // the cost that is furthest apart, or another figure where no cost differs
}

// foldDifferences gathers the rows of each account's day, in their order: a day that is missing from a level has many.
func foldDifferences(rows []client.Difference) []*differentDay {
	var days []*differentDay
	byKey := map[[4]string]*differentDay{}
	for i := range rows {
		d := &rows[i]
		key := [4]string{d.Media, d.Account, d.Day, d.State}
		of := byKey[key]
		if of == nil {
			of = &differentDay{worst: d}
			byKey[key] = of
			days = append(days, of)
		}
		if !slices.Contains(of.levels, d.Level) {
			of.levels = append(of.levels, d.Level)
		}
		if !slices.Contains(of.metrics, d.Metric) {
			of.metrics = append(of.metrics, d.Metric)
		}
		if isCost, had := d.Metric == "cost", of.worst.Metric == "cost"; isCost && !had || isCost == had && apart(d) > apart(of.worst) {
			of.worst = d
		}
	}
	return days
}

func printDifferences(w io.Writer, a *client.DifferenceList) error {
	if len(a.Differences) == 0 {
		_, err := fmt.Fprintln(w, "Nothing differs.")
		return err
	}
	t := table.New(w)
	t.Head("ACCOUNT\tDAY\tLEVELS\tFIGURES\tMOST\tACCOUNT SAYS\tLEVEL SAYS\tDIFFERENCE\tSTATE\tFIRST SEEN\tCONFIRMED")
	for _, of := range foldDifferences(a.Differences) {
		d := of.worst
		t.Row(d.Media+"/"+d.Account, d.Day, few(of.levels), few(of.metrics), d.Metric+" of "+d.Level,
			figure(d, d.AccountValue), figure(d, d.SumValue), figure(d, d.AccountValue-d.SumValue), d.State, d.FirstSeenAt, d.ConfirmedAt)
	}
	if a.Next != "" {
		t.Head(thereAreMore)
	}
	return t.Flush()
}
