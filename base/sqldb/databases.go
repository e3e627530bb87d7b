package sqldb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// Databases holds the two databases: config, which operators edit, and data, which the engine writes.
type Databases struct {
	Config *DB
	Data   *DB

	// Reach bounds how much one page of a list reads.
	Reach Reach
}

// Pulls returns the databases with the data database's connections for pulls.
func (s *Databases) Pulls() *Databases {
	return &Databases{Config: s.Config, Data: s.Data.Pulls(), Reach: s.Reach}
}

// Reach bounds how much one page of a list reads of what no index selects. So a page may be short or empty and still
// have a next one.
type Reach struct {
	Rows int // of subtasks and of accounts
	Runs int // in which an account's subtasks are searched, one by one
	Dead int // subtasks
}

var defaultReach = Reach{Rows: 20_000, Runs: 1000, Dead: 50_000}

// Open connects to both databases and checks that they answer. It neither creates nor migrates anything except
// SQLite's files.
func Open(ctx context.Context, cfg Config, log *slog.Logger) (*Databases, error) {
	s, err := New(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// New is Open without the check: it opens SQLite's files and contacts no server, so a server that is away is no error
// yet.
func New(ctx context.Context, cfg Config, log *slog.Logger) (*Databases, error) {
	conf, err := openDB(ctx, cfg.Config, false, log)
	if err != nil {
		return nil, fmt.Errorf("open config database: %w", err)
	}
	data, err := openDB(ctx, cfg.Data, true, log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open data database: %w", err), conf.Close())
	}
	return &Databases{Config: conf, Data: data, Reach: defaultReach}, nil
}

// Ping reports which database's writer does not answer.
func (s *Databases) Ping(ctx context.Context) error {
	if err := s.Config.Ping(ctx); err != nil {
		return fmt.Errorf("open config database: %w", err)
	}
	if err := s.Data.Ping(ctx); err != nil {
		return fmt.Errorf("open data database: %w", err)
	}
	return nil
}

// Close closes all connections.
func (s *Databases) Close() error { return errors.Join(s.Config.Close(), s.Data.Close()) }
