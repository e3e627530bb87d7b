// Package redistest gives tests a Redis of their own.
package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"adsync/base/clock"
	"adsync/base/redis"
	"adsync/base/secret"
)

// Env names the variable that holds host:port of a real Redis to test on. Without it tests run on an embedded one.
const Env = "ADSYNC_TEST_REDIS"

const patience = 30 * time.Second

// New returns a client and a key prefix that no other test uses; both are cleared away when t ends.
func New(t testing.TB) (goredis.UniversalClient, redis.Keys) {
	t.Helper()
	addr := os.Getenv(Env)
	if addr == "" {
		m := miniredis.RunT(t)
		m.ClockTTL(true)
		addr = m.Addr()
	}
	cfg := redis.DefaultConfig()
	cfg.Addrs = []string{addr}
	// A machine that has much to do is no Redis that is away, and what is sent twice is done twice.
	cfg.DialTimeout, cfg.ReadTimeout, cfg.WriteTimeout, cfg.PoolTimeout, cfg.MaxRetries = patience, patience, patience, patience, 0
	client, err := redis.Open(cfg)
	if err != nil {
		t.Fatalf("open redis: %v", err)
	}
	name := strings.NewReplacer("/", "_", "{", "", "}", "", " ", "_").Replace(t.Name())
	keys := redis.NewKeys(fmt.Sprintf("test:%s:%d", name, clock.Mark().UnixNano()))
	t.Cleanup(func() {
		_ = Lose(context.Background(), client, keys)
		_ = client.Close()
	})
	return client, keys
}

// As returns a client of a new user with some rights, as ACL SETUSER takes them, on the real Redis; it skips the test where there is none, since the embedded
// one knows no users.
func As(t testing.TB, client goredis.UniversalClient, rights ...string) goredis.UniversalClient {
	t.Helper()
	addr := os.Getenv(Env)
	if addr == "" {
		t.Skip("needs a server with users: set " + Env)
	}
	cfg := redis.DefaultConfig()
	cfg.Addrs, cfg.MaxRetries, cfg.ReadTimeout = []string{addr}, 0, patience
	cfg.Username, cfg.Password = fmt.Sprintf("test-%d", clock.Mark().UnixNano()), secret.NewText("hunter2")
	if err := client.ACLSetUser(context.Background(), cfg.Username, append([]string{"on", ">hunter2", "resetchannels"}, rights...)...).Err(); err != nil {
		t.Fatalf("make a user: %v", err)
	}
	as, err := redis.Open(cfg)
	if err != nil {
		t.Fatalf("open redis: %v", err)
	}
	t.Cleanup(func() {
		_ = as.Close()
		_ = client.ACLDelUser(context.Background(), cfg.Username).Err()
	})
	return as
}

// Lose deletes all keys of keys, as if Redis had lost everything. FLUSHALL would take from other tests what is theirs.
func Lose(ctx context.Context, client goredis.UniversalClient, keys redis.Keys) error {
	it := client.Scan(ctx, 0, keys.Prefix()+":*", 1000).Iterator()
	for it.Next(ctx) {
		if err := client.Del(ctx, it.Val()).Err(); err != nil {
			return err
		}
	}
	return it.Err()
}

// Virtual is an embedded Redis without sockets, for a testing/synctest bubble: it lives on the bubble's clock.
type Virtual struct {
	// Mini is the server itself, for the faults and looks that only it offers.
	Mini *miniredis.Miniredis
}

// NewVirtual returns a server that works until t ends. Inside a bubble call it, and its Client, within the bubble, and
// pass the bubble's t.
func NewVirtual(t testing.TB) *Virtual {
	t.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	t.Cleanup(m.Close)
	return &Virtual{Mini: m}
}

// manyConnections is more than the calls that a test makes at a time. go-redis lends the timer of a call that waits for a connection to the
// next one, whichever bubble it is in, and a timer of another bubble ends the program: no call may wait.
const manyConnections = 10_000

// Client returns a new client, as a process of its own would have; it is closed when t ends.
func (v *Virtual) Client(t testing.TB) goredis.UniversalClient {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{
		Dialer:                   func(context.Context, string, string) (net.Conn, error) { return v.Mini.Dial() },
		PoolSize:                 manyConnections,
		ContextTimeoutEnabled:    true,
		MaxRetries:               -1,
		DialerRetries:            1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}
