package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/ratelimit"
	"adsync/cmd/adsync/internal/usage"
	"adsync/quota"
)

func newQuota() *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "quota",
		Short: "Shows how well call limits are used and kept",
		Long: `Plays scenarios of processes that want more calls than platforms allow: of one, three and twelve processes, of one that dies or joins,
of a Redis that goes away or forgets, of lanes and of an account with very many calls. docs/quota.md tells what the figures should be.
How the limits of a deployment stand, "adsync limits" tells.`,
		Example: "  adsync quota simulate\n  adsync quota drill --parallel 3",
	})
	cmd.AddCommand(newQuotaSimulate(), newQuotaDrill(), newQuotaCaller())
	return cmd
}

// quotaFlags are what both ways of playing have.
type quotaFlags struct {
	seconds int
	spread  time.Duration
	output  string
}

func (f *quotaFlags) add(cmd *cobra.Command, seconds int) {
	flags := cmd.Flags()
	flags.IntVar(&f.seconds, "seconds", seconds, "how long a scenario is measured, 20 or more; before that it warms up for 10 s")
	flags.DurationVar(&f.spread, "spread", ratelimit.DefaultConfig().ArrivalSpread, "ratelimit.arrival_spread")
	flags.StringVar(&f.output, "output", "text", "text or json")
}

func (f *quotaFlags) scenarios(words []string) ([]quota.Scenario, error) {
	if err := usage.OneOf("output", f.output, "text", "json"); err != nil {
		return nil, err
	}
	if f.seconds < 20 {
		return nil, usage.Errorf("--seconds is %d: want 20 or more", f.seconds)
	}
	cfg := ratelimit.DefaultConfig()
	cfg.ArrivalSpread = f.spread
	if err := cfg.Validate(); err != nil {
		return nil, usage.Errorf("--spread: %v", err)
	}
	all := quota.Named(quota.Scenarios(time.Duration(f.seconds)*time.Second), words)
	if len(all) == 0 {
		return nil, usage.Errorf("no scenario has one of %q in its name", words)
	}
	return all, nil
}

// quotaReport is the answer of --output json.
type quotaReport struct {
	Scenarios []quota.Figures `json:"scenarios"`
}

func (f *quotaFlags) print(w io.Writer, all []quota.Figures) error {
	if f.output == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(quotaReport{all})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SCENARIO\tPROCESSES\tCALLS\tUSE\tREFUSED\tOVERSPENT\tFAIRNESS ERROR\tCONVERGENCE\tROUND TRIPS A CALL\tA PROCESS IN 2 S\tSPREAD")
	for _, x := range all {
		fmt.Fprintf(t, "%s\t%d\t%d\t%.2f %%\t%d\t%d\t%.1f\t%.1f s\t%.4f\t%.2f\t%.1f ms\n", x.Name, x.Processes, x.Calls, 100*x.UseRatio, x.Refused, x.Overspent,
			x.FairnessError, x.ConvergenceSeconds, x.RoundTripsPerCall, x.RoundTripsPerProcess, 1000*x.SpreadSeconds)
	}
	return t.Flush()
}
