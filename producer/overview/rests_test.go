package overview_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/storetest"
	"adsync/client"
	"adsync/producer/overview"
	"adsync/producer/overview/overviewtest"
)

// A refresh that rests is a note while the old access token is good, and a warning after that.
func TestRead_NamesTheAccountsAndTheMoneyBehindARest(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	overviewtest.Fill(t, s)
	var of struct {
		ID    int64
		Login string
	}
	require.NoError(t, s.Config.Writer(t.Context()).Raw(
		"SELECT t.id, t.login FROM media_account a JOIN media_token t ON t.id = a.token_id"+
			" WHERE a.media = 'tulip' AND a.tier = 'active' AND a.parked = '' AND a.bound = 1 AND t.state = 'ok'"+
			" ORDER BY a.id LIMIT 1").Scan(&of).Error)
	rests := func() (found []client.Attention) {
		for _, a := range overview.NewReader(options(s)).Read(t.Context()).Attention {
			if a.Kind == "refresh_rests" {
				found = append(found, a)
			}
		}
		return found
	}
	require.Empty(t, rests())
	row, err := s.Token(t.Context(), of.ID)
	require.NoError(t, err)
	mine, err := s.ClaimRefresh(t.Context(), of.ID, row.Generation, "holder", time.Minute)
	require.NoError(t, err)
	require.True(t, mine)
	require.Empty(t, rests(), "a refresh that is under way does not rest")
	require.NoError(t, s.PostponeRefresh(t.Context(), of.ID, "holder", time.Hour, "11018: over the limit of the day"))
	for _, c := range []struct {
		name     string
		expires  time.Time
		severity string
		remedy   string
		moneyOf  string
	}{
		{"its access token is good", overviewtest.Now.Add(time.Hour), overview.Note,
			"Until its access token ends, calls use it.", "a day is pulled with it"},
		{"its access token has ended", overviewtest.Now.Add(-time.Hour), overview.Warn, "its accounts wait",
			"a day is not pulled"},
	} {
		require.NoError(t, s.Config.Writer(t.Context()).Exec("UPDATE media_token SET access_expires_at = ? WHERE id = ?",
			sqldb.At(c.expires), of.ID).Error)
		found := rests()
		require.Len(t, found, 1, c.name)
		a := found[0]
		require.Equal(t, c.severity, a.Severity, c.name)
		require.Equal(t, "11018: over the limit of the day.", a.Cause)
		require.Contains(t, a.Title, "are not refreshed until ")
		require.Contains(t, a.Remedy, c.remedy)
		require.Equal(t, c.moneyOf, a.MoneyOf)
		require.Positive(t, a.Accounts)
		require.NotEmpty(t, a.Money)
		require.Equal(t, "adsync limits end-pause --media tulip --endpoint token_refresh --subject "+of.Login, a.Command)
	}
	require.NoError(t, s.EndRest(t.Context(), of.ID))
	require.Empty(t, rests())
}
