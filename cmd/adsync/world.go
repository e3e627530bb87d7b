package main

import (
	"github.com/spf13/pflag"

	"adsync/cmd/adsync/internal/usage"
)

// worldFlags are the flags of the commands that simulate platforms.
func worldFlags(flags *pflag.FlagSet, accounts *int, seed *int64, speed *float64, usd *int) {
	flags.IntVar(accounts, "accounts", 200, "simulated accounts, all platforms together")
	flags.Int64Var(seed, "seed", 1, "which world is simulated: the same seed gives the same one")
	flags.IntVar(usd, "usd", 10, "one account in so many is in USD and keeps its days in Los Angeles; 0 is none, and a kept world has its own share")
	flags.Float64Var(speed, "speed", 0, "seconds that the world's clock goes in a real second; without it 1, or what a kept world has")
}

// checkWorld refuses a world that cannot be simulated.
func checkWorld(flags *pflag.FlagSet, accounts int, speed float64, usd int) error {
	if accounts < 2 || accounts > 1_000_000 {
		return usage.Errorf("--accounts is %d: want 2 to 1000000, shared by the platforms", accounts)
	}
	if usd < 0 {
		return usage.Errorf("--usd is %d: want 0 for none, or how many accounts one of which is in USD", usd)
	}
	if flags.Changed("speed") && speed <= 0 {
		return usage.Errorf("--speed is %g: want more than 0", speed)
	}
	return nil
}
