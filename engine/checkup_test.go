package engine

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"adsync/base/redis"
)

// lockedBuffer is a log that a part writes while the test reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestServers_LogFindingsNamesProblemsWithoutDelayingTheStart(t *testing.T) {
	t.Parallel()
	out := &lockedBuffer{}
	client := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer client.Close()
	check := Servers{Redis: client, Keys: redis.NewKeys("adsync")}.LogFindings(slog.New(slog.NewTextHandler(out, nil)))
	require.NoError(t, check.Start(t.Context()))
	require.Eventually(t, func() bool { return out.String() != "" }, time.Minute, time.Millisecond)
	check.Stop()
	require.Contains(t, out.String(),
		`level=WARN msg="a server does not meet adsync's needs" server=redis check=reached state=fault`)
	require.Contains(t, out.String(), `remedy="start Redis, or correct redis.addrs"`)
}
