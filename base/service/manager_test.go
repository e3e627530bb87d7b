package service

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// journal records what fake parts do, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.lines...)
}

// fake is a part that records its calls.
type fake struct {
	name     string
	journal  *journal
	startErr error
	starting func(ctx context.Context) error
	stopping time.Duration
	failed   chan error
}

func (f *fake) Start(ctx context.Context) error {
	f.journal.note("start " + f.name)
	if f.starting != nil {
		return f.starting(ctx)
	}
	return f.startErr
}

func (f *fake) Stop() {
	timer := time.NewTimer(f.stopping)
	defer timer.Stop()
	<-timer.C
	f.journal.note("stop " + f.name)
}

func (f *fake) Failed() <-chan error { return f.failed }

var (
	_ Service = (*fake)(nil)
	_ Failing = (*fake)(nil)
)

type bundle struct {
	*journal
	manager *Manager
	parts   map[string]*fake
	log     *bytes.Buffer
}

func setup(names ...string) *bundle {
	b := &bundle{journal: &journal{}, parts: map[string]*fake{}, log: &bytes.Buffer{}}
	b.manager = NewManager(slog.New(slog.NewTextHandler(b.log, nil)))
	for _, name := range names {
		b.parts[name] = &fake{name: name, journal: b.journal, failed: make(chan error, 1)}
		b.manager.Add(name, b.parts[name])
	}
	return b
}

func TestManager_StartsInOrderAndStopsInReverse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup("store", "broker", "consumer")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() { done <- b.manager.Run(ctx) }()
		synctest.Wait()
		require.Equal(t, []string{"start store", "start broker", "start consumer"}, b.all())

		cancel(ErrSignal)
		require.NoError(t, <-done, "a planned stop is no failure")
		require.Equal(t, []string{"stop consumer", "stop broker", "stop store"}, b.all()[3:])
		require.Contains(t, b.log.String(), "msg=stopping reason=signal")
	})
}

func TestManager_FailedStartStopsTheStarted(t *testing.T) {
	t.Parallel()
	b := setup("store", "broker", "consumer")
	cause := errors.New("no broker")
	b.parts["broker"].startErr = cause
	err := b.manager.Run(t.Context())
	require.ErrorIs(t, err, cause)
	require.EqualError(t, err, "start broker: no broker")
	require.Equal(t, []string{"start store", "start broker", "stop store"}, b.all())
}

func TestManager_StartIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup("store")
		b.parts["store"].starting = func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		began := time.Now()
		require.EqualError(t, b.manager.Run(t.Context()), "start store: it took longer than 1m0s")
		require.Equal(t, StartTimeoutDefault, time.Since(began))
	})
}

func TestManager_StopWhileStartingIsPlanned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup("store", "broker", "consumer")
		ctx, cancel := context.WithCancel(t.Context())
		b.parts["broker"].starting = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		done := make(chan error)
		go func() { done <- b.manager.Run(ctx) }()
		synctest.Wait()
		cancel()
		require.NoError(t, <-done)
		require.Equal(t, []string{"start store", "start broker", "stop store"}, b.all())
	})
}

func TestManager_FailureStopsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup("store", "broker")
		cause := errors.New("connection lost")
		done := make(chan error)
		go func() { done <- b.manager.Run(t.Context()) }()
		synctest.Wait()
		b.parts["store"].failed <- cause
		err := <-done
		require.ErrorIs(t, err, cause)
		require.EqualError(t, err, "store failed: connection lost")
		require.Equal(t, []string{"stop broker", "stop store"}, b.all()[2:])
	})
}

func TestManager_ContinuesWithoutAPartThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup("store", "broker", "consumer")
		b.parts["consumer"].stopping = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := b.manager.Run(ctx)
		require.EqualError(t, err, "consumer did not stop within 13s")
		require.Equal(t, []string{"stop broker", "stop store"}, b.all()[3:], "the others still stop")
		require.Equal(t, time.Second+StopTimeoutDefault, time.Since(began))
		<-time.After(2 * time.Hour) // The bubble may not end before the hanging part.
	})
}

func TestManager_StoppingIsBoundedInTotal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup("store", "broker", "consumer")
		b.parts["consumer"].stopping = time.Hour
		b.parts["broker"].stopping = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := b.manager.Run(ctx)
		require.EqualError(t, err, "consumer did not stop within 13s\nbroker and the parts before it did not stop within 14s")
		require.Equal(t, time.Second+StopTotalDefault, time.Since(began))
		<-time.After(2 * time.Hour) // The bubble may not end before the hanging parts.
	})
}

func TestManager_WithoutPartsWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, setup().manager.Run(ctx))
}
