package main

import (
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/engine"
	"adsync/media"
	"adsync/simulator"
)

func TestLive_RefusesWrongCommandLinesWithCode2(t *testing.T) {
	t.Parallel()
	const token = "ADSYNC_LIVE_TOKEN=0123456789abcdef"
	names := engine.PlatformNames()
	platforms := strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
	platform := names[0]
	own := []string{"--live=" + platform, "--account=1"}
	with := func(more ...string) []string { return append(append([]string{}, own...), more...) }
	for name, c := range map[string]struct {
		environ, args []string
		want          string
	}{
		"an unknown platform": {[]string{token}, []string{"--live=elsewhere", "--account=1"},
			`--live is "elsewhere": want ` + platforms},
		"no platform": {[]string{token}, []string{"--live="}, `--live is "": want ` + platforms},
		"no account": {[]string{token}, []string{"--live=" + platform},
			`--account is "": want the account's id on the platform, which is a number`},
		"a name of an account": {[]string{token}, []string{"--live=" + platform, "--account=me"},
			`--account is "me": want the account's id on the platform, which is a number`},
		"another platform's account": {[]string{token}, []string{"--live=" + platform, "--account=another/1"},
			`--account is "another/1": want an account of ` + platform + `, the platform of --live`},
		"no days":       {[]string{token}, with("--days=0"), "--days is 0: want 1 to 30"},
		"too many days": {[]string{token}, with("--days=31"), "--days is 31: want 1 to 30"},
		"a simulator with --live": {[]string{token}, with("--simulator=http://127.0.0.1:1"),
			"--simulator is for simulated platforms and does not go with --live"},
		"the comparison --once": {[]string{token}, with("--once"),
			"--once is for simulated platforms and does not go with --live"},
		"an account without --live": {[]string{token}, []string{"--account=1"}, "--account goes with --live"},
		"no address": {[]string{token}, with("--base-url=api"),
			`--base-url is "api": want an address such as https://api.example.com/v3.0`},
		"an address without TLS": {[]string{token}, with("--base-url=http://example.com/v3.0"),
			`--base-url is "http://example.com/v3.0": want https, since http would send the token unencrypted`},
		"no token": {nil, own,
			"there is no access token: set ADSYNC_LIVE_TOKEN, or start this on a terminal and enter it there"},
		"a token of two words": {[]string{"ADSYNC_LIVE_TOKEN=a b"}, own,
			"this is not an access token: want the text that the platform's console shows, in ADSYNC_LIVE_TOKEN or on the " +
				"terminal"},
		"a token as a flag": {nil, with("--token=abc"), "unknown flag: --token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := result{code: 2, stderr: "adsync: " + c.want + "\n\nFor help: adsync standalone --help\n"}
			require.Equal(t, want, adsync(c.environ, append([]string{"standalone"}, c.args...)...))
		})
	}
}

func TestLive_NamesTheMissingUser(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, p := range engine.Platforms() {
		if named, ok := p.(media.UserNamer); ok {
			tried++
			got := adsync([]string{"ADSYNC_LIVE_TOKEN=0123456789abcdef"}, "standalone", "--live="+p.Name(), "--account=1")
			require.Equal(t, result{code: 2, stderr: "adsync: --user is missing: " + p.Name() +
				"'s calls carry the name of the token's user (" + named.UserName() +
				")\n\nFor help: adsync standalone --help\n"}, got)
		}
	}
	if tried == 0 {
		t.Skip("no platform needs the name")
	}
}

func TestLive_ExitsWith0WhenEqualAnd1WhenNot(t *testing.T) {
	t.Parallel()
	sim, err := simulator.New(simulator.Config{Accounts: 2 * len(engine.PlatformNames()), Seed: 5, Frozen: true})
	require.NoError(t, err)
	server := httptest.NewServer(sim.Handler())
	defer func() {
		server.Close()
		require.NoError(t, sim.Close())
	}()
	status, body := get(t, server.URL+"/_sim/credentials")
	require.Equal(t, 200, status)
	var creds map[string]struct {
		BasePath string `json:"base_url_path"`
		Apps     []struct {
			Logins []struct {
				AccessToken string   `json:"access_token"`
				AccountIDs  []string `json:"account_ids"`
			} `json:"logins"`
		} `json:"apps"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &creds))
	login := creds[onePlatform].Apps[0].Logins[0]
	args := []string{
		"standalone", "--live", onePlatform, "--account", onePlatform + "/" + login.AccountIDs[1], "--days=2",
		"--set=media.base_url={" + onePlatform + ": " + server.URL + creds[onePlatform].BasePath + "}", "--data=" +
			filepath.Join(t.TempDir(), "own"),
	}
	r := adsync([]string{"ADSYNC_LIVE_TOKEN=" + login.AccessToken}, args...)
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t, `(?m)^.*\b0 of [1-9]\d* figures differ from what `+onePlatform+` says\.`, r.stdout)
	require.Contains(t, r.stdout, "2 of 2 days, ")
	require.NotContains(t, r.stdout+r.stderr, login.AccessToken)

	r = adsync([]string{"ADSYNC_LIVE_TOKEN=" + login.AccessToken[1:] + "0"}, args...)
	require.Equal(t, 1, r.code)
	require.Regexp(t, onePlatform+` refuses the token \(code \d+: `, r.stderr)
	require.NotContains(t, r.stdout+r.stderr, login.AccessToken[1:])
}
