package settings_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

func putLoginNamed(t *testing.T, s *store.Store, login string, people ...string) int64 {
	t.Helper()
	in := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	row := settings.Token{Media: "tulip", AppID: "17", Login: login, AccessExpires: in,
		RefreshExpires: in.AddDate(0, 1, 0)}
	if len(people) > 0 {
		row.Name, row.Choose = people[0], true
	}
	id, err := s.PutLogin(t.Context(), row, sealed("a", "r"))
	require.NoError(t, err)
	return id
}

func parkLogin(t *testing.T, s *store.Store, id int64) {
	t.Helper()
	row, err := s.Token(t.Context(), id)
	require.NoError(t, err)
	holder := fmt.Sprint("holder of ", id)
	claimed, err := s.ClaimRefresh(t.Context(), id, row.Generation, holder, time.Minute)
	require.NoError(t, err)
	require.True(t, claimed)
	parked, err := s.ParkLogin(t.Context(), id, row.Generation, holder, "refused")
	require.NoError(t, err)
	require.True(t, parked)
	require.NoError(t, s.RouteLogin(t.Context(), id))
}

// The login with which an account is pulled: the chosen one while it is usable, otherwise another usable one.
func TestAccountLogins_FallBackAndReturn(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	one, two, three := putLoginNamed(t, s, "one"), putLoginNamed(t, s, "two"), putLoginNamed(t, s, "three")
	found := []settings.Account{{ExternalID: "1", Timezone: "UTC", Currency: "CNY"},
		{ExternalID: "2", Timezone: "UTC", Currency: "CNY"}}
	ids, err := s.PutAccounts(t.Context(), "tulip", one, found)
	require.NoError(t, err)
	for _, login := range []int64{two, three} {
		again, err := s.PutAccounts(t.Context(), "tulip", login, found[:1]) // They do not reach the second account.
		require.NoError(t, err)
		require.Equal(t, ids["1"], again["1"])
	}
	require.Equal(t, one, putLoginNamed(t, s, "one", "Otto"))
	inUse := func(externalID string) int64 {
		a, err := s.Account(t.Context(), ids[externalID])
		require.NoError(t, err)
		logins, err := s.AccountLogins(t.Context(), ids[externalID])
		require.NoError(t, err)
		for _, l := range logins {
			require.Equal(t, l.ID == a.TokenID, l.InUse)
			require.Equal(t, l.ID == one, l.Chosen, "the one that found it first")
			require.WithinDuration(t, time.Now(), l.SeenAt, time.Hour)
		}
		require.Equal(t, "Otto", logins[0].Name)
		return a.TokenID
	}
	require.Equal(t, one, inUse("1"))

	parkLogin(t, s, one)
	require.Equal(t, two, inUse("1"))
	require.Equal(t, one, inUse("2"), "no other login reaches it")
	parkLogin(t, s, two)
	require.Equal(t, three, inUse("1"))
	putLoginNamed(t, s, "two")
	require.Equal(t, three, inUse("1"), "a usable login is kept")
	parkLogin(t, s, three)
	require.Equal(t, two, inUse("1"))
	putLoginNamed(t, s, "one")
	require.Equal(t, one, inUse("1"), "back to the chosen one")

	// The chosen login no longer reaches the account, and later does again.
	began, err := s.Config.Now(t.Context())
	require.NoError(t, err)
	missed, err := s.MarkGone(t.Context(), one, began.Add(-time.Hour))
	require.NoError(t, err)
	require.Zero(t, missed)
	require.NoError(t, s.Config.Writer(t.Context()).Exec("UPDATE account_login SET seen_at = ? WHERE token_id = ?",
		sqldb.At(began.Add(-time.Minute)), one).Error)
	_, err = s.PutAccounts(t.Context(), "tulip", one, found[1:])
	require.NoError(t, err)
	missed, err = s.MarkGone(t.Context(), one, began)
	require.NoError(t, err)
	require.Equal(t, 1, missed)
	require.Equal(t, two, inUse("1"))
	of, err := s.LoginAccounts(t.Context(), one)
	require.NoError(t, err)
	require.Len(t, of, 1)
	_, err = s.PutAccounts(t.Context(), "tulip", one, found)
	require.NoError(t, err)
	require.Equal(t, one, inUse("1"))

	// An operator changes the state.
	require.NoError(t, s.Config.Writer(t.Context()).Exec("UPDATE media_token SET state = ? WHERE id = ?",
		settings.TokenReauthorise, one).Error)
	require.NoError(t, s.RouteLogin(t.Context(), one))
	require.Equal(t, two, inUse("1"))
}

func TestChooseLogin_HoldsUntilAnotherIsChosen(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	one, two := putLoginNamed(t, s, "one"), putLoginNamed(t, s, "two")
	found := []settings.Account{{ExternalID: "1", Timezone: "UTC", Currency: "CNY"}}
	ids, err := s.PutAccounts(t.Context(), "tulip", one, found)
	require.NoError(t, err)
	require.ErrorContains(t, s.ChooseLogin(t.Context(), ids["1"], two),
		fmt.Sprintf("login %d does not reach the account", two))
	_, err = s.PutAccounts(t.Context(), "tulip", two, found)
	require.NoError(t, err)
	require.NoError(t, s.ChooseLogin(t.Context(), ids["1"], two))
	_, err = s.PutAccounts(t.Context(), "tulip", one, found)
	require.NoError(t, err)
	a, err := s.Account(t.Context(), ids["1"])
	require.NoError(t, err)
	require.Equal(t, two, a.TokenID)
	logins, err := s.AccountLogins(t.Context(), ids["1"])
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, []bool{logins[0].Chosen, logins[1].Chosen})
}

func TestBound_AccountsWaitForAChoice(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	login := putLoginNamed(t, s, "one", "Otto")
	require.Equal(t, login, putLoginNamed(t, s, "one", "Otto the First"))
	require.Equal(t, login, putLoginNamed(t, s, "one"), "an empty name leaves the present one")
	logins, err := s.Logins(t.Context(), "tulip", "17")
	require.NoError(t, err)
	require.Equal(t, []settings.Login{{ID: login, Media: "tulip", AppID: "17", Login: "one", Name: "Otto the First",
		State: settings.TokenOK, Choose: true}}, logins)
	other := putLoginNamed(t, s, "two")
	require.Equal(t, other, putLoginNamed(t, s, "two", "Anna"))
	logins, err = s.Logins(t.Context(), "tulip", "")
	require.NoError(t, err)
	require.Len(t, logins, 2)
	require.False(t, logins[1].Choose, "a known login keeps its setting")
	none, err := s.Logins(t.Context(), "tulip", "18")
	require.NoError(t, err)
	require.Empty(t, none)

	put := func(externalID string) int64 {
		ids, err := s.PutAccounts(t.Context(), "tulip", login,
			[]settings.Account{{ExternalID: externalID, Timezone: "UTC", Currency: "CNY"}})
		require.NoError(t, err)
		return ids[externalID]
	}
	pulled := func() (ids []int64) {
		all, err := s.FanOutAccounts(t.Context(), "tulip", nil, 0, 10)
		require.NoError(t, err)
		for _, a := range all {
			ids = append(ids, a.ID)
		}
		return ids
	}
	first := put("1")
	require.Empty(t, pulled())
	of, err := s.FanOutAccountsOf(t.Context(), "tulip", []int64{first})
	require.NoError(t, err)
	require.Empty(t, of, "not by an order either")
	zones, err := s.ScopeZones(t.Context(), "tulip", nil)
	require.NoError(t, err)
	require.Empty(t, zones)

	require.NoError(t, s.BindAccounts(t.Context(), "otto", []int64{first}, true))
	put("1")
	require.Equal(t, []int64{first}, pulled(), "it stays bound when it is found again")
	require.NoError(t, s.SetChoose(t.Context(), login, false))
	second := put("2")
	require.Equal(t, []int64{first, second}, pulled())
	require.NoError(t, s.BindAccounts(t.Context(), "otto", []int64{first}, false))
	require.Equal(t, []int64{second}, pulled())
}

func TestOAuthState_IsGoodForOneCallback(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	id, code := settings.OAuthID(secret.NewText("the state")), secret.NewText("the code")
	for _, unknown := range []string{id, "the state", strings.ToUpper(id), id + "\n", "漢"} {
		_, err := s.OAuthState(t.Context(), unknown)
		require.ErrorIs(t, err, settings.ErrNoOAuthState)
	}
	row := settings.OAuthState{ID: id, Media: "tulip", AppID: "17", RedirectURI: "https://x.example/cb", AskedBy: "otto"}
	require.NoError(t, s.PutOAuthState(t.Context(), row))
	got, err := s.OAuthState(t.Context(), id)
	require.NoError(t, err)
	require.InDelta(t, settings.OAuthStateLasts.Seconds(), got.Left.Seconds(), 60)
	row.Step, row.Left = settings.OAuthWaiting, got.Left
	require.Equal(t, row, got)

	claim := func(id string) bool {
		mine, err := s.ClaimOAuthState(t.Context(), id, code)
		require.NoError(t, err)
		return mine
	}
	another := settings.OAuthID(secret.NewText("another"))
	require.False(t, claim(another))
	require.True(t, claim(id))
	require.False(t, claim(id), "once")
	got, err = s.OAuthState(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, settings.OAuthExchanging, got.Step)

	used, err := s.OAuthCodeUsed(t.Context(), "tulip", id, code)
	require.NoError(t, err)
	require.False(t, used, "only with its own request")
	used, err = s.OAuthCodeUsed(t.Context(), "tulip", another, code)
	require.NoError(t, err)
	require.True(t, used)

	require.NoError(t, s.UpdateOAuthState(t.Context(),
		settings.OAuthState{ID: id, Step: settings.OAuthDone, TokenID: 7, Accounts: 3, Note: "n"}))
	got, err = s.OAuthState(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, []any{settings.OAuthDone, int64(7), 3, "n"}, []any{got.Step, got.TokenID, got.Accounts, got.Note})

	old := row
	old.ID = settings.OAuthID(secret.NewText("old"))
	require.NoError(t, s.PutOAuthState(t.Context(), old))
	expire := func(back time.Duration) {
		require.NoError(t, s.Config.Writer(t.Context()).Exec("UPDATE oauth_state SET expires_at = ?",
			sqldb.At(time.Now().Add(-back))).Error)
	}
	expire(time.Minute)
	require.False(t, claim(old.ID), "too old")
	expire(8 * 24 * time.Hour)
	row.ID = settings.OAuthID(secret.NewText("new"))
	require.NoError(t, s.PutOAuthState(t.Context(), row))
	_, err = s.OAuthState(t.Context(), old.ID)
	require.ErrorIs(t, err, settings.ErrNoOAuthState, "it was deleted")
	var dump string
	require.NoError(t, s.Config.Writer(t.Context()).Raw("SELECT state_hash FROM oauth_state").Row().Scan(&dump))
	require.NotContains(t, dump, "new")
}

func TestIsUnfit_IsWhatAColumnDoesNotTake(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	err := s.PutApp(t.Context(), settings.App{Media: strings.Repeat("m", 33), ID: "1"})
	require.Error(t, err)
	require.True(t, sqldb.IsUnfit(err), "%v", err)
	for _, statement := range []string{"SELECT nonsense", "INSERT INTO game (code) VALUES ('twice'), ('twice')",
		"INSERT INTO game (code) VALUES (NULL)"} {
		err := s.Config.Writer(t.Context()).Exec(statement).Error
		require.Error(t, err)
		require.False(t, sqldb.IsUnfit(err), "%v", err)
	}
}
