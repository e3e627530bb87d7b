package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) newReconcile() *cobra.Command {
	f := &apiFlags{}
	var media, state, day, limit string
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Tells which figures of accounts are not the sums of their levels",
		Long: `Lists what the task system.reconcile found: figures of settled days of which the account level says something else than
the sum of a level below. Each was ordered to be pulled again once; what was seen after that has a time under CONFIRMED. Money is in
millionths of the account's currency.`,
		Example: `  adsync reconcile --media oceanengine
  adsync reconcile --state all --day 2026-11-20`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := given(map[string]string{"media": media, "state": state, "day": day, "limit": limit})
			return f.call(a, cmd, http.MethodGet, "/api/v1/reconciliation", query, nil, printDifferences)
		},
	}
	f.common(cmd.Flags())
	cmd.Flags().StringVar(&media, "media", "", "only of this platform")
	cmd.Flags().StringVar(&state, "state", "", "open, mended or all (open if not given)")
	cmd.Flags().StringVar(&day, "day", "", "only of this day, such as 2026-11-20")
	cmd.Flags().StringVar(&limit, "limit", "", "how many (100 if not given)")
	return cmd
}

func printDifferences(w io.Writer, answer []byte) error {
	var a struct {
		Differences []struct {
			Media, Account, Day, Level, Metric, State string
			AccountValue                              int64     `json:"account_value"`
			SumValue                                  int64     `json:"sum_value"`
			FirstSeenAt                               time.Time `json:"first_seen_at"`
			ConfirmedAt                               time.Time `json:"confirmed_at"`
		}
		Next string
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Differences) == 0 {
		_, err := fmt.Fprintln(w, "Nothing differs.")
		return err
	}
	t := table(w)
	fmt.Fprintln(t, "ACCOUNT\tDAY\tLEVEL\tMETRIC\tACCOUNT SAYS\tLEVEL SAYS\tDIFFERENCE\tSTATE\tFIRST SEEN\tCONFIRMED")
	for _, d := range a.Differences {
		fmt.Fprintf(t, "%s/%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\n", plain(d.Media), plain(d.Account), d.Day, plain(d.Level), plain(d.Metric),
			d.AccountValue, d.SumValue, d.AccountValue-d.SumValue, d.State, moment(d.FirstSeenAt), moment(d.ConfirmedAt))
	}
	if a.Next != "" {
		fmt.Fprintln(t, "There are more.")
	}
	return t.Flush()
}
