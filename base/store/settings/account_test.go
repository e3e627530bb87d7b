package settings_test

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/rawtable"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

func TestPutAccounts_AddsRenamesAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	login := putLogin(t, s)
	found := []settings.Account{
		{ExternalID: "1700000000000000002", Name: "二", Timezone: "Asia/Shanghai", Currency: "CNY"},
		{ExternalID: "1700000000000000001", Name: "one", Timezone: "Asia/Shanghai", Currency: "CNY"},
	}
	ids, err := s.PutAccounts(t.Context(), "orchid", login, found)
	require.NoError(t, err)
	require.Len(t, ids, 2)
	got, err := s.Account(t.Context(), ids["1700000000000000002"])
	require.NoError(t, err)
	require.Equal(t, settings.Account{
		ID: ids["1700000000000000002"], Media: "orchid", ExternalID: "1700000000000000002", Name: "二", TokenID: login,
		Tier: settings.TierActive, Timezone: "Asia/Shanghai", Currency: "CNY", Bound: true,
	}, got)

	require.NoError(t,
		s.Config.Writer(t.Context()).Exec("UPDATE media_account SET tier = 'inactive', timezone = 'UTC' WHERE id = ?",
			got.ID).Error)
	found[0].Name = strings.Repeat("长", 300)
	again, err := s.PutAccounts(t.Context(), "orchid", login+1, found[:1])
	require.NoError(t, err)
	require.Equal(t, got.ID, again["1700000000000000002"])
	got, err = s.Account(t.Context(), got.ID)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("长", 255), got.Name)
	require.Equal(t, "inactive", got.Tier, "what an operator set stays")
	require.Equal(t, "UTC", got.Timezone)
	require.Equal(t, login, got.TokenID, "the login that found it first is still usable")

	_, err = s.Account(t.Context(), 999)
	require.ErrorIs(t, err, sql.ErrNoRows)
}

func TestPutAccounts_ManyAtOnceFromTwoLogins(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	found := make([]settings.Account, 1300)
	for i := range found {
		found[i] = settings.Account{ExternalID: fmt.Sprint(10_000_000 + i), Timezone: "UTC", Currency: "CNY"}
	}
	results := make([]map[string]int64, 3)
	errs := make([]error, 3)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { results[i], errs[i] = s.PutAccounts(t.Context(), "tulip", int64(i+1), found) })
	}
	all.Wait()
	for i := range results {
		require.NoError(t, errs[i])
		require.Len(t, results[i], len(found))
		require.Equal(t, results[0], results[i])
	}
}

func TestPutAccountRows_KeepsTheHigherVersion(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	table := rawtable.Table{Name: "tulip_account", Shape: rawtable.AccountRows,
		Columns: []rawtable.Column{{Name: "corporation_name", Kind: rawtable.Text}}}
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{table}))
	put := func(version int64, name any) {
		require.NoError(t, s.PutAccountRows(t.Context(), "tulip", table, version,
			[]settings.AccountRow{{AccountID: 7, Raw: []any{name}, JSON: "{}"}}))
	}
	read := func() (name sql.NullString, version int64) {
		require.NoError(t,
			s.Data.Writer(t.Context()).Raw(
				"SELECT corporation_name, version FROM tulip_account WHERE account_id = 7").Row().Scan(&name, &version))
		return name, version
	}
	put(20, "new")
	put(10, "old")
	name, version := read()
	require.Equal(t, "new", name.String)
	require.EqualValues(t, 20, version)
	put(30, nil)
	name, version = read()
	require.False(t, name.Valid)
	require.EqualValues(t, 30, version)
	require.NoError(t, s.PutAccountRows(t.Context(), "tulip", table, 40, nil))
}
