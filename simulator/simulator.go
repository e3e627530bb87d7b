package simulator

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Config says which world to simulate.
type Config struct {
	Accounts int       // of all platforms together, 1 to 1,000,000
	Seed     int64     // the same seed, number of accounts and clock give the same world
	Speed    float64   // seconds of the world in a real second; 0 keeps that of DataDir's world, or is 1
	DataDir  string    // where the state survives a restart; "" keeps it in memory only
	Start    time.Time // the clock of a new world, from 2025 up to 2035; zero is now. A kept world has its own clock
	// Giant makes the first account of each platform one of about so many creatives at a time, up to 96,000; 0 makes it an ordinary one.
	Giant int
	// USD puts one account in so many into USD and America/Los_Angeles, of each platform; 0 puts none, and a kept world has its own share.
	USD int
	// Active is how many of 100 accounts have ads that run, 1 to 65; 0 is 65. A kept world has its own share.
	Active int
	// AppAccounts is how many accounts of a platform share an app, and its limits: a multiple of 100. 0 is AppAccountsDefault. A kept world has its own number.
	AppAccounts int

	Frozen bool         // stops the clock at once; false leaves a kept clock as it was
	Traps  bool         // the world springs the traps of real platforms; GET /_sim/traps counts them
	Logger *slog.Logger // nil is silent
}

// Simulator is a world of accounts behind the platforms' own APIs. It is safe for concurrent use.
type Simulator struct {
	sim       *simulation
	platforms []platform
	ledger    *ledger
	faults    *faults
	traps     *traps
	control   http.Handler
	sites     *http.CrossOriginProtection
	disk      *disk // nil when nothing is kept

	closing   chan struct{}
	closeOnce sync.Once
	closeErr  error
	flushed   sync.WaitGroup
}

var _ http.Handler = (*Simulator)(nil)

// New opens the world kept in cfg.DataDir, or makes a new one there. It refuses a directory that keeps a world of
// another seed or size.
func New(cfg Config) (*Simulator, error) {
	if err := checkConfig(&cfg); err != nil {
		return nil, err
	}
	s := &Simulator{
		sim:       &simulation{logger: cfg.Logger, limits: newLimits()},
		platforms: platforms(), ledger: newLedger(cfg.DataDir != ""), closing: make(chan struct{}),
	}
	s.sim.switches = newSwitches(cfg.Traps, func() bool { return s.sim.clock.Frozen() })
	s.traps, s.faults = newTraps(cfg.Seed, s.sim.switches), newFaults(s.closing)
	s.sim.traps, s.sim.faults = s.traps, s.faults
	s.sim.world = &world{
		seed: cfg.Seed, accounts: cfg.Accounts, giant: cfg.Giant, usd: cfg.USD, active: cfg.Active, appAccounts: cfg.AppAccounts,
		lives: newLives(), edits: newAdEdits(), corrections: newCorrections(), traps: s.sim.switches,
	}
	for _, p := range s.platforms {
		s.sim.world.specs = append(s.sim.world.specs, p.spec())
		s.sim.limits.change(p.spec().limits, nil)
		s.sim.limits.tolerant[p.spec().name] = p.spec().tolerantPenalty
	}
	start := cfg.Start
	if start.IsZero() {
		start = time.Now()
	}
	s.sim.clock = newWorldClock(start, 1, cfg.Frozen)
	s.sim.limits.pace = func() float64 { return s.sim.clock.pace() }
	s.sim.vault = newVault(s.sim.world, start.Unix())
	s.control, s.sites = newControl(s.sim, s.ledger, s.faults, s.traps, s.save), http.NewCrossOriginProtection()
	if cfg.DataDir != "" {
		if err := s.open(cfg); err != nil {
			return nil, fmt.Errorf("open world in %s: %w", cfg.DataDir, err)
		}
	}
	s.sim.clock.onSet = s.save
	s.sim.vault.save = s.save
	if err := s.startClock(cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.disk != nil {
		s.flushed.Go(s.flushRegularly)
	}
	return s, nil
}

func checkConfig(cfg *Config) error {
	if cfg.Accounts < 1 || cfg.Accounts > accountsMax {
		return fmt.Errorf("a world has 1 to %d accounts, not %d", accountsMax, cfg.Accounts)
	}
	if cfg.Giant < 0 || cfg.Giant > giantMax {
		return fmt.Errorf("a giant has up to %d creatives, not %d", giantMax, cfg.Giant)
	}
	if cfg.USD < 0 {
		return fmt.Errorf("one account in so many is in USD, or none: it cannot be %d", cfg.USD)
	}
	if cfg.Active < 0 || cfg.Active > activeMax {
		return fmt.Errorf("of 100 accounts up to %d have ads that run, not %d", activeMax, cfg.Active)
	}
	if cfg.AppAccounts < 0 || cfg.AppAccounts%accountsPerLogin != 0 {
		return fmt.Errorf("an app is shared by a multiple of %d accounts, not by %d", accountsPerLogin, cfg.AppAccounts)
	}
	if cfg.Speed != 0 {
		if err := checkSpeed(cfg.Speed); err != nil {
			return err
		}
	}
	if !cfg.Start.IsZero() {
		if err := checkMoment(cfg.Start); err != nil {
			return err
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

func (s *Simulator) startClock(cfg Config) error {
	if cfg.Frozen && !s.sim.clock.Frozen() {
		if err := s.sim.clock.Freeze(); err != nil {
			return err
		}
	}
	if cfg.Speed != 0 {
		return s.sim.clock.SetSpeed(cfg.Speed)
	}
	return nil
}

// Handler serves everything: the platforms under their prefixes and by their real hosts, and the control API under
// /_sim/.
func (s *Simulator) Handler() http.Handler { return s }

// Clock is the world's, to read, freeze and set.
func (s *Simulator) Clock() *WorldClock { return s.sim.clock }

// Close saves the state and releases calls that hang. Calls after it are still answered, but what they change may be
// lost. It may be called twice.
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

// flushEvery is how much of the ledger a crash can lose.
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
			s.sim.logger.Error("cannot keep the simulator's ledger", "err", err)
		}
		// The place of a faster clock is not known from the real time that passed: it resumes where it was saved.
		if !s.sim.clock.Frozen() && s.sim.clock.Speed() != 1 {
			if err := s.save(); err != nil {
				s.sim.logger.Error("cannot keep the simulator's clock", "err", err)
			}
		}
	}
}
