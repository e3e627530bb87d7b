package e2e

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/broker/embedded"
	"adsync/base/redis"
	redisembedded "adsync/base/redis/embedded"
	"adsync/base/redis/redistest"
	"adsync/base/sqldb"
	"adsync/base/store/storetest"
)

// services are the servers that the processes of a deployment share.
type services struct {
	name      string // of the deployment, in the names of topics, groups and keys: a real server may serve several
	kafka     []string
	brokers   int // of the Kafka, each of which has a copy of everything
	redis     redis.Config
	databases sqldb.Config
}

// newServices returns the servers that the environment names, and embedded ones for those that it does not.
func newServices(t *testing.T) services {
	t.Helper()
	s := services{
		name: "e2e-" + strings.ToLower(rand.Text()[:8]), brokers: 1,
		redis: redis.DefaultConfig(), databases: storetest.Config(t),
	}
	kafka, cache := os.Getenv("ADSYNC_TEST_KAFKA"), os.Getenv(redistest.Env)
	if kafka == "" {
		server, err := embedded.Start("")
		require.NoError(t, err)
		t.Cleanup(server.Close)
		kafka = server.Addr()
	}
	if cache == "" {
		server, err := redisembedded.Start()
		require.NoError(t, err)
		t.Cleanup(server.Close)
		cache = server.Addr()
	}
	s.kafka, s.redis.Addrs, s.redis.KeyPrefix = []string{kafka}, []string{cache}, s.name
	return s
}

// roles returns the roles of a deployment's processes. SQLite allows only one process.
func (s services) roles() []string {
	if s.databases.Data.Driver == sqldb.SQLite {
		return []string{"all"}
	}
	return []string{"producer", "consumer", "consumer"}
}
