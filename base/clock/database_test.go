package clock

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// ahead is a database whose clock is off by a given duration.
type ahead struct {
	by    atomic.Int64
	delay time.Duration
	fail  atomic.Bool
}

func (a *ahead) read(ctx context.Context) (time.Time, error) {
	if a.fail.Load() {
		return time.Time{}, errors.New("gone away")
	}
	select {
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-time.After(a.delay / 2):
	}
	now := time.Now().Add(time.Duration(a.by.Load()))
	<-time.After(a.delay / 2)
	return now, nil
}

func TestDatabase_HasTheDatabasesTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &ahead{delay: 100 * time.Millisecond}
		source.by.Store(int64(3 * time.Minute))
		c := NewDatabase(source.read, slog.New(slog.DiscardHandler))
		require.NoError(t, c.Start(t.Context()))
		defer c.Stop()
		require.Equal(t, time.Now().Add(3*time.Minute).UTC(), c.Now(), "half of the round trip is added")
		require.Equal(t, time.UTC, c.Now().Location())
		require.Equal(t, time.Minute, c.Until(time.Now().Add(4*time.Minute)))

		<-time.After(5 * time.Second)
		require.Equal(t, time.Now().Add(3*time.Minute).UTC(), c.Now(), "it advances between the renewals")

		source.by.Store(int64(5 * time.Minute))
		<-time.After(6 * time.Second)
		require.Equal(t, time.Now().Add(5*time.Minute).UTC(), c.Now(), "a renewal applies the new offset")
	})
}

func TestDatabase_NeverGoesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &ahead{}
		c := NewDatabase(source.read, slog.New(slog.DiscardHandler))
		require.NoError(t, c.Start(t.Context()))
		defer c.Stop()
		<-time.After(9 * time.Second)
		before := c.Now()
		source.by.Store(int64(-time.Minute))
		<-time.After(2 * time.Second)
		require.Equal(t, before, c.Now(), "it stands still")
		<-time.After(time.Minute)
		require.True(t, c.Now().After(before), "until the database has caught up")
		require.Equal(t, time.Now().Add(-time.Minute).UTC(), c.Now())
	})
}

func TestDatabase_ASlowAnswerIsNotUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var slow atomic.Bool
		c := NewDatabase(func(context.Context) (time.Time, error) {
			now := time.Now()
			if slow.Load() {
				time.Sleep(4 * time.Second) // It was stopped after it had read its clock.
			}
			return now, nil
		}, slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, c.Start(t.Context()))
		defer c.Stop()
		slow.Store(true)
		time.Sleep(5 * time.Minute)
		require.Equal(t, time.Now().UTC(), c.Now(), "the earlier offset is better")
		time.Sleep(slowAnswersMax)
		require.Equal(t, time.Now().Add(-2*time.Second).UTC(), c.Now(), "but not forever")
		c.Stop()
		require.Equal(t, 1, strings.Count(log.String(), "has changed"), log.String())
	})
}

func TestDatabase_ContinuesWithoutAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &ahead{}
		source.by.Store(int64(time.Hour))
		c := NewDatabase(source.read, slog.New(slog.DiscardHandler))
		require.NoError(t, c.Start(t.Context()))
		source.fail.Store(true)
		<-time.After(time.Minute)
		require.Equal(t, time.Now().Add(time.Hour).UTC(), c.Now())
		c.Stop()
		c.Stop()
		require.Equal(t, time.Now().Add(time.Hour).UTC(), c.Now(), "also after the stop")
	})
}

func TestDatabase_StartFailsWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	source := &ahead{}
	source.fail.Store(true)
	c := NewDatabase(source.read, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, c.Start(t.Context()), "gone away")
	c.Stop()
}
