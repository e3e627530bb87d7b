package main

import (
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBind_WritesTheSimulatedAccountsOnce(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "simulate", "--listen=127.0.0.1:0", "--accounts=4")
	simulator := "http://" + p.await(t, "msg", served)["addr"].(string)
	environ := slices.Concat(sqliteEnviron(t), []string{secretEnviron[0]})

	r := adsync(environ, "bind", "--simulator", simulator)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "run `adsync migrate up`")

	require.Zero(t, adsync(environ, "migrate", "up", "--topics=false").code)
	settings := "\nadsync serve reaches them with these settings:\n\nmedia:\n  base_url:\n" +
		"    oceanengine: " + simulator + "/oceanengine/open_api\n    tencent: " + simulator + "/tencent/v3.0\n" +
		"  authorise_url:\n    oceanengine: " + simulator + "/oceanengine/openapi/audit/oauth.html\n    tencent: " + simulator + "/tencent/oauth/authorize\n"
	require.Equal(t, result{stdout: "4 simulated accounts are bound.\n" + settings}, adsync(environ, "bind", "--simulator", simulator))
	require.Equal(t, result{stdout: "There are bindings already: nothing was written.\n" + settings}, adsync(environ, "bind", "--simulator", simulator+"/"))
	p.stop(t, syscall.SIGTERM)

	r = adsync(environ, "bind", "--simulator", simulator)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "bind the accounts of "+simulator+": ask the simulator: ")
}

// Whoever binds an account has the tables, and no need of the keys that seal its login's token.
func TestBindAccount_NeedsNoKeys(t *testing.T) {
	t.Parallel()
	environ := sqliteEnviron(t)
	require.Zero(t, adsync(environ, "migrate", "up", "--topics=false").code)
	for _, args := range [][]string{{"bind", "account", "tencent/1", "--game", "g", "--os", "pc"}, {"unbind", "tencent/1"}} {
		r := adsync(environ, args...)
		require.Equal(t, 1, r.code)
		require.Contains(t, r.stderr, "tencent has no account \"1\" that is known here")
	}
}
