package standalone

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"adsync/base/broker"
	"adsync/base/redis"
	"adsync/base/sqldb"
	"adsync/base/store"
)

// Servers holds a deployment's servers, on which a simulated world runs instead of embedded parts. A nil field means
// the embedded part.
type Servers struct {
	Store  *sqldb.Config // both databases; a new world begins in empty ones
	Broker *broker.Config
	Redis  *redis.Config
}

// String names the servers for people, without their secrets; "" if there are none.
func (s Servers) String() string {
	var parts []string
	if s.Store != nil {
		parts = append(parts, "databases "+s.Store.Config.Name()+" and "+s.Store.Data.Name())
	}
	if s.Broker != nil {
		parts = append(parts, "Kafka "+strings.Join(s.Broker.Brokers, ",")+" (topics "+s.Broker.Prefix+".*)")
	}
	if s.Redis != nil {
		parts = append(parts, "Redis "+strings.Join(s.Redis.Addrs, ",")+" (keys "+s.Redis.KeyPrefix+":*)")
	}
	return strings.Join(parts, ", ")
}

// apart returns the servers with names of topics, groups and keys that belong only to this world: a deployment with the
// same settings must not receive the world's messages, nor the world the deployment's.
func (s Servers) apart(name string) Servers {
	if s.Broker != nil {
		cfg := *s.Broker
		cfg.Prefix += "-" + name
		s.Broker = &cfg
	}
	if s.Redis != nil {
		cfg := *s.Redis
		cfg.KeyPrefix += "-" + name
		s.Redis = &cfg
	}
	return s
}

// serversFile is the file of a data directory that names the servers of its world.
const serversFile = "servers.json"

// home holds the names of a world's databases.
type home struct {
	Name   string `json:"name"` // the world's own part of the names of topics, groups and keys
	Config string `json:"config_database,omitempty"`
	Data   string `json:"data_database,omitempty"` // like Config; "" = a file of the directory
}

// home returns the home of the directory's world, or of a new one. It refuses databases other than those in which the
// world was begun, and, for a new world, databases that are not empty.
func (d *dataDir) home(ctx context.Context, s Servers, log *slog.Logger) (home, error) {
	var have home
	text, err := os.ReadFile(d.file(serversFile))
	if err == nil {
		err = json.Unmarshal(text, &have)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return home{}, fmt.Errorf("read the data directory: %s: %w", serversFile, err)
	}
	want := home{Name: cmp.Or(have.Name, "standalone-"+strings.ToLower(rand.Text()[:8]))}
	if s.Store != nil {
		want.Config, want.Data = s.Store.Config.Name(), s.Store.Data.Name()
	}
	switch {
	case !d.isNew && (have.Config != want.Config || have.Data != want.Data):
		return home{},
			fmt.Errorf(
				"the world in %s has its tables in %s, and the settings name %s: name the same, or give this run another --data",
				d.path, have.databases(), want.databases())
	case d.isNew && s.Store != nil:
		return want, requireEmpty(ctx, *s.Store, log)
	}
	return want, nil
}

func (h home) databases() string {
	if h.Config == "" {
		return "that directory itself"
	}
	return "the databases " + h.Config + " and " + h.Data
}

// keep stores the home of the world, before anything of the world is written.
func (d *dataDir) keep(h home) error {
	text, _ := json.Marshal(h) // three texts
	if err := os.WriteFile(d.file(serversFile), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the data directory: %w", err)
	}
	return nil
}

// requireEmpty refuses databases that have a table, because they may belong to a deployment.
func requireEmpty(ctx context.Context, cfg sqldb.Config, log *slog.Logger) error {
	s, err := store.Open(ctx, cfg, log)
	if err != nil {
		return err
	}
	var errs []error
	for _, db := range []struct {
		*sqldb.DB
		name string
	}{{s.Config, cfg.Config.Name()}, {s.Data, cfg.Data.Name()}} {
		tables, err := db.Tables(ctx)
		if err == nil && len(tables) > 0 {
			err = fmt.Errorf(
				"the database %s is not empty, it has %s: a new world begins in databases without tables, and drops none. "+
					"Create it again, "+
					"name another, give the --data that it was begun with, or name no database for SQLite in the data directory",
				db.name, tables[0])
		}
		errs = append(errs, err)
	}
	return errors.Join(errors.Join(errs...), s.Close())
}
