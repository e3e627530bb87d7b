package simulated_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"adsync/media"
	"adsync/media/tencent"
	"adsync/simulator"
	"adsync/test/platforms/simclient"

	"github.com/stretchr/testify/require"
)

// signed makes signed calls to a platform with a token, without any other part of a real process.
type signed struct {
	media.API
	platform    media.Platform
	base, token string
}

func (s signed) Get(ctx context.Context, endpoint string, query url.Values) (json.RawMessage, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/"+endpoint+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	s.platform.Sign(r, s.token, time.Now())
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	return s.platform.Decode(resp.StatusCode, resp.Header, body)
}

// A world with 401 accounts has four logins: an organisation, an agency, a company of agencies and an advertiser.
func TestAccounts_AreListedForEveryKindOfLogin(t *testing.T) {
	t.Parallel()
	platform := tencent.New()
	world, err := simulator.New(simulator.Config{Accounts: simclient.OfEach(401), Seed: 7})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, world.Close()) })
	server := httptest.NewServer(world.Handler())
	t.Cleanup(server.Close)
	var all map[string]struct {
		Path string `json:"base_url_path"`
		Apps []struct {
			Logins []struct {
				Login    string   `json:"user_id"`
				Name     string   `json:"user_name"`
				Access   string   `json:"access_token"`
				Accounts []string `json:"account_ids"`
			} `json:"logins"`
		} `json:"apps"`
	}
	resp, err := server.Client().Get(server.URL + "/_sim/credentials") //nolint:noctx // The server is our own.
	require.NoError(t, err)
	require.NoError(t, errors.Join(json.NewDecoder(resp.Body).Decode(&all), resp.Body.Close()))
	var names []string
	for _, app := range all[platform.Name()].Apps {
		for _, login := range app.Logins {
			names = append(names, login.Name)
			var found []string
			api := signed{platform: platform, base: server.URL + all[platform.Name()].Path, token: login.Access}
			require.NoError(t, platform.Accounts(t.Context(), api, login.Login, func(page []media.FoundAccount) error {
				for _, a := range page {
					found = append(found, a.ExternalID)
				}
				return nil
			}), login.Name)
			require.ElementsMatch(t, login.Accounts, found, login.Name)
		}
	}
	require.Len(t, names, 5)
	require.Contains(t, names[2], "agency")
	require.Contains(t, names[3], "organization agency mdm")
	require.Contains(t, names[4], "advertiser")
}
