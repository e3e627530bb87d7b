package simulated_test

import (
	"encoding/json"
	"log/slog"
	"testing"

	"adsync/base/ratelimit/grant"
	"adsync/base/secret"
	"adsync/media/account"
	"adsync/media/oceanengine"
	"adsync/simulator"
	"adsync/test/platforms/simclient"

	"github.com/stretchr/testify/require"
)

// A login that authorised a workbench or an agency reaches the advertisers below it. Other accounts are left out by
// name.
func TestAccounts_ALoginsContainersAreExpanded(t *testing.T) {
	t.Parallel()
	platform := oceanengine.New()
	server := simclient.ServeWorld(simulator.Config{Accounts: simclient.OfEach(500), Seed: 7}, platform.Name())(t)
	w := simclient.Of(t, platform.Name(), server)
	var credentials map[string]struct {
		Apps []struct {
			Logins []struct {
				Access   string   `json:"access_token"`
				Refresh  string   `json:"refresh_token"`
				Accounts []string `json:"account_ids"`
			} `json:"logins"`
		} `json:"apps"`
	}
	require.NoError(t, json.Unmarshal(w.Get(t, "credentials", nil), &credentials))
	logins := credentials[platform.Name()].Apps[0].Logins
	require.Len(t, logins, 5)
	for i, l := range logins {
		of := *server
		of.Access, of.Refresh = secret.NewText(l.Access), secret.NewText(l.Refresh)
		p := simclient.Start(t, platform, &of)
		require.NoError(t, p.Rules.Set([]grant.Rule{})) // the world has no limits either
		o := account.Options{Platform: platform, Caller: p.Client, Store: p.Store, Logger: slog.New(slog.DiscardHandler)}
		listed, err := o.List(t.Context(), p.Client.ForLogin(p.Login), p.Login)
		require.NoError(t, err)
		require.Equal(t, len(l.Accounts), listed.Rows, "login %d", i+1)
		var found []string
		require.NoError(t,
			p.Store.Config.Writer(t.Context()).Raw("SELECT external_id FROM media_account ORDER BY external_id").Scan(
				&found).Error)
		require.ElementsMatch(t, l.Accounts, found)
		if i == 4 {
			require.Contains(t, listed.Note(), "an account of type PLATFORM_ROLE_STAR is not an advertiser")
		} else {
			require.Empty(t, listed.Note())
		}
	}
}
