package settings_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

func TestFindAccounts(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	var found []settings.Account
	var ids []string
	for i := range 1201 { // more than fit into one statement
		id := strconv.Itoa(7000 + i)
		found, ids = append(found, settings.Account{ExternalID: id, Timezone: "Asia/Shanghai", Currency: "CNY"}),
			append(ids, id)
	}
	_, err := s.PutAccounts(t.Context(), "tulip", 1, found)
	require.NoError(t, err)
	_, err = s.PutAccounts(t.Context(), "orchid", 2,
		[]settings.Account{{ExternalID: "1", Timezone: "UTC", Currency: "USD"}})
	require.NoError(t, err)

	got, err := s.FindAccounts(t.Context(), "tulip", append(ids, "1", "none", "账户", "\xff"))
	require.NoError(t, err)
	require.Len(t, got, 1201, "neither another media's account nor an unknown one")
	require.Equal(t, "7000", got["7000"].ExternalID)
	require.Equal(t, "Asia/Shanghai", got["8200"].Timezone)

	got, err = s.FindAccounts(t.Context(), "tulip", nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestNamedAccounts_TakesEachFormOfAName(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	put := func(media string, token int64, ids ...string) {
		t.Helper()
		var accounts []settings.Account
		for _, id := range ids {
			accounts = append(accounts, settings.Account{ExternalID: id, Timezone: "UTC", Currency: "CNY"})
		}
		_, err := s.PutAccounts(t.Context(), media, token, accounts)
		require.NoError(t, err)
	}
	put("tulip", 1, "7001", "7002")
	put("orchid", 2, "7002", "8001")
	all, err := s.FindAccounts(t.Context(), "tulip", []string{"7001"})
	require.NoError(t, err)
	ours := strconv.FormatInt(all["7001"].ID, 10)
	for _, tt := range []struct {
		name, media, given, want string
	}{
		{"the platform's id of a platform", "tulip", "7001", "tulip/7001"},
		{"with the platform before it", "tulip", "tulip/7001", "tulip/7001"},
		{"our id", "tulip", ours, "tulip/7001"},
		{"our id without a platform", "", ours, "tulip/7001"},
		{"our id behind the platform", "", "tulip/" + ours, "tulip/7001"},
		{"an id that one platform has", "", "8001", "orchid/8001"},
		{"an id that two platforms have", "", "7002", ""},
		{"that id with its platform", "", "orchid/7002", "orchid/7002"},
		{"an account of another platform", "tulip", "orchid/8001", ""},
		{"another platform's id", "tulip", "8001", ""},
		{"our id of another platform", "orchid", ours, ""},
		{"nothing", "", "", ""},
		{"no account", "", "tulip/none", ""},
		{"what no column holds", "", "账户", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found, err := s.NamedAccounts(t.Context(), tt.media, []string{tt.given})
			require.NoError(t, err)
			account, ok := found[tt.given]
			require.Equal(t, tt.want != "", ok)
			if ok {
				require.Equal(t, tt.want, account.Media+"/"+account.ExternalID)
			}
		})
	}
}

func TestAccountRefs_AreThoseOfTheRows(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ids, err := s.PutAccounts(t.Context(), "orchid", putLogin(t, s), []settings.Account{
		{ExternalID: "1", Name: "一", Timezone: "Asia/Shanghai", Currency: "CNY"},
		{ExternalID: "2", Name: "two", Timezone: "UTC", Currency: "USD"},
	})
	require.NoError(t, err)
	require.NoError(t, s.Config.Writer(t.Context()).Exec(
		"UPDATE media_account SET parked = 'revoked: code 7' WHERE id = ?", ids["2"]).Error)
	refs, err := s.AccountRefs(t.Context())
	require.NoError(t, err)
	require.Len(t, refs, 2)
	for _, ref := range refs {
		account, err := s.Account(t.Context(), ref.ID)
		require.NoError(t, err)
		require.Equal(t, account.Ref(), ref)
	}
}

func TestScopeZones_AreThoseOfAFanOutsAccounts(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	for _, a := range []struct{ media, id, tier, zone, parked string }{
		{"tulip", "1", "active", "Asia/Shanghai", ""},
		{"tulip", "2", "active", "Asia/Shanghai", ""},
		{"tulip", "3", "inactive", "America/New_York", ""},
		{"tulip", "4", "active", "Asia/Tokyo", "re-authorise"},
		{"orchid", "5", "active", "UTC", ""},
	} {
		err := s.Config.Writer(t.Context()).Exec(
			"INSERT INTO media_account (media, external_id, token_id, tier, timezone, parked) VALUES (?, ?, 1, ?, ?, ?)",
			a.media, a.id, a.tier, a.zone, a.parked).Error
		require.NoError(t, err)
	}
	zones := func(tiers ...string) map[string]int64 {
		got, err := s.ScopeZones(t.Context(), "tulip", tiers)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, map[string]int64{"Asia/Shanghai": 2}, zones("active"))
	require.Equal(t, map[string]int64{"America/New_York": 1, "Asia/Shanghai": 2}, zones("active", "inactive"))
	require.Equal(t, map[string]int64{"America/New_York": 1, "Asia/Shanghai": 2}, zones())
	require.Empty(t, zones("invalid"))
}

func TestSplitName_SeparatesThePlatform(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"tulip/20000082": {"tulip", "20000082"},
		"20000082":       {"", "20000082"},
		"tulip/":         {"tulip", ""},
		"/20000082":      {"", "/20000082"},
		"":               {"", ""},
	} {
		media, id := settings.SplitName(name)
		require.Equal(t, want, [2]string{media, id}, name)
	}
}
