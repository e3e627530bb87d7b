package main

import (
	"os"
	"os/exec"
	"sync"

	"github.com/spf13/cobra"

	"adsync/cmd/adsync/internal/usage"
	"adsync/quota"
)

func newQuotaDrill() *cobra.Command {
	var f quotaFlags
	var server, limiter string
	var parallel int
	cmd := &cobra.Command{
		Use:   "drill [word…]",
		Short: "Plays the scenarios with processes on a real Redis",
		Long: `Plays the scenarios whose names contain one of the words, or all that real processes can play, with processes
of this program that share a Redis and call a simulated platform. Each scenario starts and ends its own Redis.
The figures are the platform's.

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
				return usage.Errorf("--redis-server: %v; install Redis, or name its path", err)
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			d := quota.Drill{Self: self, SelfArgs: []string{"quota", "caller"}, RedisServer: server, Spread: f.spread,
				Limiter: limiter, Log: cmd.ErrOrStderr()}
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
	cmd.Flags().StringVar(&limiter, "limiter", quota.LimiterOurs,
		"the limiter of the processes: ours, or for a comparison ulule or gcra")
	cmd.Flags().IntVar(&parallel, "parallel", 1, "how many scenarios are played at a time")
	return cmd
}
