package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/base/store/summaries"
)

func (b *bench) login(name string) int64 {
	b.t.Helper()
	row := settings.Token{Media: "tulip", AppID: "17", Login: name, Name: "the " + name, AccessExpires: now,
		RefreshExpires: now.AddDate(0, 1, 0)}
	id, err := b.store.PutLogin(b.t.Context(), row, func(int64) (string, string, error) { return "sealed", "sealed", nil })
	require.NoError(b.t, err)
	return id
}

func TestAccount_ShowsItsLoginsAndGames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, two := b.login("one"), b.login("two")
	found := []settings.Account{{ExternalID: "9001", Name: "a", Timezone: "Asia/Shanghai", Currency: "CNY"}}
	var account int64
	for _, login := range []int64{one, two} {
		ids, err := b.store.PutAccounts(t.Context(), "tulip", login, found)
		require.NoError(t, err)
		account = ids["9001"]
	}
	require.NoError(t,
		b.store.Config.Writer(t.Context()).Exec(
			"UPDATE media_token SET state = 'reauthorise', state_reason = 'it is over' WHERE id = ?", one).Error)
	require.NoError(t, b.store.RouteLogin(t.Context(), one))
	_, _, err := b.store.Rebind(t.Context(), "otto", account, func([]summaries.Binding) (summaries.Binding, error) {
		return summaries.Binding{From: "2026-11-01", To: summaries.LastDay, Game: "starfall", OS: "ios"}, nil
	})
	require.NoError(t, err)

	var got struct {
		Account struct {
			ExternalID string `json:"external_id"`
			Bound      bool
		}
		Logins []struct {
			Login, Name, State, Reason string
			Chosen, Gone               bool
			InUse                      bool      `json:"in_use"`
			SeenAt                     time.Time `json:"seen_at"`
		}
		Bindings []struct{ From, To, Game, OS string }
	}
	decode(t, b.get("/api/v1/accounts/tulip/9001"), &got)
	require.True(t, got.Account.Bound)
	require.Len(t, got.Logins, 2)
	require.WithinDuration(t, time.Now(), got.Logins[0].SeenAt, time.Hour)
	l := got.Logins[0]
	require.Equal(t, []any{"one", "the one", "reauthorise", "it is over", true, false},
		[]any{l.Login, l.Name, l.State, l.Reason, l.Chosen, l.InUse})
	l = got.Logins[1]
	require.Equal(t, []any{"two", "ok", false, true}, []any{l.Login, l.State, l.Chosen, l.InUse})
	require.Equal(t, []struct{ From, To, Game, OS string }{{From: "2026-11-01", Game: "starfall", OS: "ios"}},
		got.Bindings)
	require.NotContains(t, b.get("/api/v1/accounts/tulip/9001"), "sealed")

	require.NoError(t, b.store.BindAccounts(t.Context(), "otto", []int64{account}, false))
	require.Contains(t, b.get("/api/v1/accounts/tulip/9001"), `"bound":false`)
	require.Equal(t, http.StatusNotFound, b.call(http.MethodGet, "/api/v1/accounts/tulip/99999", "", viewerToken).Code)
}
