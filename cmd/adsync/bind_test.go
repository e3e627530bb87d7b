package main

import (
	"encoding/json"
	"maps"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/media/simulator"
)

func TestBind_WritesTheSimulatedAccountsOnce(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "simulate", "--listen=127.0.0.1:0", "--accounts=4")
	address := "http://" + p.await(t, "msg", served)["addr"].(string)
	environ := slices.Concat(sqliteEnviron(t), []string{secretEnviron[0]})

	r := adsync(environ, "bind", "--simulator", address)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "run `adsync migrate up`")

	require.Zero(t, adsync(environ, "migrate", "up", "--topics=false").code)
	var credentials map[string]simulator.Credentials
	_, body := get(t, address+"/_sim/credentials")
	require.NoError(t, json.Unmarshal([]byte(body), &credentials))
	require.Equal(t, "/tencent/v3.0", credentials["tencent"].BasePath)
	settings := "\nadsync serve reaches them with these settings:\n\nmedia:\n  base_url:\n"
	for _, name := range slices.Sorted(maps.Keys(credentials)) {
		settings += "    " + name + ": " + address + credentials[name].BasePath + "\n"
	}
	settings += "  authorise_url:\n"
	for _, name := range slices.Sorted(maps.Keys(credentials)) {
		settings += "    " + name + ": " + address + credentials[name].AuthorisePath + "\n"
	}
	require.Equal(t, result{stdout: "4 simulated accounts are bound.\n" + settings}, adsync(environ, "bind", "--simulator", address))
	require.Equal(t, result{stdout: "There are bindings already: nothing was written.\n" + settings}, adsync(environ, "bind", "--simulator", address+"/"))
	p.stop(t, syscall.SIGTERM)

	r = adsync(environ, "bind", "--simulator", address)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "bind the accounts of "+address+": ask the simulator: ")
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
