package standalone

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/redis"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
)

// databaseServers returns two empty databases outside the data directory. Files replace servers here; test/e2e has
// real ones.
func databaseServers(t *testing.T) *sqldb.Config {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) sqldb.Database {
		return sqldb.Database{Driver: sqldb.SQLite, Writer: secret.NewText(filepath.Join(dir, name)), MaxOpenConns: 1}
	}
	return &sqldb.Config{Config: file("config"), Data: file("data")}
}

func TestServers_OfANewWorldAreEmptyDatabases(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(*store.Store) *sqldb.DB{
		"config": func(s *store.Store) *sqldb.DB { return s.Config },
		"data":   func(s *store.Store) *sqldb.DB { return s.Data },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := databaseServers(t)
			s, err := store.Open(t.Context(), *servers, options("", nil).Logger)
			require.NoError(t, err)
			require.NoError(t, of(s).Writer(t.Context()).Exec("CREATE TABLE sales (id INTEGER)").Error)
			require.NoError(t, s.Close())

			o := options(t.TempDir(), &bytes.Buffer{})
			o.Servers.Store = servers
			err = Run(t.Context(), o)
			require.ErrorContains(t, err, "is not empty, it has sales: a new world begins in databases without tables")
			left, err := os.ReadDir(o.DataDir)
			require.NoError(t, err)
			require.Len(t, left, 1, "nothing but the lock was written: the directory is as good as new")

			s, err = store.Open(t.Context(), *servers, options("", nil).Logger)
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			var all []string
			for _, db := range []*sqldb.DB{s.Config, s.Data} {
				tables, err := db.Tables(t.Context())
				require.NoError(t, err)
				all = append(all, tables...)
			}
			require.Equal(t, []string{"sales"}, all)
		})
	}
}

func TestServers_AWorldStaysInTheDatabasesThatItWasBegunIn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data")
	log := options("", nil).Logger
	ctx := t.Context()
	servers := Servers{Store: databaseServers(t)}
	d, err := openDir(path)
	require.NoError(t, err)
	require.True(t, d.isNew)
	first, err := d.home(ctx, servers, log)
	require.NoError(t, err)
	require.NoError(t, d.keep(first))
	require.NoError(t, d.close())

	d, err = openDir(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.close()) }()
	require.False(t, d.isNew)
	again, err := d.home(ctx, servers, log)
	require.NoError(t, err)
	require.Equal(t, first, again)
	_, err = d.home(ctx, Servers{}, log)
	require.ErrorContains(t, err, "has its tables in the databases "+servers.Store.Config.Name())
	_, err = d.home(ctx, Servers{Store: databaseServers(t)}, log)
	require.ErrorContains(t, err, "name the same, or give this run another --data")

	embedded := &dataDir{path: t.TempDir()}
	_, err = embedded.home(ctx, servers, log)
	require.ErrorContains(t, err, "has its tables in that directory itself, and the settings name the databases")
}

func TestServers_AWorldHasTopicsAndKeysOfItsOwn(t *testing.T) {
	t.Parallel()
	brokers, cache := broker.DefaultConfig(), redis.DefaultConfig()
	given := Servers{Broker: &brokers, Redis: &cache}
	names := map[string]bool{}
	for range 2 {
		d := &dataDir{path: t.TempDir(), isNew: true}
		home, err := d.home(t.Context(), given, options("", nil).Logger)
		require.NoError(t, err)
		own := given.apart(home.Name)
		require.Regexp(t, `^adsync-standalone-[a-z2-7]{8}$`, own.Broker.Prefix)
		require.Equal(t, own.Broker.Prefix, own.Redis.KeyPrefix)
		names[own.Broker.Prefix] = true
	}
	require.Len(t, names, 2)
	require.Equal(t, "adsync", brokers.Prefix, "the settings are left alone")
	require.Equal(t, Servers{}, Servers{}.apart("x"))
}
