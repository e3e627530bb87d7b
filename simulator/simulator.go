package simulator

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"adsync/simulator/control"
	"adsync/simulator/fault"
	"adsync/simulator/fault/trap"
	"adsync/simulator/ledger"
	"adsync/simulator/limit"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// AppAccountsDefault is how many accounts of a platform share an app.
const AppAccountsDefault = world.AppAccountsDefault

// Config describes the world to simulate.
type Config struct {
	Accounts int       // of all platforms together, 1 to 1,000,000
	Seed     int64     // the same seed, number of accounts and clock give the same world
	Speed    float64   // seconds of the world in a real second; 0 keeps that of DataDir's world, or is 1
	DataDir  string    // where the state survives a restart; "" keeps it in memory only
	Start    time.Time // the clock of a new world, from 2025 up to 2035; zero is now. A kept world has its own clock
	// Giant is about how many creatives the first account of each platform runs at a time, up to 96,000; 0 makes it an
	// ordinary account.
	Giant int
	// Ads is about how many ads each account runs at a time, up to 187; 0 makes empty, small and large accounts. A kept
	// world has its own number.
	Ads int
	// USD makes one account in so many of each platform use USD and America/Los_Angeles; 0 is none. From 4 on, as many
	// accounts are in JPY, and in KWD, where a platform has such accounts. A kept world has its own share.
	USD int
	// Active is how many of 100 accounts run ads, 1 to 65; 0 is 65. A kept world has its own share.
	Active int
	// AppAccounts is how many accounts of a platform share an app and its limits: a multiple of 100; 0 is
	// AppAccountsDefault. A kept world has its own number.
	AppAccounts int

	// Platforms are the platforms to simulate, in the order of the list; nil is all of the list, or those of a kept world.
	Platforms []platform.Platform

	Frozen bool         // stops the clock at once; false leaves a kept clock as it was
	Traps  bool         // the world has the traps of real platforms; GET /_sim/traps counts them
	Logger *slog.Logger // nil is silent
}

// Simulator is a world of accounts behind the platforms' own APIs. It is safe for concurrent use.
type Simulator struct {
	sim       *platform.Simulation
	platforms []platform.Platform
	ledger    *ledger.Ledger
	faults    *fault.Faults
	traps     *fault.Traps
	control   http.Handler
	sites     *http.CrossOriginProtection
	disk      *disk // nil when nothing is kept

	closing   chan struct{}
	closeOnce sync.Once
	closeErr  error
	flushed   sync.WaitGroup
}

var _ http.Handler = (*Simulator)(nil)

// New opens the world in cfg.DataDir, or creates a new one there. It refuses a directory with a world of another seed
// or size.
func New(cfg Config) (*Simulator, error) {
	if err := checkConfig(&cfg); err != nil {
		return nil, err
	}
	if err := cfg.choosePlatforms(); err != nil {
		return nil, fmt.Errorf("open world in %s: %w", cfg.DataDir, err)
	}
	s := &Simulator{
		sim: &platform.Simulation{Logger: cfg.Logger, Limits: limit.New(),
			Tasks: map[string]*platform.Tasks{}},
		platforms: cfg.Platforms, ledger: ledger.New(cfg.DataDir != ""), closing: make(chan struct{}),
	}
	s.sim.Switches = trap.NewSwitches(cfg.Traps, func() bool { return s.sim.Clock.Frozen() })
	s.traps, s.faults = fault.NewTraps(cfg.Seed, s.sim.Switches), fault.NewFaults(s.closing)
	s.sim.Traps, s.sim.Faults = s.traps, s.faults
	s.sim.World = &world.World{
		Seed: cfg.Seed, Accounts: cfg.Accounts, Giant: cfg.Giant, Ads: cfg.Ads, Usd: cfg.USD, Currencies: true,
		Active: cfg.Active, AppAccounts: cfg.AppAccounts,
		Lives: world.NewLives(), Edits: world.NewAdEdits(), Corrections: world.NewCorrections(), Traps: s.sim.Switches,
	}
	for _, p := range s.platforms {
		s.sim.World.Specs = append(s.sim.World.Specs, p.Spec())
		s.sim.Assumed.Add(p.Spec())
		if x, ok := p.(platform.Asynchronous); ok {
			s.sim.Tasks[p.Spec().Name] = x.Tasks()
		}
		s.sim.Limits.Change(p.Spec().Limits, nil)
		s.sim.Limits.Tolerant[p.Spec().Name] = p.Spec().TolerantPenalty
	}
	start := cfg.Start
	if start.IsZero() {
		start = time.Now()
	}
	s.sim.Clock = world.NewClock(start, 1, cfg.Frozen)
	s.sim.Limits.Pace = func() float64 { return s.sim.Clock.Pace() }
	s.sim.Vault = world.NewVault(s.sim.World, start.Unix())
	s.control, s.sites = control.New(s.sim, s.ledger, s.faults, s.traps, s.save), http.NewCrossOriginProtection()
	if cfg.DataDir != "" {
		if err := s.open(cfg); err != nil {
			return nil, fmt.Errorf("open world in %s: %w", cfg.DataDir, err)
		}
	}
	s.sim.Clock.OnSet = s.save
	s.sim.Vault.Save = s.save
	if err := s.startClock(cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.disk != nil {
		s.flushed.Go(s.flushRegularly)
	}
	return s, nil
}

func checkConfig(cfg *Config) error {
	if cfg.Accounts < 1 || cfg.Accounts > world.AccountsMax {
		return fmt.Errorf("a world has 1 to %d accounts, not %d", world.AccountsMax, cfg.Accounts)
	}
	if cfg.Giant < 0 || cfg.Giant > world.GiantMax {
		return fmt.Errorf("a giant has up to %d creatives, not %d", world.GiantMax, cfg.Giant)
	}
	if cfg.Ads < 0 || cfg.Ads > world.AdsMax {
		return fmt.Errorf("an account runs up to %d ads, not %d", world.AdsMax, cfg.Ads)
	}
	if cfg.USD < 0 {
		return fmt.Errorf("one account in so many is in USD, or none for 0: it cannot be %d", cfg.USD)
	}
	if cfg.Active < 0 || cfg.Active > world.ActiveMax {
		return fmt.Errorf("up to %d of 100 accounts run ads, not %d", world.ActiveMax, cfg.Active)
	}
	if cfg.AppAccounts < 0 || cfg.AppAccounts%world.AccountsPerLogin != 0 {
		return fmt.Errorf("the accounts of an app must be a multiple of %d, not %d", world.AccountsPerLogin, cfg.AppAccounts)
	}
	if cfg.Speed != 0 {
		if err := world.CheckSpeed(cfg.Speed); err != nil {
			return err
		}
	}
	if !cfg.Start.IsZero() {
		if err := world.CheckMoment(cfg.Start); err != nil {
			return err
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// choosePlatforms completes the platforms. A kept world has those that it began with: accounts are assigned to them in
// turn.
func (cfg *Config) choosePlatforms() error {
	kept, err := keptPlatforms(cfg.DataDir)
	switch {
	case err != nil:
		return err
	case kept == nil && cfg.Platforms == nil:
		cfg.Platforms = platforms()
	case cfg.Platforms == nil:
		cfg.Platforms, err = Named(kept)
	case kept != nil && !slices.Equal(kept, namesOf(cfg.Platforms)):
		return fmt.Errorf("it keeps a world of the platforms %v, not of %v: use those platforms, or another directory", kept,
			namesOf(cfg.Platforms))
	}
	return err
}

func (s *Simulator) startClock(cfg Config) error {
	if cfg.Frozen && !s.sim.Clock.Frozen() {
		if err := s.sim.Clock.Freeze(); err != nil {
			return err
		}
	}
	if cfg.Speed != 0 {
		return s.sim.Clock.SetSpeed(cfg.Speed)
	}
	return nil
}

// Handler serves the platforms, under their prefixes and their real hosts, and the control API under /_sim/.
func (s *Simulator) Handler() http.Handler { return s }

// Clock returns the world's clock, to read, freeze and set.
func (s *Simulator) Clock() *world.Clock { return s.sim.Clock }

// Close saves the state and releases calls that hang. Later calls are still answered, but their changes may be lost.
// It may be called twice.
func (s *Simulator) Close() error {
	s.closeOnce.Do(func() {
		close(s.closing)
		s.flushed.Wait()
		if s.disk != nil {
			s.closeErr = errors.Join(s.save(), s.flushLedger(), s.disk.close())
		}
	})
	return s.closeErr
}

// flushEvery is the time between flushes of the ledger, and so what a crash can lose.
const flushEvery = 2 * time.Second

func (s *Simulator) flushRegularly() {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.closing:
			return
		case <-ticker.C:
		}
		if err := s.flushLedger(); err != nil {
			s.sim.Logger.Error("cannot keep the simulator's ledger", "err", err)
		}
		// A faster clock cannot be restored from the elapsed real time: it continues from where it was saved.
		if !s.sim.Clock.Frozen() && s.sim.Clock.Speed() != 1 {
			if err := s.save(); err != nil {
				s.sim.Logger.Error("cannot keep the simulator's clock", "err", err)
			}
		}
	}
}
