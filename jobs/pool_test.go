package jobs

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/sqldb"
)

func TestPools_NamespacesLieInSeveralDatabases(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Pools = []Pool{{Name: "far"}} })
	require.JSONEq(t, `["default","far"]`, r.sendTo(r.admin, "GET", "/pools", "").body)
	a := r.sendTo(r.admin, "POST", "/token/shop?description=x&pool=far", "")
	require.Equal(t, http.StatusCreated, a.status, a.body)
	made := a.json(t)["token"].(string)
	require.Equal(t, "far:", made[:4])
	far := "X-Token: " + made

	require.Equal(t, http.StatusCreated, r.send("PUT", "/api/shop/q", "far", far).status)
	r.publish("/api/shop/q", "near")
	require.Equal(t, "near", data(t, r.send("GET", "/api/shop/q", "")))
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "").status)
	require.Equal(t, "far", data(t, r.send("GET", "/api/shop/q?token="+made, "", "X-Token: ")))
	require.Equal(t, http.StatusUnauthorized, r.send("GET", "/api/shop/q", "", "X-Token: "+made[4:]).status)
	require.Equal(t, http.StatusUnauthorized, r.send("GET", "/api/shop/q", "", "X-Token: far:"+token).status)
	require.Equal(t, http.StatusNotFound, r.send("GET", "/api/shop/q", "", "X-Token: else:"+token).status)

	require.Contains(t, r.sendTo(r.admin, "GET", "/token/shop?pool=far", "").body, `"far:`+made[4:16]+`…":"x"`)
	require.NotContains(t, r.sendTo(r.admin, "GET", "/token/shop", "").body, "far")
	require.JSONEq(t, `{"shop":["q"]}`, r.sendTo(r.admin, "GET", "/info?pool=far", "").body)
	limit := "/token/shop/" + made + "/limit"
	require.Equal(t, http.StatusCreated, r.sendTo(r.admin, "POST", limit, `{"read":0,"write":9,"interval":9}`).status)
	require.Contains(t, r.sendTo(r.admin, "GET", "/limits?pool=far", "").body, `"token":"far:`)
	metrics := r.sendTo(r.admin, "GET", "/metrics", "").body
	require.Contains(t, metrics, `infra_lmstfy_redis_publish_jobs{pool="far"} 1`)
	require.Contains(t, metrics, `infra_lmstfy_redis_publish_jobs{pool="default"} 1`)
	require.Equal(t, http.StatusNoContent, r.sendTo(r.admin, "DELETE", "/token/shop/"+made, "").status)
	require.Equal(t, http.StatusUnauthorized, r.send("GET", "/api/shop/q", "", far).status)

	for path, status := range map[string]int{"/token/shop?description=x&pool=else": 400,
		"/token/shop?description=x&token=else:" + token:                400,
		"/token/shop?description=x&token=far:a-good-token-of-far:x":    400,
		"/token/shop?description=x&token=far:a-good-token-of-the-shop": 201} {
		require.Equal(t, status, r.sendTo(r.admin, "POST", path, "").status, path)
	}
	require.Equal(t, http.StatusBadRequest, r.sendTo(r.admin, "DELETE", "/token/shop/else:"+token, "").status)
}

func TestConfig_PoolsHaveNamesAndServers(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	server := secret.NewText("adsync@tcp(127.0.0.1:3306)/more")
	cfg.Pools = []Pool{{Name: "a", Writer: server}, {Name: "b", Driver: sqldb.SQLite, Writer: secret.NewText("x.db")}}
	require.NoError(t, cfg.Validate())
	cfg.Pools = []Pool{{Name: "a", Writer: server}, {Name: "a", Writer: server}, {Name: poolDefault, Writer: server},
		{Name: "a:b", Writer: server}, {Name: "c"}}
	err := cfg.Validate()
	for _, key := range []string{"pools[1].name", "pools[2].name", "pools[3].name", "pools[4].writer"} {
		require.ErrorContains(t, err, key)
	}
	require.NotContains(t, err.Error(), "pools[0]")
}
