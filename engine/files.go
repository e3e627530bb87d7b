package engine

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"adsync/base/config"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/publish"
)

// FilesConfig says how report files are made.
type FilesConfig struct {
	Dir           string      `koanf:"dir" doc:"Directory of this machine for files that are made and not delivered yet. Not shared with other processes."`
	MaxMiB        int64       `koanf:"max_mib" doc:"The most that these files may take, in MiB. When it is reached, new files wait."`
	LargeMiB      int64       `koanf:"large_mib" doc:"Files above this size, in MiB, are made on the lane large_files, so that small ones do not wait for them. A subscription may choose its lane."`
	LocalWebhooks bool        `koanf:"local_webhooks" doc:"Whether webhooks may call addresses of this machine, also by http: for tests."`
	Reader        secret.Text `koanf:"reader" doc:"The data database as the queries of subscriptions read it, in the form of store.data.writer: a replica, and a user who may only SELECT from the tables that docs/publishing.md lists. Empty: store.data."`
}

// DefaultFilesConfig returns settings with a directory below that for temporary files.
func DefaultFilesConfig() FilesConfig {
	return FilesConfig{Dir: filepath.Join(os.TempDir(), "adsync-files"), MaxMiB: 20 * 1024, LargeMiB: 64}
}

// Validate checks the settings without connecting.
func (c FilesConfig) Validate() error {
	if c.Dir == "" {
		return &config.FieldError{Key: "dir", Want: "a directory"}
	}
	if c.MaxMiB < 1 || c.MaxMiB > 100*1024*1024 {
		return &config.FieldError{Key: "max_mib", Value: fmt.Sprint(c.MaxMiB), Want: "1 to 104857600 (100 TiB)"}
	}
	if c.LargeMiB < 1 || c.LargeMiB > c.MaxMiB {
		return &config.FieldError{Key: "large_mib", Value: fmt.Sprint(c.LargeMiB), Want: "1 to max_mib"}
	}
	return nil
}

const (
	// queryPatience is how long a query may take until its next row.
	queryPatience = time.Hour
	// queryConns is the most queries at a time in one process.
	queryConns = 16
)

// Files are what a process needs to make report files.
type Files struct {
	Spool    *publish.Spool
	Database publish.Database

	large         int64 // bytes
	localWebhooks bool
}

// OpenFiles opens the directory and the database, without contacting it. data is used without a database of its own.
func OpenFiles(cfg FilesConfig, data sqldb.Database) (*Files, error) {
	spool, err := publish.OpenSpool(cfg.Dir, cfg.MaxMiB<<20)
	if err != nil {
		return nil, err
	}
	dsn := cfg.Reader
	if dsn.IsZero() && len(data.Replicas) > 0 {
		dsn = data.Replicas[0]
	}
	if dsn.IsZero() {
		dsn = data.Writer
	}
	var pool *sql.DB
	if pool, err = sqldb.OpenReadOnly(data.Driver, dsn, queryPatience, queryConns); err != nil {
		return nil, fmt.Errorf("open the database of report files: %w", err)
	}
	return &Files{Spool: spool, Database: publish.Database{DB: pool, Dialect: sqldb.Dialect(data.Driver)},
		large: cfg.LargeMiB << 20, localWebhooks: cfg.LocalWebhooks}, nil
}

// Close closes the database.
func (f *Files) Close() error { return f.Database.DB.Close() }
