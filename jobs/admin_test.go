package jobs

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAdmin_TokensAreMadeListedAndWithdrawn(t *testing.T) {
	r := newRig(t, nil)
	a := r.sendTo(r.admin, "POST", "/token/bank?description=of+the+bank", "")
	require.Equal(t, http.StatusCreated, a.status, a.body)
	made := a.json(t)["token"].(string)
	require.Equal(t, http.StatusCreated, r.send("PUT", "/api/bank/q", "x", "X-Token: "+made).status)
	require.Equal(t, http.StatusUnauthorized, r.send("PUT", "/api/shop/q", "x", "X-Token: "+made).status)

	chosen := "a-token-of-our-own-choice"
	a = r.sendTo(r.admin, "POST", "/token/bank?description=ours&token="+chosen, "")
	require.Equal(t, chosen, a.json(t)["token"])
	list := r.sendTo(r.admin, "GET", "/token/bank", "")
	require.NotContains(t, list.body, made)
	require.NotContains(t, list.body, chosen)
	require.Equal(t, map[string]any{made[:12] + "…": "of the bank", chosen[:12] + "…": "ours"}, list.json(t)["tokens"])

	require.Equal(t, http.StatusNoContent, r.sendTo(r.admin, "DELETE", "/token/bank/"+url.PathEscape(made), "").status)
	r.api().tokens.forget() // as another process does after some seconds
	require.Equal(t, http.StatusUnauthorized, r.send("PUT", "/api/bank/q", "x", "X-Token: "+made).status)
	require.Equal(t, http.StatusCreated, r.send("PUT", "/api/bank/q", "x", "X-Token: "+chosen).status)
}

func TestAdmin_Refusals(t *testing.T) {
	r := newRig(t, nil)
	for path, reason := range map[string]string{
		"/token/bank":                        "invalid description",
		"/token/bank?description=x&token=no": "the user token was too short",
		"/token/bank?description=x&token=" + strings.Repeat("t", 256): "the user token was too long",
		"/token/" + strings.Repeat("n", 256) + "?description=x":       "the namespace name was too long",
		"/token/ba.nk?description=x":                                  "namespace name contains forbidden characters",
	} {
		a := r.sendTo(r.admin, "POST", path, "")
		require.Equal(t, http.StatusBadRequest, a.status, path)
		require.Equal(t, reason, a.json(t)["error"], path)
	}
	require.Equal(t, http.StatusNotFound, r.sendTo(r.admin, "GET", "/nothing", "").status)
	require.Equal(t, http.StatusOK, r.sendTo(r.admin, "GET", "/version", "").status)
	for _, path := range []string{"/pools", "/pools/"} {
		require.JSONEq(t, `["default"]`, r.sendTo(r.admin, "GET", path, "").body)
	}
	unknown := r.sendTo(r.admin, "GET", "/token/shop?pool=else", "")
	require.Equal(t, http.StatusBadRequest, unknown.status)
	require.JSONEq(t, `{"error":"the pool is unknown"}`, unknown.body)
}

func basicAuth(user, password string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func TestAdmin_APassword(t *testing.T) {
	r := newRig(t, func(c *Config) { c.AdminPassword = secretText })
	require.Equal(t, http.StatusUnauthorized, r.sendTo(r.admin, "GET", "/token/bank", "").status)
	wrong := basicAuth("admin", "wrong")
	require.Equal(t, http.StatusUnauthorized, r.sendTo(r.admin, "GET", "/token/bank", "", wrong).status)
	require.Equal(t, http.StatusUnauthorized,
		r.sendTo(r.admin, "GET", "/token/bank", "", basicAuth("root", "a good password")).status)
	right := basicAuth("admin", "a good password")
	require.Equal(t, http.StatusOK, r.sendTo(r.admin, "GET", "/token/bank", "", right).status)
}
