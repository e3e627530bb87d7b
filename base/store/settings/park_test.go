package settings_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

func TestParkDeadLogins_ParksMoreThanOneStatementReads(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	require.NoError(t,
		s.Config.Writer(t.Context()).Exec(
			`INSERT INTO media_token (id, media, app_id, login, access_token, refresh_token, access_expires_at,
  refresh_expires_at, state, state_reason)
VALUES (1, 'tulip', 'app', 'one', '', '', '2026-11-21 10:00:00', '2026-12-21 10:00:00', 'reauthorise',
  'refused')`).Error)
	const n = 503
	storetest.AddRows(t, s.Config, "media_account (id, media, external_id, token_id, tier, timezone)", n,
		func(i int) []any {
			return []any{i + 1, "tulip", fmt.Sprint("e", i), 1, "active", "Asia/Shanghai"}
		})
	parked, err := s.ParkDeadLogins(t.Context(), "tulip", storetest.Moment)
	require.NoError(t, err)
	require.Equal(t, n, parked)
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i + 1)
	}
	still, err := s.StillParked(t.Context(), ids)
	require.NoError(t, err)
	require.Len(t, still, n)
}

// The next probe may be ten minutes away, and orders are refused until then.
func TestPutLogin_AccountsThatWaitedForItArePulledAgain(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	one, two := putLoginNamed(t, s, "one"), putLoginNamed(t, s, "two")
	found := []settings.Account{
		{ExternalID: "1", Timezone: "UTC", Currency: "CNY"}, {ExternalID: "2", Timezone: "UTC", Currency: "CNY"},
		{ExternalID: "3", Timezone: "UTC", Currency: "CNY"},
	}
	ids, err := s.PutAccounts(t.Context(), "tulip", one, found)
	require.NoError(t, err)
	_, err = s.ParkAccount(t.Context(), ids["2"], "frozen: for a reason of its own", storetest.Moment)
	require.NoError(t, err)
	die := func(login int64) {
		t.Helper()
		require.NoError(t, s.Config.Writer(t.Context()).Exec("UPDATE media_token SET state = ? WHERE id = ?",
			settings.TokenReauthorise, login).Error)
		require.NoError(t, s.RouteLogin(t.Context(), login))
		_, err := s.ParkDeadLogins(t.Context(), "tulip", storetest.Moment)
		require.NoError(t, err)
	}
	pulled := func() (external []string) {
		t.Helper()
		all, err := s.FanOutAccountsOf(t.Context(), "tulip", []int64{ids["1"], ids["2"], ids["3"]})
		require.NoError(t, err)
		for _, a := range all {
			account, err := s.Account(t.Context(), a.ID)
			require.NoError(t, err)
			external = append(external, account.ExternalID)
		}
		return external
	}
	die(one)
	require.Empty(t, pulled())
	_, err = s.SetTiers(t.Context(), []settings.TierChange{{ID: ids["3"], From: settings.TierActive,
		To: settings.TierInvalid, Reason: "login"}}, storetest.Moment)
	require.NoError(t, err)

	require.Equal(t, one, putLoginNamed(t, s, "one"))
	require.Equal(t, []string{"1", "3"}, pulled())
	third, err := s.Account(t.Context(), ids["3"])
	require.NoError(t, err)
	require.Equal(t, settings.TierActive, third.Tier, "the login no longer makes it invalid")
	second, err := s.Account(t.Context(), ids["2"])
	require.NoError(t, err)
	require.Equal(t, "frozen: for a reason of its own", second.Parked)

	die(one)
	require.Empty(t, pulled())
	_, err = s.PutAccounts(t.Context(), "tulip", two, found[:1])
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, pulled(), "another login that works reaches it")
}
