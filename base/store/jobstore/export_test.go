package jobstore

import "adsync/base/sqldb"

// DB returns the database, so that tests can break its commits.
func (s *Store) DB() *sqldb.DB { return s.db }
