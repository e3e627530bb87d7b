package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"adsync/base/ratelimit"
	"adsync/cmd/adsync/internal/show"
	"adsync/cmd/adsync/internal/table"
	"adsync/cmd/adsync/internal/usage"
	"adsync/quota"
)

func newQuota() *cobra.Command {
	cmd := usage.Group(&cobra.Command{
		Use:   "quota",
		Short: "Shows how well call limits are used and kept",
		Long: `Plays scenarios of processes that need more calls than platforms allow: of one, three and twelve processes, of
a process that dies or joins, of a Redis that is away or loses its data, of lanes, and of an account with very
many calls. docs/quota.md has the figures to expect. "adsync limits" shows the limits of a deployment.`,
		Example: "  adsync quota simulate\n  adsync quota drill --parallel 3",
	})
	cmd.AddCommand(newQuotaSimulate(), newQuotaDrill(), newQuotaCaller())
	return cmd
}

// quotaFlags are the flags of both ways to play scenarios.
type quotaFlags struct {
	seconds int
	spread  time.Duration
	output  string
}

func (f *quotaFlags) add(cmd *cobra.Command, seconds int) {
	flags := cmd.Flags()
	flags.IntVar(&f.seconds, "seconds", seconds,
		"how many seconds a scenario is measured, 20 or more; it warms up for 10 s before")
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

func (f *quotaFlags) print(w io.Writer, all []quota.Figures) error {
	if f.output == "json" {
		return table.PrintJSON(w, map[string]any{"scenarios": all})
	}
	return show.QuotaFigures(w, all)
}
