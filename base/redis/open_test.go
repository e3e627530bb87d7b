package redis

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniredisserver "github.com/alicebob/miniredis/v2/server"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adsync/base/config"
	"adsync/base/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOpen_EachModeHasItsClient(t *testing.T) {
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
	require.IsType(t, &goredis.ClusterClient{}, open(func(c *Config) { c.Mode = ModeCluster }),
		"one address is enough for a cluster")
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

	c.TLS = config.ClientTLS{Enabled: true, ServerName: "redis.example"}
	o, err = options(c)
	require.NoError(t, err)
	require.Equal(t, "redis.example", o.TLSConfig.ServerName)

	c.TLS.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	_, err = Open(c)
	require.ErrorContains(t, err, "read tls.ca_file")
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
	// Otherwise it would return after a minute, when the test has timed out.
	require.Error(t, client.Ping(ctx).Err())
}

func TestTimeOf_IsTheServersTime(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	at := time.Date(2026, 11, 26, 8, 0, 0, 123456000, time.UTC)
	server.SetTime(at)
	c := DefaultConfig()
	c.Addrs = []string{server.Addr()}
	client, err := Open(c)
	require.NoError(t, err)
	defer client.Close()
	got, err := TimeOf(t.Context(), client, "k")
	require.NoError(t, err)
	require.WithinDuration(t, at, got, 0)
}

func TestOpen_AClusterIsReadAgainIfANodeDoesNotAnswer(t *testing.T) {
	t.Parallel()
	// This is a cluster of one node, which reports at first that another one has all keys, where nothing listens.
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	server, err := miniredisserver.NewServer("127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	var requests atomic.Int32
	require.NoError(t, server.Register("CLUSTER", func(c *miniredisserver.Peer, _ string, args []string) {
		at := server.Addr().String()
		if requests.Add(1) == 1 {
			at = gone.Addr().String()
		}
		host, port, err := net.SplitHostPort(at)
		if err != nil || len(args) == 0 {
			c.WriteError("ERR unknown")
			return
		}
		number, _ := strconv.Atoi(port)
		c.WriteLen(1)
		c.WriteLen(3)
		c.WriteInt(0)
		c.WriteInt(16383)
		c.WriteLen(2)
		c.WriteBulk(host)
		c.WriteInt(number)
	}))
	require.NoError(t, server.Register("GET", func(c *miniredisserver.Peer, _ string, _ []string) { c.WriteBulk("v") }))
	for _, name := range []string{"HELLO", "CLIENT", "COMMAND"} {
		require.NoError(t, server.Register(name, func(c *miniredisserver.Peer, _ string,
			_ []string) {
			c.WriteError("ERR unknown command")
		}))
	}
	c := DefaultConfig()
	c.Mode, c.Addrs, c.MaxRetries = ModeCluster, []string{server.Addr().String()}, 0
	client, err := Open(c)
	require.NoError(t, err)
	defer client.Close()
	require.Eventually(t, func() bool { return client.Get(t.Context(), "k").Err() == nil }, clusterReload/2,
		time.Millisecond)
	require.GreaterOrEqual(t, requests.Load(), int32(2))
}
