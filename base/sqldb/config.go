package sqldb

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"adsync/base/config"
	"adsync/base/secret"
)

// Drivers that a Database may name.
const (
	MySQL  = "mysql"
	SQLite = "sqlite"
)

// Config names the two databases.
type Config struct {
	Config Database `koanf:"config" doc:"The database that operators edit: tasks, accounts, tokens, limits."`
	Data   Database `koanf:"data" doc:"The database that the engine writes: runs, logs, coverage, results."`
}

// Database is one database: a writer and optional read replicas.
type Database struct {
	Driver       string        `koanf:"driver" doc:"mysql (also for MariaDB) or sqlite (one process only)."`
	Writer       secret.Text   `koanf:"writer" doc:"Where writes and all decisions go. mysql: user:password@tcp(host:3306)/name; sqlite: a file path."`
	Replicas     []secret.Text `koanf:"replicas" doc:"Read replicas, in the writer's form, for lists and reports. Empty means the writer serves them too."`
	MaxOpenConns int           `koanf:"max_open_conns" doc:"Connections per server at the most; sqlite always writes on one."`
	ShardBy      string        `koanf:"shard_by" doc:"Of the data database behind a proxy that shards: what ends the CREATE TABLE of a table that is sharded, with {key} for its key, such as shardkey={key} of TDSQL. Set it before the first migrate up: tables that are there are not changed."`
	CopyBy       string        `koanf:"copy_by" doc:"The same for a small table that each shard has a copy of, such as shardkey=noshardkey_allset."`
	Patience     time.Duration `koanf:"patience" doc:"How long the server may take to answer a statement, and so how long one that hangs goes unnoticed. A shorter deadline of the caller is obeyed; half of it is the longest wait for a lock. Not for sqlite."`
}

// Name tells which database it is, without what opens it: host:port/name, or SQLite's file.
func (d Database) Name() string {
	if d.Driver == SQLite {
		return d.Writer.Reveal()
	}
	c, err := MysqlConfig(d.Writer, d.patience())
	if err != nil {
		return "a database whose DSN cannot be read"
	}
	return c.Addr + "/" + c.DBName
}

// PatienceDefault is far longer than any statement of a healthy server takes, and short enough that one that hangs is
// noticed before the lead has lapsed for long.
const PatienceDefault = 12 * time.Second

// patience returns the setting, or the default when there is none.
func (d Database) patience() time.Duration { return cmp.Or(d.Patience, PatienceDefault) }

// DefaultConfig returns MySQL on this machine's standard port.
func DefaultConfig() Config {
	return Config{
		Config: Database{Driver: MySQL, Writer: secret.NewText("adsync@tcp(127.0.0.1:3306)/adsync_config"), MaxOpenConns: 16, Patience: PatienceDefault},
		Data:   Database{Driver: MySQL, Writer: secret.NewText("adsync@tcp(127.0.0.1:3306)/adsync_data"), MaxOpenConns: 32, Patience: PatienceDefault},
	}
}

// Validate checks the settings without connecting.
func (c Config) Validate() error {
	return errors.Join(c.Config.validate("config"), c.Data.validate("data"))
}

func (d Database) validate(key string) error {
	var errs []error
	if d.Driver != MySQL && d.Driver != SQLite {
		errs = append(errs, &config.FieldError{Key: key + ".driver", Value: d.Driver, Want: "mysql or sqlite"})
	}
	if d.Writer.Reveal() == "" {
		errs = append(errs, &config.FieldError{Key: key + ".writer", Want: "user:password@tcp(host:3306)/name, or a file path for sqlite"})
	}
	if d.MaxOpenConns < 1 {
		errs = append(errs, &config.FieldError{Key: key + ".max_open_conns", Value: fmt.Sprint(d.MaxOpenConns), Want: "1 or more"})
	}
	if d.Patience != 0 && (d.Patience < 2*time.Second || d.Patience > 24*time.Hour) {
		errs = append(errs, &config.FieldError{Key: key + ".patience", Value: d.Patience.String(), Want: "2s to 24h"})
	}
	if (d.ShardBy != "" || d.CopyBy != "") && (d.Driver == SQLite || key == "config") {
		errs = append(errs, &config.FieldError{Key: key + ".shard_by", Want: "nothing, as is copy_by: MySQL's data database alone is sharded"})
	}
	if (d.ShardBy == "") != (d.CopyBy == "") || d.ShardBy != "" && !strings.Contains(d.ShardBy, shardKeyPlace) {
		errs = append(errs, &config.FieldError{Key: key + ".shard_by", Value: d.ShardBy, Want: "a clause with " + shardKeyPlace + ", and one in copy_by beside it"})
	}
	if d.Driver == SQLite && len(d.Replicas) > 0 {
		errs = append(errs, &config.FieldError{Key: key + ".replicas", Want: "no replicas with sqlite"})
	}
	if d.Driver == MySQL {
		if _, err := MysqlConfig(d.Writer, d.patience()); err != nil {
			errs = append(errs, DsnFault(key+".writer", err))
		}
		for i, r := range d.Replicas {
			if _, err := MysqlConfig(r, d.patience()); err != nil {
				errs = append(errs, DsnFault(fmt.Sprintf("%s.replicas[%d]", key, i), err))
			}
		}
	}
	return errors.Join(errs...)
}

// DsnFault names the setting whose DSN cannot be used, and what of it.
func DsnFault(key string, err error) error {
	if e, ok := errors.AsType[*dsnError](err); ok && e.parameter != "" {
		return &config.FieldError{Key: key, Value: e.parameter, Want: e.want}
	}
	return &config.FieldError{Key: key, Want: "a DSN such as " + dsnForm}
}
