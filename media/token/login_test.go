package token

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/secret"
	"adsync/media"
)

// later is a clock that may be put ahead.
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
		busy func(l *later) // while the platform is asked
	}{
		{"before it is asked for", -time.Second, func(*later) {}},
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
			k := w.keeper(t) // Without Redis.
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

// A refresh that was under way when a token was refused may bring that very token: it is refreshed again.
func TestRenew_OfATokenThatTheRefreshUnderWayBroughtAsksAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	k := w.keeper(t)
	login, err := k.Login(t.Context(), w.id)
	require.NoError(t, err)
	underWay := &flight{done: make(chan struct{}), login: login}
	k.mu.Lock()
	k.flights[w.id] = underWay
	k.mu.Unlock()
	renewed := make(chan Login, 1)
	go func() {
		next, err := k.Renew(context.WithoutCancel(t.Context()), w.id, login.Generation, nil)
		if err == nil {
			renewed <- next
		}
		close(renewed)
	}()
	k.mu.Lock()
	delete(k.flights, w.id)
	k.mu.Unlock()
	close(underWay.done)
	require.Equal(t, login.Generation+1, (<-renewed).Generation)
	require.EqualValues(t, 1, w.platform.refreshes.Load())
}

func TestLogin_AnOlderTokenDoesNotTakeThePlaceOfANewerOne(t *testing.T) {
	t.Parallel()
	k := newWorld(t, time.Hour).keeper(t)
	k.remember(Login{ID: 9, Generation: 2, Access: secret.NewText("new")})
	k.remember(Login{ID: 9, Generation: 1, Access: secret.NewText("old")}) // As Redis may tell.
	login, _, err := k.known(9)
	require.NoError(t, err)
	require.Equal(t, "new", login.Access.Reveal())
	k.replace(Login{ID: 9, Generation: 1, Access: secret.NewText("of a table that was set up anew")})
	login, _, err = k.known(9)
	require.NoError(t, err)
	require.EqualValues(t, 1, login.Generation)
}
