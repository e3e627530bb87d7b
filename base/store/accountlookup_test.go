package store_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store"
	"adsync/base/store/storetest"
)

func TestFindAccounts(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	var found []store.Account
	var ids []string
	for i := range 1201 { // more than one statement takes
		id := strconv.Itoa(7000 + i)
		found, ids = append(found, store.Account{ExternalID: id, Timezone: "Asia/Shanghai", Currency: "CNY"}), append(ids, id)
	}
	_, err := s.PutAccounts(t.Context(), "tencent", 1, found)
	require.NoError(t, err)
	_, err = s.PutAccounts(t.Context(), "oceanengine", 2, []store.Account{{ExternalID: "1", Timezone: "UTC", Currency: "USD"}})
	require.NoError(t, err)

	got, err := s.FindAccounts(t.Context(), "tencent", append(ids, "1", "none", "账户", "\xff"))
	require.NoError(t, err)
	require.Len(t, got, 1201, "neither another media's account nor an unknown one")
	require.Equal(t, "7000", got["7000"].ExternalID)
	require.Equal(t, "Asia/Shanghai", got["8200"].Timezone)

	got, err = s.FindAccounts(t.Context(), "tencent", nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestScopeZones_AreThoseOfTheAccountsThatAFanOutTakes(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	for _, a := range []struct{ media, id, tier, zone, parked string }{
		{"tencent", "1", "active", "Asia/Shanghai", ""},
		{"tencent", "2", "active", "Asia/Shanghai", ""},
		{"tencent", "3", "inactive", "America/New_York", ""},
		{"tencent", "4", "active", "Asia/Tokyo", "re-authorise"},
		{"oceanengine", "5", "active", "UTC", ""},
	} {
		err := s.Config.Writer(t.Context()).Exec("INSERT INTO media_account (media, external_id, token_id, tier, timezone, parked) VALUES (?, ?, 1, ?, ?, ?)",
			a.media, a.id, a.tier, a.zone, a.parked).Error
		require.NoError(t, err)
	}
	zones := func(tiers ...string) map[string]int64 {
		got, err := s.ScopeZones(t.Context(), "tencent", tiers)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, map[string]int64{"Asia/Shanghai": 2}, zones("active"))
	require.Equal(t, map[string]int64{"America/New_York": 1, "Asia/Shanghai": 2}, zones("active", "inactive"))
	require.Equal(t, map[string]int64{"America/New_York": 1, "Asia/Shanghai": 2}, zones())
	require.Empty(t, zones("invalid"))
}
