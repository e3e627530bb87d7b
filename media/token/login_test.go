package token

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/redis/redistest"
	"adsync/base/secret"
	"adsync/media"
)

// later is a clock that a test can advance.
type later struct {
	clock.System
	ahead atomic.Int64
}

func (l *later) Now() time.Time { return time.Now().Add(time.Duration(l.ahead.Load())) }

func TestLogin_SendsNoTokenThatHasEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		life time.Duration
		busy func(l *later) // called during the refresh
	}{
		{"before the call", -time.Second, func(*later) {}},
		{"at this moment", 0, func(*later) {}},
		{"while the refresh is under way", renewBefore / 2, func(l *later) { l.ahead.Store(int64(renewBefore)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, l := newWorld(t, c.life), &later{}
			w.platform.answer = func(int32, string) (media.Tokens, error) {
				c.busy(l)
				return media.Tokens{}, &media.Error{Class: media.Transient, Message: "busy"}
			}
			k := w.keeper(t) // It has no Redis.
			k.Clock = l
			for range 2 {
				login, err := k.Login(t.Context(), w.id)
				requireDeferred(t, err)
				require.Empty(t, login.Access.Reveal())
			}
			require.EqualValues(t, 1, w.platform.refreshes.Load(), "a failed refresh rests")
		})
	}
}

// waiting is a context that signals when a caller waits for its end.
type waiting struct {
	context.Context
	begun chan struct{}
	once  sync.Once
}

func (w *waiting) Done() <-chan struct{} {
	w.once.Do(func() { close(w.begun) })
	return w.Context.Done()
}

// A refresh that was under way when a token was refused may return that same token: then it is refreshed again.
func TestRenew_RefreshesATokenThatTheRefreshUnderWayReturned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	k := w.keeper(t)
	login, err := k.Login(t.Context(), w.id)
	require.NoError(t, err)
	underWay := &flight{done: make(chan struct{}), login: login}
	k.mu.Lock()
	k.flights[w.id] = underWay
	k.mu.Unlock()
	ctx := &waiting{Context: context.WithoutCancel(t.Context()), begun: make(chan struct{})}
	renewed := make(chan Login, 1)
	go func() {
		next, err := k.Renew(ctx, w.id, login.Generation, nil)
		if err == nil {
			renewed <- next
		}
		close(renewed)
	}()
	<-ctx.begun
	k.mu.Lock()
	delete(k.flights, w.id)
	k.mu.Unlock()
	close(underWay.done)
	require.Equal(t, login.Generation+1, (<-renewed).Generation)
	require.EqualValues(t, 1, w.platform.refreshes.Load())
}

// A login that was authorised again in a newly created database has generation 1, and is used at once.
func TestReload_ReplacesWhatTheProcessKnows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	w.redis, w.keys = redistest.New(t)
	k := w.keeper(t)
	k.share(t.Context(), Login{ID: w.id, Generation: 7, Access: secret.NewText("of an earlier database"),
		Expires: time.Now().Add(time.Hour)})
	k.remember(Login{ID: w.id, Generation: 7, Access: secret.NewText("of an earlier database"),
		Expires: time.Now().Add(time.Hour)})
	require.NoError(t, k.Reload(t.Context(), w.id))
	login, err := k.Login(t.Context(), w.id)
	require.NoError(t, err)
	require.EqualValues(t, 1, login.Generation)
	require.Equal(t, "access-1", login.Access.Reveal())
	login, err = w.keeper(t).Login(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, "access-1", login.Access.Reveal(), "other processes read it from Redis")

	k.Refused(w.id, 1, &media.Error{Class: media.Auth})
	require.NoError(t, k.Reload(t.Context(), w.id))
	_, err = k.Login(t.Context(), w.id)
	require.NoError(t, err, "a person has acted, so the rest is over")
}

// A parked login is not used, even while its access token is still valid.
func TestLogin_AParkedOneDoesNotUseItsOldToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, renewBefore/2)
	w.platform.answer = func(int32, string) (media.Tokens, error) {
		return media.Tokens{}, &media.Error{Class: media.Auth, Message: "revoked"}
	}
	k := w.keeper(t)
	for range 2 {
		login, err := k.Login(t.Context(), w.id)
		requireParked(t, err)
		require.Empty(t, login.Access.Reveal())
	}
}

// Reading the refused token again, from any source, does not end the rest.
func TestRefused_TheSameTokenDoesNotEndTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	k := w.keeper(t)
	_, err := k.Login(t.Context(), w.id)
	require.NoError(t, err)
	k.Refused(w.id, 1, &media.Error{Class: media.Auth, Message: "revoked"})
	_, _, err = k.read(t.Context(), w.id)
	require.NoError(t, err)
	_, err = k.Login(t.Context(), w.id)
	require.Positive(t, requireAuth(t, err))
}

func TestLogin_AnOlderTokenDoesNotTakeThePlaceOfANewerOne(t *testing.T) {
	t.Parallel()
	k := newWorld(t, time.Hour).keeper(t)
	k.remember(Login{ID: 9, Generation: 2, Access: secret.NewText("new")})
	k.remember(Login{ID: 9, Generation: 1, Access: secret.NewText("old")}) // Redis may return it.
	login, _, err := k.known(9)
	require.NoError(t, err)
	require.Equal(t, "new", login.Access.Reveal())
	k.replace(Login{ID: 9, Generation: 1, Access: secret.NewText("of a newly created table")})
	login, _, err = k.known(9)
	require.NoError(t, err)
	require.EqualValues(t, 1, login.Generation)
}
