package embedded

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServer_ServesAndLetsKeysExpire(t *testing.T) {
	t.Parallel()
	s, err := Start()
	require.NoError(t, err)
	defer s.Close()
	client := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
	defer client.Close()
	ctx := t.Context()
	require.NoError(t, client.Set(ctx, "short", 1, time.Second).Err())
	require.NoError(t, client.Set(ctx, "long", 1, time.Hour).Err())
	require.NoError(t, client.Set(ctx, "kept", 1, 0).Err())

	require.Eventually(t, func() bool { return client.Exists(ctx, "short").Val() == 0 }, 30*time.Second,
		20*time.Millisecond)
	require.EqualValues(t, 2, client.Exists(ctx, "long", "kept").Val())
}

func TestServer_CloseTwice(t *testing.T) {
	t.Parallel()
	s, err := Start()
	require.NoError(t, err)
	s.Close()
	s.Close()
	other, err := Start()
	require.NoError(t, err, "two can run side by side")
	other.Close()
}
