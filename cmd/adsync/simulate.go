package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"adsync/base/service"
	"adsync/base/telemetry"
	"adsync/cmd/adsync/internal/settings"
	"adsync/cmd/adsync/internal/usage"
	"adsync/simulator"
)

func newSimulate(a *settings.Source) *cobra.Command {
	var world simulator.Config
	var listen string
	var platformAddrs map[string]string
	var names []string
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Runs only the simulated media platforms",
		Long: `Serves simulated media platforms in their own wire formats, each under its own path, and by the Host header of
the real services: ` + simulatedPaths() + `.
Accounts, ads and figures depend only on the flags, the seed and the clock. --listen-platform serves a platform
without its path, for clients whose path cannot be changed.

The control API under /_sim/ returns credentials, the true figures and the ledger of calls, sets limits and the
clock, and orders faults. docs/simulator.md describes it.

Everybody who reaches the address can control the world: keep it on this machine or in a closed network.`,
		Example: `  adsync simulate --accounts 400 --seed 7
  adsync simulate --listen 127.0.0.1:9191 --accounts 40000 --data /tmp/world --speed 60
  adsync simulate --listen-platform {media}=127.0.0.1:9091
  curl -s http://127.0.0.1:9090/_sim/credentials
  curl -sG http://127.0.0.1:9090/_sim/truth -d media={media} -d kind=report_daily -d level=account \
    -d from=2026-11-01 -d to=2026-11-02`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkSimulated(cmd.Flags(), &world, listen, names, platformAddrs); err != nil {
				return err
			}
			cfg, _, err := a.Load(cmd, "simulate")
			if err != nil {
				return err
			}
			logger, _, err := telemetry.NewLogger(cfg.Log, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			world.Logger = logger
			sim, err := simulator.New(world)
			if err != nil {
				return err
			}
			m := service.NewManager(logger)
			m.Add("simulator", &simulatorServer{listen: listen, platformAddrs: platformAddrs, sim: sim, logger: logger,
				failed: make(chan error, 1)})
			return m.Run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:9090", "address to serve on, as host:port")
	flags.StringToStringVar(&platformAddrs, "listen-platform", nil,
		"a platform and an address that serves only it, without its path, as {media}=127.0.0.1:9091; may be repeated")
	worldFlags(flags, &world, &names)
	flags.IntVar(&world.Giant, "giant", 0,
		"creatives that the first account of each platform runs; 0 for an ordinary account")
	flags.IntVar(&world.Ads, "ads", 0,
		"ads that each account runs, about, up to 187; 0 for empty, small and large accounts; a kept world has its own "+
			"number")
	flags.IntVar(&world.Active, "active", 0,
		"how many of 100 accounts have running ads, up to 65; 0 for 65; a kept world has its own share")
	flags.IntVar(&world.AppAccounts, "app-accounts", simulator.AppAccountsDefault,
		"how many accounts of a platform share an app and its limits, a multiple of 100; a kept world has its own number")
	flags.BoolVar(&world.Traps, "traps", false,
		"simulate the traps of real platforms: pages that move, empty mornings, odd answers; GET /_sim/traps counts them")
	flags.StringVar(&world.DataDir, "data", "",
		"directory where tokens, ledger, clock and orders survive a restart; without it they are in memory")
	return cmd
}

const (
	simulatorHeaderTimeout = 5 * time.Second
	simulatorIdleTimeout   = 2 * time.Minute
	simulatorStopTimeout   = 2 * time.Second
)

// simulatedPaths returns the simulated platforms with their paths, in words.
func simulatedPaths() string {
	paths := simulator.Platforms()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		all = append(all, name+" under /"+name+paths[name]+"/")
	}
	return strings.Join(all, ", ")
}

// checkSimulated returns an error if the flags cannot be followed, and chooses the world's platforms.
func checkSimulated(flags *pflag.FlagSet, world *simulator.Config, listen string, names []string,
	platformAddrs map[string]string) error {
	if err := checkWorld(flags, world, names); err != nil {
		return err
	}
	if world.AppAccounts < 100 || world.AppAccounts%100 != 0 {
		return usage.Errorf("--app-accounts is %d: want a multiple of 100", world.AppAccounts)
	}
	if _, _, err := net.SplitHostPort(listen); err != nil {
		return usage.Errorf("--listen is %q: want host:port", listen)
	}
	if err := checkPlatformAddrs(platformAddrs); err != nil {
		return err
	}
	for name := range platformAddrs {
		if len(names) > 0 && !slices.Contains(names, name) {
			return usage.Errorf("--listen-platform names %s, which --media leaves out", name)
		}
	}
	return nil
}

// checkPlatformAddrs returns an error for an unknown platform or a wrong address.
func checkPlatformAddrs(platformAddrs map[string]string) error {
	paths := simulator.Platforms()
	for name, address := range platformAddrs {
		if _, known := paths[name]; !known {
			return usage.Errorf("--listen-platform: there is no platform %q: want one of %s", name,
				strings.Join(slices.Sorted(maps.Keys(paths)), ", "))
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			return usage.Errorf("--listen-platform %s=%s: want host:port", name, address)
		}
	}
	return nil
}

// simulatorServer serves the simulated platforms: all on one address, and those of --listen-platform on their own
// addresses.
type simulatorServer struct {
	listen        string
	platformAddrs map[string]string // addresses, by the platforms' names
	sim           *simulator.Simulator
	logger        *slog.Logger

	servers  []*http.Server
	served   sync.WaitGroup
	failed   chan error
	stopOnce sync.Once
}

var (
	_ service.Service = (*simulatorServer)(nil)
	_ service.Failing = (*simulatorServer)(nil)
)

// Start listens and serves until Stop.
func (s *simulatorServer) Start(ctx context.Context) error {
	address, err := s.serve(ctx, s.listen, s.sim.Handler())
	if err != nil {
		return errors.Join(err, s.sim.Close())
	}
	s.logger.Info("simulated platforms are served", "addr", address, "credentials", "http://"+address+"/_sim/credentials")
	for _, name := range slices.Sorted(maps.Keys(s.platformAddrs)) {
		if address, err = s.serve(ctx, s.platformAddrs[name], s.sim.Platform(name)); err != nil {
			s.Stop() //nolint:contextcheck // Stop has its own timeout.
			return err
		}
		s.logger.Info("a simulated platform is served on its own address", "media", name, "addr", address, "base_url",
			"http://"+address+simulator.Platforms()[name])
	}
	return nil
}

// serve listens on an address and returns it with its port.
func (s *simulatorServer) serve(ctx context.Context, listen string, handler http.Handler) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return "", err
	}
	server := &http.Server{
		Handler: handler,
		// Writing has no time limit: an ordered fault may delay an answer.
		ReadHeaderTimeout: simulatorHeaderTimeout,
		IdleTimeout:       simulatorIdleTimeout,
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	s.servers = append(s.servers, server)
	s.served.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			select {
			case s.failed <- fmt.Errorf("serve: %w", err):
			default: // The channel has another failure already.
			}
		}
	})
	return listener.Addr().String(), nil
}

// Stop ends the running calls and saves the world.
func (s *simulatorServer) Stop() {
	s.stopOnce.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), simulatorStopTimeout)
		defer cancel()
		for _, server := range s.servers {
			// Calls that hang because of an ordered fault do not end.
			if err := server.Shutdown(ctx); err != nil {
				_ = server.Close()
			}
		}
		s.served.Wait()
		if err := s.sim.Close(); err != nil {
			s.logger.Error("the simulated world was not saved", "err", err)
		}
	})
}

// Failed returns a channel with the error of a server that can no longer accept connections.
func (s *simulatorServer) Failed() <-chan error { return s.failed }

// worldFlagNames are the flags of worldFlags.
var worldFlagNames = []string{"accounts", "seed", "usd", "speed", "media"}

// worldFlags adds the flags of the commands that simulate platforms. The platforms' names are names.
func worldFlags(flags *pflag.FlagSet, world *simulator.Config, names *[]string) {
	flags.IntVar(&world.Accounts, "accounts", 200, "simulated accounts, all platforms together")
	flags.Int64Var(&world.Seed, "seed", 1, "the seed of the world: the same seed gives the same world")
	flags.IntVar(&world.USD, "usd", 10,
		"one account in so many is in USD, with days of Los Angeles, and as many in JPY and KWD where a platform has them; "+
			"0 for none; a kept world has its own share")
	flags.Float64Var(&world.Speed, "speed", 0,
		"seconds of the world's clock in a real second; without it 1, or the speed of a kept world")
	flags.StringSliceVar(names, "media", nil,
		"the platforms to simulate, such as {media}; all without it, or those of a kept world")
}

// checkWorld returns an error if the world cannot be simulated, and chooses its platforms.
func checkWorld(flags *pflag.FlagSet, world *simulator.Config, names []string) error {
	if world.Accounts < 2 || world.Accounts > 1_000_000 {
		return usage.Errorf("--accounts is %d: want 2 to 1000000, shared by the platforms", world.Accounts)
	}
	if world.USD < 0 {
		return usage.Errorf("--usd is %d: want 0 for none, or how many accounts one of which is in USD", world.USD)
	}
	if flags.Changed("speed") && world.Speed <= 0 {
		return usage.Errorf("--speed is %g: want more than 0", world.Speed)
	}
	if !flags.Changed("media") {
		return nil
	}
	var err error
	if world.Platforms, err = simulator.Named(names); err != nil {
		return usage.Errorf("--media: %v", err)
	}
	if len(world.Platforms) == 0 {
		return usage.Errorf("--media is empty: want platforms, such as %s", simulator.First().Spec().Name)
	}
	return nil
}
