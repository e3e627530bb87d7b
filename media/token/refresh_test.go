package token

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
	"adsync/media"
)

func TestRenew_RestsAfterAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	w.platform.answer = func(int32, string) (media.Tokens, error) {
		return media.Tokens{}, &media.Error{Class: media.Transient, Message: "busy", RetryAfter: time.Minute}
	}
	_, err := w.keeper(t).Renew(t.Context(), w.id, 1, nil)
	require.ErrorContains(t, err, "busy")
	require.Equal(t, time.Minute, requireDeferred(t, err), "waiting subtasks continue to wait, at no attempt")
	_, err = w.keeper(t).Renew(t.Context(), w.id, 1, nil)
	require.Greater(t, requireDeferred(t, err), 30*time.Second)
	require.EqualValues(t, 1, w.platform.refreshes.Load())
	require.Equal(t, settings.TokenOK, w.row(t).State)
}

// Each failed try doubles the pause before the next, up to five minutes. A platform may demand more, up to the cap.
func TestRenew_RestsLongerAfterEachFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	asked := time.Duration(0)
	w.platform.answer = func(int32, string) (media.Tokens, error) {
		return media.Tokens{}, &media.Error{Class: media.Transient, Message: "busy", RetryAfter: asked}
	}
	k := w.keeper(t)
	fail := func() time.Duration {
		_, err := k.Renew(t.Context(), w.id, 1, nil)
		w.lapse(t)
		return requireDeferred(t, err)
	}
	for _, want := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300} {
		require.Equal(t, time.Duration(want)*time.Second, fail())
	}
	asked = 365 * 24 * time.Hour
	require.Equal(t, media.PauseMaxDefault, fail())
	k.PauseMax = 10 * time.Minute
	require.Equal(t, 10*time.Minute, fail())
}

// The accounts of a parked login are pulled with another login that reaches them.
func TestRenew_AParkedLoginLeavesItsAccountsToAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	w.platform.answer = func(int32, string) (media.Tokens, error) {
		return media.Tokens{}, &media.Error{Class: media.Auth, Message: "no such token"}
	}
	other, err := PutLogin(t.Context(), w.store, w.box,
		settings.Token{Media: "fake", AppID: "17", Login: "somebody else", AccessExpires: time.Now().Add(time.Hour),
			RefreshExpires: EndUnknown},
		secret.NewText("access-of-another"), secret.Text{})
	require.NoError(t, err)
	var ids map[string]int64
	for _, login := range []int64{w.id, other} {
		ids, err = w.store.PutAccounts(t.Context(), "fake", login,
			[]settings.Account{{ExternalID: "1", Timezone: "UTC", Currency: "CNY"}})
		require.NoError(t, err)
	}
	k := w.keeper(t)
	for range 2 { // A second look at a parked login does not count it again.
		_, err = k.Renew(t.Context(), w.id, 1, nil)
		requireParked(t, err)
		k.logins[w.id].heldUntil = time.Now()
	}
	account, err := w.store.Account(t.Context(), ids["1"])
	require.NoError(t, err)
	require.Equal(t, other, account.TokenID)
	require.InDelta(t, 1, testutil.ToFloat64(k.metrics.parked.WithLabelValues("fake")), 0)
}

func TestRenew_StoresHowLongTheNewPairLives(t *testing.T) {
	t.Parallel()
	for life, want := range map[time.Duration]time.Duration{20 * time.Minute: 20 * time.Minute,
		90 * 24 * time.Hour: 90 * 24 * time.Hour, 1 << 62: lifeMax} {
		w := newWorld(t, time.Hour)
		w.platform.answer = func(n int32, _ string) (media.Tokens, error) {
			tokens := pair(n + 1)
			tokens.AccessExpires, tokens.RefreshExpires = life, life
			return tokens, nil
		}
		_, err := w.keeper(t).Renew(t.Context(), w.id, 1, nil)
		require.NoError(t, err)
		row := w.row(t)
		require.WithinDuration(t, time.Now().Add(want), row.AccessExpires, time.Minute)
		require.WithinDuration(t, time.Now().Add(want), row.RefreshExpires, time.Minute)
	}
}

// New tokens that cannot be kept or sent are not requested again: the platform would issue such tokens again, or has
// killed the old pair.
func TestRenew_ParksALoginWhoseNewTokensCannotBeKept(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("secret", lengthMax)
	for _, c := range []struct {
		name            string
		access, refresh string
		reason          string
	}{
		{"an access token of 196,608 bytes", long, "refresh-2", "the access token has 196608 bytes: want at most 32768"},
		{"a refresh token of 196,608 bytes", "access-2", long, "the refresh token has 196608 bytes: want at most 32768"},
		{"an access token of two lines", "secret\nX-Injected: 1", "refresh-2", "the access token holds control characters"},
		{"a refresh token that was cut inside a character", "access-2", "secret\uFFFD",
			"the refresh token holds control characters or is no UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, time.Hour)
			w.platform.answer = func(int32, string) (media.Tokens, error) {
				return media.Tokens{Access: secret.NewText(c.access), Refresh: secret.NewText(c.refresh), AccessExpires: time.Hour},
					nil
			}
			k := w.keeper(t)
			_, err := k.Renew(t.Context(), w.id, 1, nil)
			requireParked(t, err)
			_, err = w.keeper(t).Login(t.Context(), w.id)
			requireParked(t, err)
			require.EqualValues(t, 1, w.platform.refreshes.Load())
			row := w.row(t)
			require.Equal(t, settings.TokenReauthorise, row.State)
			require.Contains(t, row.StateReason, "the platform renewed its tokens, and they cannot be kept: "+c.reason)
			require.Contains(t, w.log.String(), "login must be authorised again: its new tokens cannot be kept")
			require.NotContains(t, w.log.String(), "secret")
			require.InDelta(t, 1, testutil.ToFloat64(k.metrics.refreshes.WithLabelValues("fake", "unusable")), 0)
		})
	}
}

// A pair that the database refuses does not wait as it would for a database that is away.
func TestRenew_ParksALoginWhoseNewTokensTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	w.platform.answer = func(n int32, _ string) (media.Tokens, error) {
		if w.store.Config.Dialect() == sqldb.SQLiteDialect {
			w.refuse(t,
				"CREATE TRIGGER refuses BEFORE UPDATE OF access_token ON media_token BEGIN SELECT RAISE(ABORT, 'a text does not "+
					"fit its column of media_token'); END")
		} else {
			w.refuse(t, "ALTER TABLE media_token MODIFY COLUMN access_token VARCHAR(75) NOT NULL")
		}
		tokens := pair(n + 1)
		tokens.Access = secret.NewText(strings.Repeat("longer than the column", 4))
		return tokens, nil
	}
	_, err := w.keeper(t).Renew(t.Context(), w.id, 1, nil)
	requireParked(t, err)
	require.Contains(t, w.row(t).StateReason, "they cannot be kept")
}

func (w *world) refuse(t *testing.T, statement string) {
	t.Helper()
	require.NoError(t, w.store.Config.Writer(t.Context()).Exec(statement).Error)
}

func TestRenew_KeepsLongTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	long := media.Tokens{Access: secret.NewText(strings.Repeat("a", lengthMax)),
		Refresh: secret.NewText(strings.Repeat("r", lengthMax)), AccessExpires: time.Hour}
	w.platform.answer = func(n int32, refresh string) (media.Tokens, error) {
		if n == 2 {
			require.Equal(t, long.Refresh.Reveal(), refresh)
		}
		return long, nil
	}
	for generation := range int64(2) {
		_, err := w.keeper(t).Renew(t.Context(), w.id, generation+1, nil)
		require.NoError(t, err)
	}
	login, err := w.keeper(t).Login(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, long.Access.Reveal(), login.Access.Reveal())
}
