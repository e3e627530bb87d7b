package standalone

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/jobs"
)

// jobsFile is the database of the job queue.
const jobsFile = "jobs.db"

// openJobs opens the job queue, in a file of the directory. Its time is this machine's, not the world's.
func (s *stack) openJobs(ctx context.Context, registerer prometheus.Registerer) error {
	s.Jobs.Store = sqldb.Database{Driver: sqldb.SQLite, Writer: secret.NewText(s.dir.file(jobsFile)), MaxOpenConns: 1}
	stores, err := s.Jobs.Open(ctx, sqldb.Database{}, s.Logger)
	if err != nil {
		return err
	}
	s.opened(stores.Close)
	if err := stores.MigrateUp(ctx); err != nil {
		return err
	}
	d := jobs.Deps{Stores: stores, Clock: clock.System{}, Logger: s.Logger, Registerer: registerer}
	s.jobs = jobs.New(s.Jobs, d) //nolint:contextcheck // It begins no work.
	return nil
}
