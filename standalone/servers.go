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

// Servers are a deployment's own, for a simulated world to run on in the place of what is embedded. What is nil is
// embedded.
type Servers struct {
	Store  *sqldb.Config // both databases; a new world begins in empty ones
	Broker *broker.Config
	Redis  *redis.Config
}

// String names the servers for people, without what opens them; "" if there are none.
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

// apart returns the servers with names of topics, groups and keys that are a world's alone: a deployment that goes by
// the same settings must not find the world's messages, nor the world take the deployment's.
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

// serversFile is the file of a data directory that says on which servers its world lives.
const serversFile = "servers.json"

// home is where a world lives.
type home struct {
	Name   string `json:"name"` // the world's own part of the names of topics, groups and keys
	Config string `json:"config_database,omitempty"`
	Data   string `json:"data_database,omitempty"` // as Config: "" is the directory's own
}

// home returns where the directory's world lives, or is to live. It refuses other databases than the world was begun
// in, and, for a new world, such as are not empty.
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

// keep notes where the world lives, before anything of it is there.
func (d *dataDir) keep(h home) error {
	text, _ := json.Marshal(h) // three texts
	if err := os.WriteFile(d.file(serversFile), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the data directory: %w", err)
	}
	return nil
}

// requireEmpty refuses databases that have a table: whatever is in it belongs to somebody.
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
				"the database %s is not empty, it has %s: a new world begins in databases without tables, and takes none away. "+
					"Make it anew, "+
					"name another, give the --data that it was begun with, or name no database for SQLite in the data directory",
				db.name, tables[0])
		}
		errs = append(errs, err)
	}
	return errors.Join(errors.Join(errs...), s.Close())
}
