package consumer

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/redis"
	"adsync/base/redis/redistest"
)

// lossy is a hook that passes requests to Redis and, if lose is set, drops the answers. While cut, it passes none.
type lossy struct {
	lose func() error // nil loses nothing
	cut  atomic.Bool
}

func (l *lossy) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (l *lossy) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if l.cut.Load() {
			cmd.SetErr(io.ErrClosedPipe)
			return io.ErrClosedPipe
		}
		err := next(ctx, cmd)
		if l.lose == nil || err != nil {
			return err
		}
		err = l.lose()
		cmd.SetErr(err)
		return err
	}
}

func (l *lossy) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func newClaims(t *testing.T) (*claims, *lossy, *redistest.Virtual) {
	t.Helper()
	r := redistest.NewVirtual(t)
	hook, client := &lossy{}, r.Client(t)
	c := &claims{client: client, keys: redis.NewKeys("test"), node: "n/1", clock: clock.System{}, causes: noCauses()}
	// The scripts are loaded, so that each request is one command.
	release, ok := c.lock(t.Context(), "acme", "warm")
	require.True(t, ok)
	release()
	client.AddHook(hook)
	return c, hook, r
}

func TestClaims_AReleaseIsTriedThoughRedisDidNotAnswerAMomentAgo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, hook, r := newClaims(t)
		release, ok := c.lock(t.Context(), "acme", "1")
		require.True(t, ok)
		hook.lose = func() error { return errors.New("connection reset") }
		other, ok := c.lock(t.Context(), "acme", "2")
		require.True(t, ok)
		hook.lose = nil
		require.True(t, c.away())
		defer other()
		release()
		require.False(t, r.Mini.Exists(c.keys.Of("acme:1", "serial")), "else others would wait until it runs out")
	})
}

func TestClaims_AClaimWhoseAnswerIsLostIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, hook, r := newClaims(t)
		name := c.keys.Of("acme:1", "serial")
		hook.lose = func() error { return errors.New("connection reset") }
		release, ok := c.lock(t.Context(), "acme", "1")
		require.True(t, ok)
		hook.lose = nil
		require.True(t, r.Mini.Exists(name))
		time.Sleep(4 * claimTTL)
		require.True(t, r.Mini.Exists(name), "it is renewed as any other")
		release()
		require.False(t, r.Mini.Exists(name))
	})
}

func TestClaims_WhatIsClaimedTwiceIsOnesOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, r := newClaims(t)
		got, answered := c.claim(t.Context(), "k", "n/1/7")
		require.Equal(t, []bool{true, true}, []bool{got, answered})
		got, answered = c.claim(t.Context(), "k", "n/1/7")
		require.Equal(t, []bool{true, true}, []bool{got, answered}, "a request that was repeated because its answer was lost")
		got, answered = c.claim(t.Context(), "k", "n/2/7")
		require.Equal(t, []bool{false, true}, []bool{got, answered})
		require.Equal(t, claimTTL, r.Mini.TTL("k"))
	})
}
