package main

import (
	"github.com/spf13/cobra"

	"adsync/quota"
)

func newQuotaSimulate() *cobra.Command {
	var f quotaFlags
	var seed uint64
	cmd := &cobra.Command{
		Use:   "simulate [word…]",
		Short: "Plays the scenarios in virtual time",
		Long: `Plays the scenarios whose names contain one of the words, or all, in virtual time: with the code that shares
limits in a deployment, and a simulated Redis, network and platform. The same seed gives the same figures.`,
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
