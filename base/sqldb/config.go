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
	Writer       secret.Text   `koanf:"writer" doc:"Server for writes and for reads that decisions rest on. mysql: user:password@tcp(host:3306)/name; sqlite: a file path."`
	Replicas     []secret.Text `koanf:"replicas" doc:"Read replicas, in the form of writer, for lists and reports. Empty means that the writer serves them too."`
	MaxOpenConns int           `koanf:"max_open_conns" doc:"Maximum number of connections of a process to a server. Pulls have as many besides to the data database, so that nothing else waits behind them. sqlite always writes on one."`
	ShardBy      string        `koanf:"shard_by" doc:"For the data database behind a sharding proxy: the end of CREATE TABLE for sharded tables, with {key} for the shard key, such as shardkey={key} of TDSQL. Set it before the first migrate up: existing tables are not changed."`
	CopyBy       string        `koanf:"copy_by" doc:"The end of CREATE TABLE for small tables of which each shard has a copy, such as shardkey=noshardkey_allset."`
	Patience     time.Duration `koanf:"patience" doc:"How long the server may take to answer a statement, and so how long a hanging server stays unnoticed. A shorter deadline of the caller applies. Half of it is the longest wait for a lock. Not for sqlite."`

	durable bool // see OpenDurable
}

// Name identifies the database without its credentials: host:port/name, or SQLite's file.
func (d Database) Name() string {
	if d.Driver == SQLite {
		return d.Writer.Reveal()
	}
	c, err := MysqlConfig(d.Writer, d.patience())
	if err != nil {
		return "a database with an invalid DSN"
	}
	return c.Addr + "/" + c.DBName
}

// PatienceDefault is far longer than any statement takes on a healthy server, and short enough that a hanging server
// is noticed before the lead has lapsed for long.
const PatienceDefault = 12 * time.Second

// patience returns the setting, or the default without one.
func (d Database) patience() time.Duration { return cmp.Or(d.Patience, PatienceDefault) }

// DefaultConfig returns MySQL on this machine's standard port.
func DefaultConfig() Config {
	return Config{
		Config: Database{Driver: MySQL, Writer: secret.NewText("adsync@tcp(127.0.0.1:3306)/adsync_config"), MaxOpenConns: 16,
			Patience: PatienceDefault},
		Data: Database{Driver: MySQL, Writer: secret.NewText("adsync@tcp(127.0.0.1:3306)/adsync_data"), MaxOpenConns: 32,
			Patience: PatienceDefault},
	}
}

// Validate checks the settings without connecting.
func (c Config) Validate() error {
	return errors.Join(c.Config.Validate("config"), c.Data.Validate("data"))
}

// Validate checks the settings of the database key without connecting.
func (d Database) Validate(key string) error {
	var errs []error
	if d.Driver != MySQL && d.Driver != SQLite {
		errs = append(errs, &config.FieldError{Key: key + ".driver", Value: d.Driver, Want: "mysql or sqlite"})
	}
	if d.Writer.Reveal() == "" {
		errs = append(errs, &config.FieldError{Key: key + ".writer",
			Want: "user:password@tcp(host:3306)/name, or a file path for sqlite"})
	}
	if d.MaxOpenConns < 1 {
		errs = append(errs, &config.FieldError{Key: key + ".max_open_conns", Value: fmt.Sprint(d.MaxOpenConns),
			Want: "1 or more"})
	}
	if d.Patience != 0 && (d.Patience < 2*time.Second || d.Patience > 24*time.Hour) {
		errs = append(errs, &config.FieldError{Key: key + ".patience", Value: d.Patience.String(), Want: "2s to 24h"})
	}
	if (d.ShardBy != "" || d.CopyBy != "") && (d.Driver == SQLite || key != "data") {
		errs = append(errs, &config.FieldError{Key: key + ".shard_by",
			Want: "nothing, and no copy_by: only MySQL's data database can be sharded"})
	}
	if (d.ShardBy == "") != (d.CopyBy == "") || d.ShardBy != "" && !strings.Contains(d.ShardBy, shardKeyPlace) {
		errs = append(errs, &config.FieldError{Key: key + ".shard_by", Value: d.ShardBy, Want: "a clause with " +
			shardKeyPlace + ", and a clause in copy_by"})
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

// DsnFault returns an error that names the setting whose DSN cannot be used, and the reason.
func DsnFault(key string, err error) error {
	if e, ok := errors.AsType[*dsnError](err); ok && e.parameter != "" {
		return &config.FieldError{Key: key, Value: e.parameter, Want: e.want}
	}
	return &config.FieldError{Key: key, Want: "a DSN such as " + dsnForm}
}
