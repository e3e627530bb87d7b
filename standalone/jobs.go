package standalone

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/engine"
	"adsync/jobs"
)

// jobsFile is the database of the job queue.
const jobsFile = "jobs.db"

// openJobs opens the database of the job queue, in a file of the directory.
func (s *stack) openJobs(ctx context.Context) (jobs.Stores, error) {
	s.Jobs.Store = sqldb.Database{Driver: sqldb.SQLite, Writer: secret.NewText(s.dir.file(jobsFile)), MaxOpenConns: 1}
	stores, err := s.Jobs.Open(ctx, sqldb.Database{}, s.Logger)
	if err != nil {
		return nil, err
	}
	s.opened(stores.Close)
	return stores, stores.MigrateUp(ctx)
}

// serveJobs makes the server of the job queue. Its time is this machine's, not the world's.
func (s *stack) serveJobs(stores jobs.Stores, registerer prometheus.Registerer) {
	d := jobs.Deps{Stores: stores, Clock: clock.System{}, Logger: s.Logger, Registerer: registerer}
	s.jobs = jobs.New(s.Jobs, d)
}

// openOutside opens what the engine hands files and jobs to, and reads the platforms without Go code.
func (s *stack) openOutside(ctx context.Context, d *engine.Deps) (err error) {
	if d.Files, err = s.openFiles(); err != nil {
		return err
	}
	if d.Jobs, err = s.openJobs(ctx); err != nil {
		return err
	}
	d.External, err = engine.ExternalPlatforms(ctx, s.store, s.Logger)
	return err
}
