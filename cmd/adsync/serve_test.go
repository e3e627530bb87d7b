package main

import (
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"adsync/base/broker/embedded"
	redisembedded "adsync/base/redis/embedded"
)

// serveEnviron is the environment of a deployment on the embedded parts, with migrated tables.
func serveEnviron(t *testing.T) []string {
	t.Helper()
	kafka, err := embedded.Start("")
	require.NoError(t, err)
	t.Cleanup(kafka.Close)
	cache, err := redisembedded.Start()
	require.NoError(t, err)
	t.Cleanup(cache.Close)
	environ := append(sqliteEnviron(t),
		secretEnviron[0],
		"ADSYNC_API_LISTEN=127.0.0.1:0",
		"ADSYNC_BROKER_BROKERS="+kafka.Addr(), "ADSYNC_BROKER_REPLICATION=1", "ADSYNC_BROKER_MIN_INSYNC=1",
		"ADSYNC_REDIS_ADDRS="+cache.Addr(),
	)
	r := adsync(environ, "migrate", "up")
	require.Zero(t, r.code, r.stderr)
	return environ
}

// awaitReady waits until a started process is ready, and returns what it then says. An answer may be a second old, and
// on a machine that is used up by other tests no server may answer in the two seconds that it waits for each.
func awaitReady(t *testing.T, url string) (body string) {
	t.Helper()
	ready := assert.Eventually(t, func() bool {
		var status int
		status, body = get(t, url+"/readyz")
		return status == 200
	}, 2*time.Minute, 100*time.Millisecond)
	require.True(t, ready, body)
	return body
}

func TestServe_WorksUntilASignal(t *testing.T) {
	t.Parallel()
	environ := serveEnviron(t)
	for _, role := range []string{"producer", "consumer", "all"} {
		p := start(t, environ, "serve", "--role="+role)
		record := p.await(t, "msg", "listening")
		require.Equal(t, role, record["role"])
		url := "http://" + record["addr"].(string)
		status, _ := get(t, url+"/healthz")
		require.Equal(t, 200, status)

		p.await(t, "part", "api")
		require.Contains(t, awaitReady(t, url), `{"name":"kafka","ok":true}`)
		_, body := get(t, url+"/metrics")
		require.Contains(t, body, "adsync_build_info{")
		p.stop(t, syscall.SIGTERM)
	}
}

func TestServe_RefusesTablesOfAnotherVersion(t *testing.T) {
	t.Parallel()
	environ := append(sqliteEnviron(t), secretEnviron[0], "ADSYNC_API_LISTEN=127.0.0.1:0")
	r := adsync(environ, "serve", "--role=producer")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "run `adsync migrate up`")
}

func TestServe_NamesThePartThatDidNotStart(t *testing.T) {
	t.Parallel()
	environ := append(serveEnviron(t), "ADSYNC_API_LISTEN=192.0.2.1:1", "ADSYNC_API_TOKENS="+
		`[{"name":"x","token":"0123456789abcdef","role":"admin"}]`)
	r := adsync(environ, "serve")
	require.Equal(t, 1, r.code)
	last := r.stderr[strings.LastIndex(strings.TrimSuffix(r.stderr, "\n"), "\n")+1:]
	require.Contains(t, last, "adsync: start http: listen for the API")
}

// gateTo listens on an address that forwards to the server once it is opened.
func gateTo(t *testing.T, server string) (address string, open func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String(), func() {
		go func() {
			for {
				client, err := listener.Accept()
				if err != nil {
					return
				}
				upstream, err := net.Dial("tcp", server)
				if err != nil {
					_ = client.Close()
					continue
				}
				pass := func(to, from net.Conn) {
					_, _ = io.Copy(to, from)
					_ = to.Close()
				}
				go pass(upstream, client)
				go pass(client, upstream)
			}
		}()
	}
}

func TestServe_WaitsForAServerThatDoesNotAnswerYet(t *testing.T) {
	t.Parallel()
	environ := serveEnviron(t)
	var kafka string
	for _, variable := range environ {
		if address, ok := strings.CutPrefix(variable, "ADSYNC_BROKER_BROKERS="); ok {
			kafka = address
		}
	}
	address, open := gateTo(t, kafka)
	p := start(t, append(environ, "ADSYNC_BROKER_BROKERS="+address, "ADSYNC_REDIS_ADDRS=127.0.0.1:1"), "serve",
		"--role=consumer")
	url := "http://" + p.await(t, "msg", "listening")["addr"].(string)
	p.await(t, "msg", "the start waits for Kafka and its topics")
	status, _ := get(t, url+"/healthz")
	require.Equal(t, 200, status)
	status, body := get(t, url+"/readyz")
	require.Equal(t, 503, status)
	require.Contains(t, body, `"phase":"starting"`)
	require.Contains(t, body, `{"name":"config database","ok":true}`)
	require.Contains(t, body, `{"name":"kafka","ok":false,"reason":"`)

	open()
	p.await(t, "msg", "the start continues")
	p.await(t, "part", "api")
	require.Contains(t, awaitReady(t, url), `{"name":"redis","ok":false,"optional":true,"reason":"`,
		"without Redis it works all the same")
	p.stop(t, syscall.SIGTERM)
}

func TestServe_ExitsWithZeroIfStoppedWhileItWaits(t *testing.T) {
	t.Parallel()
	p := start(t, append(serveEnviron(t), "ADSYNC_BROKER_BROKERS=127.0.0.1:1"), "serve")
	p.await(t, "msg", "the start waits for Kafka and its topics")
	p.stop(t, syscall.SIGTERM)
}
