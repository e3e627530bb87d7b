package redis

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adsync/base/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOpen_EachModeIsItsOwnClient(t *testing.T) {
	t.Parallel()
	open := func(change func(*Config)) goredis.UniversalClient {
		c := DefaultConfig()
		change(&c)
		client, err := Open(c)
		require.NoError(t, err, "nothing is dialled")
		require.NoError(t, client.Close())
		return client
	}
	require.IsType(t, &goredis.Client{}, open(func(*Config) {}))
	require.IsType(t, &goredis.Client{}, open(func(c *Config) { c.Mode, c.MasterName = ModeSentinel, "main" }))
	require.IsType(t, &goredis.ClusterClient{}, open(func(c *Config) { c.Mode = ModeCluster }), "a cluster may be given by one address")
}

func TestOpen_Options(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	c.MaxRetries = 0
	c.Password = secret.NewText("p")
	o, err := options(c)
	require.NoError(t, err)
	require.Equal(t, -1, o.MaxRetries, "0 retries are none, and not go-redis's default")
	require.True(t, o.ContextTimeoutEnabled)
	require.Equal(t, "p", o.Password)
	require.Nil(t, o.TLSConfig)

	c.TLS = TLSConfig{Enabled: true, ServerName: "redis.example"}
	o, err = options(c)
	require.NoError(t, err)
	require.Equal(t, "redis.example", o.TLSConfig.ServerName)

	c.TLS.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	_, err = Open(c)
	require.ErrorContains(t, err, "read authorities")
	require.NoError(t, os.WriteFile(c.TLS.CAFile, []byte("no certificate"), 0o600))
	_, err = Open(c)
	require.ErrorContains(t, err, "no certificate in PEM form")
}

func TestOpen_ADeadlineOfTheCallerReachesTheSocket(t *testing.T) {
	t.Parallel()
	// A listener that accepts and never answers.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	c := DefaultConfig()
	c.Addrs = []string{l.Addr().String()}
	c.ReadTimeout = time.Minute
	client, err := Open(c)
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	// It would return after a minute, by when the test has been given up.
	require.Error(t, client.Ping(ctx).Err())
}
