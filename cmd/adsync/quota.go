package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
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

func newQuotaSimulate() *cobra.Command {
	var f quotaFlags
	var seed uint64
	cmd := &cobra.Command{
		Use:   "simulate [word…]",
		Short: "Plays the scenarios in virtual time",
		Long: `Plays the scenarios whose names have one of the words in them, or all, in virtual time: with the code that shares limits for real, but
a made-up Redis, network and platform. The same seed gives the same figures.`,
		Example: "  adsync quota simulate\n  adsync quota simulate --seconds 600 --output json steady",
		RunE: func(cmd *cobra.Command, words []string) error {
			scenarios, err := f.scenarios(words)
			if err != nil {
				return err
			}
			var all []quota.Figures
			for _, s := range scenarios {
				all = append(all, quota.Simulate(s, seed, f.spread))
			}
			return f.print(cmd.OutOrStdout(), all)
		},
	}
	f.add(cmd, 60)
	cmd.Flags().Uint64Var(&seed, "seed", 1, "the same gives the same figures")
	return cmd
}

func newQuotaDrill() *cobra.Command {
	var f quotaFlags
	var server, limiter string
	var parallel int
	cmd := &cobra.Command{
		Use:   "drill [word…]",
		Short: "Plays the scenarios with processes on a real Redis",
		Long: `Plays the scenarios whose names have one of the words in them, or all that real processes can play, with processes of this
program that share a Redis, which is started for each scenario and ended after it, and call a simulated platform. The figures are the platform's.

It needs the program redis-server.`,
		Example: "  adsync quota drill\n  adsync quota drill --seconds 600 --parallel 3 --output json steady",
		RunE: func(cmd *cobra.Command, words []string) error {
			scenarios, err := f.scenarios(words)
			if err != nil {
				return err
			}
			if err := usage.OneOf("limiter", limiter, quota.LimiterOurs, quota.LimiterPlain, quota.LimiterGCRA); err != nil {
				return err
			}
			if parallel < 1 {
				return usage.Errorf("--parallel is %d: want 1 or more", parallel)
			}
			if server, err = exec.LookPath(server); err != nil {
				return usage.Errorf("--redis-server: %v; install Redis, or say where it is", err)
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			d := quota.Drill{Self: self, SelfArgs: []string{"quota", callerName}, RedisServer: server, Spread: f.spread, Limiter: limiter, Log: cmd.ErrOrStderr()}
			all := make([]quota.Figures, len(scenarios))
			errs := make([]error, len(scenarios))
			places := make(chan struct{}, parallel)
			var playing sync.WaitGroup
			for i, s := range scenarios {
				if s.Virtual {
					continue
				}
				places <- struct{}{}
				playing.Go(func() {
					defer func() { <-places }()
					all[i], errs[i] = d.Play(cmd.Context(), s)
				})
			}
			playing.Wait()
			var played []quota.Figures
			for i, s := range scenarios {
				if errs[i] != nil {
					return errs[i]
				}
				if !s.Virtual {
					played = append(played, all[i])
				}
			}
			return f.print(cmd.OutOrStdout(), played)
		},
	}
	f.add(cmd, 60)
	cmd.Flags().StringVar(&server, "redis-server", "redis-server", "the program of Redis")
	cmd.Flags().StringVar(&limiter, "limiter", quota.LimiterOurs, "what processes wait for: ours, or to compare ulule or gcra")
	cmd.Flags().IntVar(&parallel, "parallel", 1, "how many scenarios are played at a time")
	return cmd
}

const callerName = "caller"

// newQuotaCaller is a process of a drill.
func newQuotaCaller() *cobra.Command {
	return &cobra.Command{
		Use: callerName, Hidden: true, Args: usage.NoArgs, Short: "Is one process of a drill", Example: "  adsync quota caller < order.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return quota.Call(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
}
