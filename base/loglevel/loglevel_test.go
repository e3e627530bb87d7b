package loglevel

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adsync/base/redis"
	"adsync/base/redis/redistest"
	"adsync/base/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// process is one that follows orders.
type process struct {
	level *slog.LevelVar
	log   bytes.Buffer
}

func startProcess(t *testing.T, server *redistest.Virtual, role, node string) *process {
	t.Helper()
	p := &process{}
	logger, level, err := telemetry.NewLogger(telemetry.Config{Level: "warn", Format: "text"}, &p.log)
	require.NoError(t, err)
	p.level = level
	f := NewFollower(NewOrders(server.Client(t), redis.NewKeys("test")), role, node, level, logger)
	require.NoError(t, f.Start(t.Context()))
	t.Cleanup(f.Stop)
	return p
}

func TestFollower_FollowsOrdersForTheirTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.NewVirtual(t)
		producer, consumer := startProcess(t, server, "producer", "n1"), startProcess(t, server, "consumer", "n2")
		orders := NewOrders(server.Client(t), redis.NewKeys("test"))
		levels := func() []slog.Level {
			time.Sleep(pollInterval)
			synctest.Wait()
			return []slog.Level{producer.level.Level(), consumer.level.Level()}
		}
		const warn, debug = slog.LevelWarn, slog.LevelDebug
		require.Equal(t, []slog.Level{warn, warn}, levels())

		require.NoError(t, orders.Put(t.Context(), Order{Level: "debug", By: "ada"}, 3*pollInterval))
		require.Equal(t, []slog.Level{debug, debug}, levels())
		time.Sleep(2 * pollInterval)
		require.Equal(t, []slog.Level{warn, warn}, levels(), "no operator need end it")
		require.Contains(t, consumer.log.String(), "to=DEBUG by=ada configured=WARN")
		require.Contains(t, consumer.log.String(), `to=WARN by=""`)

		require.NoError(t, orders.Put(t.Context(), Order{Level: "debug", Role: "consumer"}, time.Hour))
		require.Equal(t, []slog.Level{warn, debug}, levels())
		require.NoError(t, orders.Put(t.Context(), Order{Level: "error", Node: "n1"}, time.Hour))
		require.Equal(t, []slog.Level{slog.LevelError, warn}, levels())
		require.NoError(t, orders.End(t.Context()))
		require.Equal(t, []slog.Level{warn, warn}, levels())
	})
}

func TestFollower_AnOrderAlsoEndsWithoutRedis(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.NewVirtual(t)
		p := startProcess(t, server, "all", "n1")
		require.NoError(t, NewOrders(server.Client(t), redis.NewKeys("test")).Put(t.Context(), Order{Level: "debug"},
			time.Minute))
		time.Sleep(pollInterval)
		synctest.Wait()
		require.Equal(t, slog.LevelDebug, p.level.Level())
		server.Mini.SetError("LOADING")
		time.Sleep(30 * time.Second)
		synctest.Wait()
		require.Equal(t, slog.LevelDebug, p.level.Level())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, slog.LevelWarn, p.level.Level())
		server.Mini.SetError("")
	})
}
