// Package store joins the packages of the two databases: config, which operators edit, and data, which the engine
// writes.
//
// All SQL of adsync is in the packages below it and in base/sqldb, a function per statement, for MySQL, MariaDB and
// SQLite.
package store

import (
	"context"
	"log/slog"

	"adsync/base/sqldb"
	"adsync/base/store/backup"
	"adsync/base/store/copies"
	"adsync/base/store/dead"
	"adsync/base/store/exclusion"
	"adsync/base/store/leader"
	"adsync/base/store/ledger"
	"adsync/base/store/overview"
	"adsync/base/store/prune"
	"adsync/base/store/publishing"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
)

// Store reads and writes both databases. Its users declare interfaces of the parts that they need.
type Store struct {
	*sqldb.Databases
	settings.Tasks
	settings.Accounts
	settings.LoginKeys
	settings.Limits
	settings.Fields
	settings.AuditLog
	settings.Sessions
	ledger.RunRows
	ledger.Ticks
	ledger.Queue
	ledger.Subtasks
	ledger.Outcomes
	ledger.StopOrders
	ledger.Witness
	exclusion.Holds
	dead.DeadSubtasks
	results.Results
	results.MissingDays
	results.Reconciliation
	results.Healing
	results.Backfill
	summaries.Summing
	summaries.WideRows
	summaries.PartnerCopy
	copies.CopyRows
	summaries.GameBindings
	prune.Pruning
	backup.Backups
	publishing.Subscriptions
	publishing.Publications
	overview.Lists
	overview.Watching
	overview.Glances
}

// Open connects to both databases and checks that they answer. It creates SQLite's files, and migrates nothing.
func Open(ctx context.Context, cfg sqldb.Config, log *slog.Logger) (*Store, error) {
	db, err := sqldb.Open(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	return of(db), nil
}

// New is Open without the check: it creates SQLite's files and contacts no server, so that an unreachable server is
// no error yet.
func New(ctx context.Context, cfg sqldb.Config, log *slog.Logger) (*Store, error) {
	db, err := sqldb.New(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	return of(db), nil
}

func of(db *sqldb.Databases) *Store {
	return &Store{
		Databases:      db,
		Tasks:          settings.Tasks{Databases: db},
		Accounts:       settings.Accounts{Databases: db},
		LoginKeys:      settings.LoginKeys{Databases: db},
		Limits:         settings.Limits{Databases: db},
		Fields:         settings.Fields{Databases: db},
		AuditLog:       settings.AuditLog{Databases: db},
		Sessions:       settings.Sessions{Databases: db},
		RunRows:        ledger.RunRows{Databases: db},
		Ticks:          ledger.Ticks{Databases: db},
		Queue:          ledger.Queue{Databases: db},
		Subtasks:       ledger.Subtasks{Databases: db},
		Outcomes:       ledger.Outcomes{Databases: db},
		StopOrders:     ledger.StopOrders{Databases: db},
		Witness:        ledger.Witness{Databases: db},
		Holds:          exclusion.Holds{Databases: db},
		DeadSubtasks:   dead.DeadSubtasks{Databases: db},
		Results:        results.Of(db.Pulls()),
		MissingDays:    results.MissingDays{Databases: db},
		Reconciliation: results.Reconciliation{Databases: db},
		Healing:        results.Healing{Databases: db},
		Backfill:       results.Backfill{Databases: db},
		Summing:        summaries.Summing{Databases: db},
		WideRows:       summaries.WideRows{Databases: db},
		PartnerCopy:    summaries.PartnerCopy{Databases: db},
		CopyRows:       copies.CopyRows{Databases: db},
		GameBindings:   summaries.GameBindings{Databases: db},
		Pruning:        prune.Pruning{Databases: db},
		Backups:        backup.Backups{Databases: db},
		Subscriptions:  publishing.Subscriptions{Databases: db},
		Publications:   publishing.Publications{Databases: db},
		Lists:          overview.Lists{Databases: db},
		Watching:       overview.Watching{Databases: db},
		Glances:        overview.Glances{Databases: db},
	}
}

// Leadership returns the row that decides which process leads, by the data database's time.
func (s *Store) Leadership() leader.Leadership { return leader.LeadershipOf(s.Data) }
