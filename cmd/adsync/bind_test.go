package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store"
	"adsync/base/store/summaries"
	"adsync/engine"
	"adsync/simulator"
	"adsync/simulator/control"
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
	var credentials map[string]control.Credentials
	_, body := get(t, address+"/_sim/credentials")
	require.NoError(t, json.Unmarshal([]byte(body), &credentials))
	for name, path := range simulator.Platforms() {
		require.Equal(t, "/"+name+path, credentials[name].BasePath)
	}
	settings := "\nadsync serve reaches them with these settings:\n\nmedia:\n  base_url:\n"
	for _, name := range slices.Sorted(maps.Keys(credentials)) {
		settings += "    " + name + ": " + address + credentials[name].BasePath + "\n"
	}
	settings += "  authorise_url:\n"
	for _, name := range slices.Sorted(maps.Keys(credentials)) {
		settings += "    " + name + ": " + address + credentials[name].AuthorisePath + "\n"
	}
	require.Equal(t, result{stdout: "4 simulated accounts are bound.\n" + settings},
		adsync(environ, "bind", "--simulator", address))
	require.Equal(t, result{stdout: "There are bindings already: nothing was written.\n" + settings},
		adsync(environ, "bind", "--simulator", address+"/"))
	p.stop(t, syscall.SIGTERM)

	r = adsync(environ, "bind", "--simulator", address)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "bind the accounts of "+address+": call the simulator: ")
}

// Binding an account needs the tables, and not the keys that encrypt its login's token.
func TestBindAccount_NeedsNoKeys(t *testing.T) {
	t.Parallel()
	platform := engine.PlatformNames()[0]
	environ := sqliteEnviron(t)
	require.Zero(t, adsync(environ, "migrate", "up", "--topics=false").code)
	for _, args := range [][]string{{"bind", "account", platform + "/1", "--game", "g", "--os", "pc"},
		{"unbind", platform + "/1"}} {
		r := adsync(environ, args...)
		require.Equal(t, 1, r.code)
		require.Contains(t, r.stderr, platform+" has no account \"1\" that is known here")
	}
}

func TestBindAccount_SetsTheDays(t *testing.T) {
	t.Parallel()
	const today = day.Day("2026-11-21")
	past := summaries.Binding{From: "2026-10-01", To: "2026-10-31", Game: "a", OS: "ios"}
	present := summaries.Binding{From: "2026-11-01", To: summaries.LastDay, Game: "b", OS: "ios"}
	for name, c := range map[string]struct {
		flags    accountBindFlags
		have     []summaries.Binding
		from, to day.Day
	}{
		"the first game applies to all figures": {accountBindFlags{}, nil, summaries.FirstBoundDay, summaries.LastDay},
		"unless it has a first day": {accountBindFlags{gameFlags: gameFlags{from: "2026-11-03"}}, nil,
			"2026-11-03", summaries.LastDay},
		"another one is a move from today on": {accountBindFlags{}, []summaries.Binding{past}, today,
			summaries.LastDay},
		"a correction rewrites the present binding": {accountBindFlags{correct: true}, []summaries.Binding{past, present},
			present.From, present.To},
		"or the last one, if there is no present one": {accountBindFlags{correct: true},
			[]summaries.Binding{{From: "2026-09-01", To: "2026-09-30"}, past}, past.From, past.To},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := c.flags.binding(c.have, today)
			require.Equal(t, []day.Day{c.from, c.to}, []day.Day{b.From, b.To})
		})
	}
}

// knownAccount adds an account that is not bound. Its time zone has about noon, so that no test runs over midnight.
func knownAccount(t *testing.T) (environ []string, s *store.Store, today day.Day) {
	t.Helper()
	platform := engine.PlatformNames()[0]
	environ = sqliteEnviron(t)
	require.Zero(t, adsync(environ, "migrate", "up", "--topics=false").code)
	s = openStore(t, environ)
	name := fmt.Sprintf("Etc/GMT%+d", time.Now().UTC().Hour()-12)
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	require.NoError(t,
		s.Config.Writer(t.Context()).Exec(
			"INSERT INTO media_account (id, media, external_id, token_id, timezone, bound) VALUES (1, '"+platform+
				"', '9001', 1, ?, 0)", name).Error)
	return environ, s, day.Of(time.Now(), zone)
}

func TestUnbind_KeepsTheGameOfToday(t *testing.T) {
	t.Parallel()
	platform := engine.PlatformNames()[0]
	environ, s, today := knownAccount(t)
	r := adsync(environ, "bind", "account", platform+"/9001", "--game", "g", "--game-name", "G", "--os", "ios")
	require.Zero(t, r.code, r.stderr)
	r = adsync(environ, "unbind", platform+"/9001")
	require.Zero(t, r.code, r.stderr)
	have, err := s.AccountBindings(t.Context(), 1)
	require.NoError(t, err)
	require.Len(t, have, 1)
	require.Equal(t, []day.Day{summaries.FirstBoundDay, today}, []day.Day{have[0].From, have[0].To})
}

func TestBindAccount_DoesNotPullForPastDaysAlone(t *testing.T) {
	t.Parallel()
	platform := engine.PlatformNames()[0]
	for name, c := range map[string]struct {
		to     int // days after today
		pulled bool
	}{"until yesterday": {-1, false}, "until today": {0, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environ, _, today := knownAccount(t)
			r := adsync(environ, "bind", "account", platform+"/9001", "--game", "g", "--game-name", "G", "--os", "ios",
				"--from", today.Add(-9).String(), "--to", today.Add(c.to).String())
			require.Zero(t, r.code, r.stderr)
			require.Equal(t, c.pulled, strings.Contains(r.stdout, "It is pulled from now on."), r.stdout)
		})
	}
}
