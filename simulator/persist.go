package simulator

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"adsync/simulator/fault"
	"adsync/simulator/limit"
	"adsync/simulator/world"
)

// Files of a data directory.
const (
	stateFile  = "state.json"    // all state that orders and refreshes change; replaced as a whole
	ledgerFile = "ledger.ndjson" // counts of calls, appended; rewritten when opened

	stateVersion = 1
)

// state is the state that survives a restart, apart from the ledger.
type state struct {
	Version     int              `json:"version"`
	Seed        int64            `json:"seed"`
	Accounts    int              `json:"accounts"`
	Platforms   []string         `json:"platforms"`
	Giant       int              `json:"giant,omitempty"`
	USD         int              `json:"usd,omitempty"`
	Currencies  bool             `json:"currencies,omitempty"` // worlds of earlier programs have CNY and USD only
	Active      int              `json:"active,omitempty"`
	Ads         int              `json:"ads,omitempty"`
	AppAccounts int              `json:"app_accounts,omitempty"`
	Clock       world.ClockState `json:"clock"`
	Tokens      []world.Tokens   `json:"tokens"`
	Survives    map[string]bool  `json:"old_access_survives"`
	Limits      limit.Settings   `json:"limits"`

	Assumed map[string]map[string]int64 `json:"assumed,omitempty"`

	Corrections []world.Correction `json:"corrections"`
	Lives       []world.Life       `json:"lives,omitempty"`
	Edits       []world.AdEdit     `json:"edits,omitempty"`
	Faults      []fault.Fault      `json:"faults"`
	LastFault   int                `json:"last_fault"`
}

// disk is an open data directory.
type disk struct {
	dir string

	mu         sync.Mutex // serialises saves, so that the last one has the latest state
	ledger     *os.File
	ledgerSize int64
	ledgerMax  int64 // above this size the ledger is rewritten
}

// firstPlatforms are those of worlds that do not name theirs: they began before there were others.
var firstPlatforms = []string{"tencent", "oceanengine"}

// keptPlatforms returns the names of the platforms of a directory's world, or nil if it has none.
func keptPlatforms(dir string) ([]string, error) {
	if dir == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var kept state
	if err := json.Unmarshal(raw, &kept); err != nil {
		return nil, fmt.Errorf("read %s: %w", stateFile, err)
	}
	if kept.Platforms == nil {
		return slices.Clone(firstPlatforms), nil
	}
	return kept.Platforms, nil
}

// open reads the world in a directory, or creates a new one there.
func (s *Simulator) open(cfg Config) error {
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return err
	}
	d := &disk{dir: cfg.DataDir}
	raw, err := os.ReadFile(d.path(stateFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		var kept state
		if err := json.Unmarshal(raw, &kept); err != nil {
			return fmt.Errorf("read %s: %w", stateFile, err)
		}
		if err := s.restore(kept); err != nil {
			return err
		}
	}
	if err := s.readLedger(d); err != nil {
		return err
	}
	s.disk = d
	return s.save()
}

func (s *Simulator) restore(kept state) error {
	if kept.Version != stateVersion {
		return fmt.Errorf("it was written by another version of the simulator (format %d, not %d): use another directory",
			kept.Version, stateVersion)
	}
	if kept.Giant != s.sim.World.Giant {
		return fmt.Errorf("it keeps a world with a giant of %d creatives, not of %d: use that number, or another directory",
			kept.Giant, s.sim.World.Giant)
	}
	if kept.Seed != s.sim.World.Seed || kept.Accounts != s.sim.World.Accounts {
		return fmt.Errorf(
			"it keeps a world of seed %d with %d accounts, not of seed %d with %d: use that seed and number, or another "+
				"directory",
			kept.Seed, kept.Accounts, s.sim.World.Seed, s.sim.World.Accounts)
	}
	s.sim.World.Usd, s.sim.World.Currencies = kept.USD, kept.Currencies
	s.sim.World.Active, s.sim.World.Ads, s.sim.World.AppAccounts = kept.Active, kept.Ads, kept.AppAccounts
	s.sim.Clock = world.RestoreClock(kept.Clock)
	s.sim.Vault.Restore(kept.Tokens)
	for media, on := range kept.Survives {
		s.sim.Vault.SetOldAccessSurvives(media, on)
	}
	if err := s.sim.Assumed.Check(kept.Assumed); err != nil {
		return err
	}
	s.sim.Assumed.Set(kept.Assumed)
	s.sim.Limits.Change(kept.Limits.Rules, &kept.Limits.Penalties)
	for _, x := range kept.Corrections {
		if err := s.sim.World.Correct(x); err != nil {
			return fmt.Errorf("restore correction of account %s: %w", x.Account, err)
		}
	}
	for _, x := range kept.Lives {
		if _, err := s.sim.World.Live(x); err != nil {
			return fmt.Errorf("restore the orders of account %s: %w", x.Account, err)
		}
	}
	for _, x := range kept.Edits {
		if err := s.sim.World.Edit(x); err != nil {
			return fmt.Errorf("restore an edit of account %s: %w", x.Account, err)
		}
	}
	s.faults.Restore(kept.Faults, kept.LastFault)
	s.faults.Recompile(s.sim.World)
	return nil
}

// save writes the whole state. It is durable when save returns.
func (s *Simulator) save() error {
	if s.disk == nil {
		return nil
	}
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	now := state{
		Version: stateVersion, Seed: s.sim.World.Seed, Accounts: s.sim.World.Accounts, Platforms: namesOf(s.platforms),
		Giant: s.sim.World.Giant, USD: s.sim.World.Usd, Currencies: s.sim.World.Currencies,
		Active: s.sim.World.Active, Ads: s.sim.World.Ads, AppAccounts: s.sim.World.AppAccounts, Clock: s.sim.Clock.State(),
		Tokens:   s.sim.Vault.All(),
		Survives: map[string]bool{}, Limits: s.sim.Limits.Settings(), Assumed: s.sim.Assumed.All(),
		Corrections: s.sim.World.Corrections.All(), Lives: s.sim.World.Lives.All(), Edits: s.sim.World.Edits.All(),
		Faults: s.faults.All(), LastFault: s.faults.LastID(),
	}
	for _, p := range s.sim.World.Specs {
		now.Survives[p.Name] = s.sim.Vault.OldAccessSurvives(p.Name)
	}
	raw, err := json.Marshal(now)
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	if err := replaceFile(s.disk.path(stateFile), raw); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	return nil
}

func (d *disk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *disk) close() error {
	if d.ledger == nil {
		return nil
	}
	return d.ledger.Close()
}

// replaceFile replaces a file's content so that a crash leaves either the old or the new content.
func replaceFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	// The rename is durable only after the directory is synced.
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// readLedger adds up a kept ledger and rewrites it. A last line that a crash cut off is dropped.
func (s *Simulator) readLedger(d *disk) error {
	path := d.path(ledgerFile)
	if f, err := os.Open(path); err == nil {
		err = s.ledger.Load(bufio.NewReaderSize(f, 1<<20))
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("read %s: %w", ledgerFile, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.compactLedger(d)
}

// ledgerGrowth is how much the ledger's file may grow before it is rewritten: it must also be four times as large as
// after the last rewrite.
const ledgerGrowth = 64 << 20

// compactLedger rewrites the ledger, with one line for each count.
func (s *Simulator) compactLedger(d *disk) error {
	lines := s.ledger.TakeAll()
	if err := replaceFile(d.path(ledgerFile), lines); err != nil {
		return fmt.Errorf("write %s: %w", ledgerFile, err)
	}
	if err := d.close(); err != nil {
		return err
	}
	f, err := os.OpenFile(d.path(ledgerFile), os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	d.ledger, d.ledgerSize = f, int64(len(lines))
	d.ledgerMax = max(4*d.ledgerSize, d.ledgerSize+ledgerGrowth)
	return nil
}

// flushLedger appends the counts since the last flush.
func (s *Simulator) flushLedger() error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if s.disk.ledgerSize > s.disk.ledgerMax {
		return s.compactLedger(s.disk)
	}
	lines := s.ledger.TakeNew()
	if len(lines) == 0 {
		return nil
	}
	n, err := s.disk.ledger.Write(lines)
	s.disk.ledgerSize += int64(n)
	if err != nil {
		return fmt.Errorf("append to %s: %w", ledgerFile, err)
	}
	return nil
}
