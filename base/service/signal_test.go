package service

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestNotify_FirstSignalStopsAndSecondExits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		var codes []int
		ctx, cancel := notify(t.Context(), signals, func(code int) { codes = append(codes, code) })
		defer cancel()
		require.NoError(t, ctx.Err())

		signals <- syscall.SIGTERM
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrSignal)
		require.EqualError(t, context.Cause(ctx), "signal: terminated")
		synctest.Wait()
		require.Empty(t, codes)

		signals <- syscall.SIGINT
		synctest.Wait()
		require.Equal(t, []int{ExitInterrupted}, codes)
	})
}

func TestNotify_CancelEndsItWithoutASignal(t *testing.T) {
	t.Parallel()
	ctx, cancel := NotifyContext(t.Context(), func(int) { t.Error("exits") })
	cancel()
	cancel()
	<-ctx.Done()
	require.NotErrorIs(t, context.Cause(ctx), ErrSignal)
}
