package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// ErrSignal is the cause of a context that a signal ended: a planned stop.
var ErrSignal = errors.New("signal")

// ExitInterrupted is the exit code after a second signal.
const ExitInterrupted = 130

// NotifyContext returns a context that the first SIGTERM or SIGINT ends, with ErrSignal in its cause. The second
// signal calls exit with ExitInterrupted, for users who do not want to wait for the parts to stop. The returned
// function returns the signals to the runtime.
func NotifyContext(parent context.Context, exit func(code int)) (context.Context, context.CancelFunc) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	ctx, cancel := notify(parent, signals, exit)
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

func notify(parent context.Context, signals <-chan os.Signal, exit func(code int)) (context.Context,
	context.CancelFunc) {
	ctx, end := context.WithCancelCause(parent)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			end(fmt.Errorf("%w: %s", ErrSignal, s))
		case <-done:
			return
		}
		select {
		case <-signals:
			exit(ExitInterrupted)
		case <-done:
		}
	}()
	return ctx, sync.OnceFunc(func() {
		end(context.Canceled)
		close(done)
	})
}
