package e2e

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"adsync/base/broker/embedded"
	"adsync/base/redis/redistest"
	"adsync/base/store"
	"adsync/base/store/storetest"
)

// services are what the processes of a deployment share.
type services struct {
	name      string // of the deployment, in the names of topics, groups and keys: a real server may serve several
	kafka     string
	redis     string
	databases store.Config
}

// newServices returns the servers that the environment names, and embedded ones for those that it does not.
func newServices(t *testing.T) services {
	t.Helper()
	s := services{
		name:  "e2e-" + strings.ToLower(rand.Text()[:8]),
		kafka: os.Getenv("ADSYNC_TEST_KAFKA"), redis: os.Getenv(redistest.Env),
	}
	if s.kafka == "" {
		kafka, err := embedded.Start(t.TempDir())
		require.NoError(t, err)
		t.Cleanup(kafka.Close)
		s.kafka = kafka.Addr()
	}
	if s.redis == "" {
		redis := miniredis.RunT(t)
		redis.ClockTTL(true)
		s.redis = redis.Addr()
	}
	s.databases = storetest.Config(t)
	return s
}

// roles are the processes of a deployment. SQLite is for one process.
func (s services) roles() []string {
	if s.databases.Data.Driver == store.SQLite {
		return []string{"all"}
	}
	return []string{"producer", "consumer", "consumer"}
}
