package token

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/store"
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
	require.Equal(t, time.Minute, requireDeferred(t, err), "those who waited for it wait on, at no attempt")
	_, err = w.keeper(t).Renew(t.Context(), w.id, 1, nil)
	require.Greater(t, requireDeferred(t, err), 30*time.Second)
	require.EqualValues(t, 1, w.platform.refreshes.Load())
	require.Equal(t, store.TokenOK, w.row(t).State)
}

// Each try that fails doubles the pause before the next, up to five minutes; a platform may ask for more, up to the cap of pauses.
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

// The accounts of a login that is parked are pulled with another one that reaches them.
func TestRenew_AParkedLoginLeavesItsAccountsToAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	w.platform.answer = func(int32, string) (media.Tokens, error) {
		return media.Tokens{}, &media.Error{Class: media.Auth, Message: "no such token"}
	}
	other, err := PutLogin(t.Context(), w.store, w.box, store.Token{Media: "fake", AppID: "17", Login: "somebody else", AccessExpires: time.Now().Add(time.Hour), RefreshExpires: EndUntold},
		secret.NewText("access-of-another"), secret.Text{})
	require.NoError(t, err)
	var ids map[string]int64
	for _, login := range []int64{w.id, other} {
		ids, err = w.store.PutAccounts(t.Context(), "fake", login, []store.Account{{ExternalID: "1", Timezone: "UTC", Currency: "CNY"}})
		require.NoError(t, err)
	}
	k := w.keeper(t)
	for range 2 { // A second look at a login that is parked does not count it again.
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
	for told, want := range map[time.Duration]time.Duration{20 * time.Minute: 20 * time.Minute, 90 * 24 * time.Hour: 90 * 24 * time.Hour, 1 << 62: lifeMax} {
		w := newWorld(t, time.Hour)
		w.platform.answer = func(n int32, _ string) (media.Tokens, error) {
			tokens := pair(n + 1)
			tokens.AccessExpires, tokens.RefreshExpires = told, told
			return tokens, nil
		}
		_, err := w.keeper(t).Renew(t.Context(), w.id, 1, nil)
		require.NoError(t, err)
		row := w.row(t)
		require.WithinDuration(t, time.Now().Add(want), row.AccessExpires, time.Minute)
		require.WithinDuration(t, time.Now().Add(want), row.RefreshExpires, time.Minute)
	}
}
