package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/redis"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/engine"
	"adsync/test/services/local"
)

// serversEnv is set by make test-deployments.
const serversEnv = "ADSYNC_TEST_DEPLOYMENTS"

// TestServers_AsDeploymentsHaveThem runs a whole flow on each of the server setups that deployments use instead of
// single servers: fan-out to Kafka, consumption under quotas in Redis, and rows that equal the platforms' truth. One
// deployment's servers run at a time.
func TestServers_AsDeploymentsHaveThem(t *testing.T) {
	if os.Getenv(serversEnv) == "" {
		t.Skip("not set: make test-deployments sets " + serversEnv)
	}
	require.NotEmpty(t, os.Getenv(storetest.ServerEnv), "the other servers are those of test/services")

	t.Run("redis sentinel", func(t *testing.T) {
		servers := &local.RedisSentinel{}
		launch(t, servers)
		s := newServices(t)
		s.redis.Mode, s.redis.Addrs, s.redis.MasterName = redis.ModeSentinel, servers.Addrs(), local.SentinelMaster
		flow(t, s)
		requireQuotas(t, s.redis)
	})
	t.Run("redis cluster", func(t *testing.T) {
		servers := &local.RedisCluster{}
		launch(t, servers)
		s := newServices(t)
		// A client finds the other nodes through these.
		s.redis.Mode, s.redis.Addrs = redis.ModeCluster, servers.Addrs()[:2]
		flow(t, s)
		requireQuotas(t, s.redis)
	})
	t.Run("three brokers of the newest Kafka", func(t *testing.T) {
		servers := &local.KafkaCluster{Version: local.KafkaNewest}
		launch(t, servers)
		s := newServices(t)
		s.kafka, s.brokers = servers.Addrs(), len(servers.Addrs())
		flow(t, s)
		copies, err := servers.Copies(t.Context(), s.name)
		require.NoError(t, err)
		require.Equal(t, 3, copies)
	})
	t.Run("the oldest Kafka", func(t *testing.T) {
		servers := &local.OldestKafka{}
		launch(t, servers)
		s := newServices(t)
		s.kafka = servers.Addrs()
		flow(t, s)
	})
	t.Run("mariadb with a replica", func(t *testing.T) {
		servers := &local.MariaDBPair{}
		launch(t, servers)
		s := newServices(t)
		writer, replica := accountAt(t, servers, s.name)
		s.databases = writer
		s.databases.Config.Replicas = []secret.Text{replica.Config.Writer}
		s.databases.Data.Replicas = []secret.Text{replica.Data.Writer}
		d := flow(t, s, func(d *deployment) {
			// People's queries read the replica, which has all rows.
			require.NoError(t, servers.Await(t.Context()))
			account := d.busiestAccount(t, onePlatform)
			status, body := call(t, http.MethodGet, d.api+"/accounts/"+onePlatform+"/"+account+"/coverage", nil)
			require.Equal(t, http.StatusOK, status, string(body))
			require.True(t, json.Valid(body))
			require.Contains(t, string(body), "complete")
		})
		copied, err := store.Open(t.Context(), replica, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		defer func() { require.NoError(t, copied.Close()) }()
		report := d.compareTables(t, copied)
		require.Zero(t, report.Differences, "%+v", report)
		require.Positive(t, report.RowsCompared)
	})
}

// launch starts servers for the duration of a test.
func launch(t *testing.T, servers interface {
	Launch(ctx context.Context, dir string, ports *local.Ports, stderr io.Writer) error
	Stop() error
},
) {
	t.Helper()
	ports := local.NewPorts()
	t.Cleanup(ports.Release)
	var said bytes.Buffer
	begin := time.Now()
	err := servers.Launch(t.Context(), t.TempDir(), ports, &said)
	t.Cleanup(func() { require.NoError(t, servers.Stop()) })
	if errors.Is(err, local.ErrNotInstalled) {
		t.Skip(err) // The usual servers may be containers; these are programs of this machine.
	}
	require.NoError(t, err, said.String())
	t.Logf("the servers are ready after %s", time.Since(begin).Round(time.Millisecond))
}

// flow runs everything once on a small world, and compares the tables with the truth.
func flow(t *testing.T, s services, check ...func(d *deployment)) *deployment {
	t.Helper()
	w := newWorld(t, 6, 171)
	d := deployOn(t, s, program, w)
	d.requireSucceeded(t, d.await(t, d.orderAll(t, false)))
	d.summarise(t)
	report := d.requireTruth(t)
	require.Greater(t, 2*report.NonzeroRows, report.ExpectedRows)
	calls, refused := w.calls(t)
	require.Positive(t, calls)
	require.LessOrEqual(t, 100*refused, calls, "refused calls of %d", calls)
	for _, c := range check {
		c(d)
	}
	d.stop(t)
	return d
}

// requireQuotas checks that the limits of all platforms were counted in this Redis.
func requireQuotas(t *testing.T, cfg redis.Config) {
	t.Helper()
	client, err := redis.Open(cfg)
	require.NoError(t, err)
	defer client.Close()
	keys := redis.NewKeys(cfg.KeyPrefix)
	for _, media := range engine.PlatformNames() {
		index, err := client.HLen(t.Context(), keys.Of(media, "index")).Result()
		require.NoError(t, err)
		require.Positive(t, index, "no limit of %s was counted in Redis", media)
	}
}

// accountAt creates two databases and an account with the rights that docs/servers.md lists. It returns the
// settings by which that account reaches the databases on the writer and on the replica.
func accountAt(t *testing.T, servers *local.MariaDBPair, name string) (writer, replica sqldb.Config) {
	t.Helper()
	name = strings.ReplaceAll(name, "-", "_")
	require.NoError(t, servers.CreateAccount(t.Context(), "adsync", name+"_config", name+"_data"))
	at := func(dsn string) sqldb.Config {
		database := func(name string) sqldb.Database {
			return sqldb.Database{
				Driver: sqldb.MySQL, Writer: secret.NewText(strings.Replace(dsn, "root", "adsync", 1) + name), MaxOpenConns: 8,
			}
		}
		return sqldb.Config{Config: database(name + "_config"), Data: database(name + "_data")}
	}
	return at(servers.WriterDSN()), at(servers.ReplicaDSN())
}
