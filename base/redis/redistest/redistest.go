// Package redistest gives each test its own Redis.
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

// New returns a client and a key prefix that no other test uses. Both are removed when t ends.
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
	// On a busy machine Redis is slow but not away, and a repeated command would be executed twice.
	cfg.DialTimeout, cfg.ReadTimeout, cfg.WriteTimeout, cfg.PoolTimeout, cfg.MaxRetries = patience, patience, patience,
		patience, 0
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

// As returns a client of a new user with some rights, in the form of ACL SETUSER, on the real Redis. It skips the
// test without one, because the embedded one has no users.
func As(t testing.TB, client goredis.UniversalClient, rights ...string) goredis.UniversalClient {
	t.Helper()
	addr := os.Getenv(Env)
	if addr == "" {
		t.Skip("needs a server with users: set " + Env)
	}
	cfg := redis.DefaultConfig()
	cfg.Addrs, cfg.MaxRetries, cfg.ReadTimeout = []string{addr}, 0, patience
	cfg.Username, cfg.Password = fmt.Sprintf("test-%d", clock.Mark().UnixNano()), secret.NewText("hunter2")
	if err := client.ACLSetUser(context.Background(), cfg.Username,
		append([]string{"on", ">hunter2", "resetchannels"}, rights...)...).Err(); err != nil {
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

// Lose deletes all keys of keys, as if Redis had lost its data. FLUSHALL would delete the keys of other tests.
func Lose(ctx context.Context, client goredis.UniversalClient, keys redis.Keys) error {
	it := client.Scan(ctx, 0, keys.Prefix()+":*", 1000).Iterator()
	for it.Next(ctx) {
		if err := client.Del(ctx, it.Val()).Err(); err != nil {
			return err
		}
	}
	return it.Err()
}

// Virtual is an embedded Redis without sockets, for a testing/synctest bubble: it uses the bubble's clock.
type Virtual struct {
	// Mini is the server itself, for faults and inspection that only it offers.
	Mini *miniredis.Miniredis
}

// NewVirtual returns a server that works until t ends. Call it, and its Client, inside the bubble, and pass the
// bubble's t.
func NewVirtual(t testing.TB) *Virtual {
	t.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	t.Cleanup(m.Close)
	return &Virtual{Mini: m}
}

// manyConnections is more than the calls that a test makes at a time. go-redis reuses the timer of a call that waits
// for a connection for the next one, in whichever bubble. A timer of another bubble ends the program, so no call may
// wait.
const manyConnections = 10_000

// Client returns a new client, as a separate process would have. It is closed when t ends.
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
