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
	require.Equal(t, result{stdout: "The platforms have bindings already: nothing was written.\n" + settings},
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

// knownAccount is an account that nobody has bound, in a zone in which it is about noon: no test of it sees two days.
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
			require.Equal(t, c.pulled, strings.Contains(r.stdout, "It is pulled.\n"), r.stdout)
		})
	}
}

// A producer that is named does it: no database is configured here.
func TestBindAccount_AsksAProducer(t *testing.T) {
	t.Parallel()
	const rebinding = `{"media": "tulip", "external_id": "9001", "dry_run": true, "pulled": true, "login": "20009001",
	  "before": [],
	  "after": [{"from": "2026-11-20", "game": "chess", "os": "ios"}],
	  "moves": [{"from": "2026-11-20", "new_game": "chess", "new_os": "ios",
	    "sums": [{"currency": "CNY", "days": 2, "first": "2026-11-20", "last": "2026-11-21",
	      "figures": {"cost": 812340000}}]}]}`
	stdout, asked := sent(t, rebinding, "bind", "account", "tulip/9001", "--game", "chess", "--game-name", "Chess",
		"--os", "ios", "--from", "2026-11-20", "--login", "20009001", "--dry-run")
	require.Equal(t, `POST /api/v1/accounts/tulip/9001/bindings {"game":"chess","game_name":"Chess","os":"ios",`+
		`"from":"2026-11-20","login":"20009001","dry_run":true}`, asked)
	require.Equal(t, `WHEN    FROM        TO  GAME        OS
before  -           -   unassigned  -
then    2026-11-20  -   chess       ios

MOVES FROM  TO  OLD GAME    NEW GAME   DAYS WITH FIGURES  FIRST       LAST        SPENT
2026-11-20  -   unassigned  chess ios  2                  2026-11-20  2026-11-21  CNY 812.34

The login to pull it with, while that can be used, is 20009001.
It would be pulled.
Nothing was changed: leave --dry-run out to do it.
`, stdout)
	stdout, asked = sent(t, rebinding, "unbind", "9001", "--from", "2026-11-20", "--dry-run", "--output", "json")
	require.Equal(t, "DELETE /api/v1/accounts/-/9001/bindings?dry_run=true&from=2026-11-20 ", asked)
	require.JSONEq(t, rebinding, stdout)
}

func TestBindAccount_DryRunChangesNothingInTheTables(t *testing.T) {
	t.Parallel()
	environ, s, _ := knownAccount(t)
	account := engine.PlatformNames()[0] + "/9001"
	r := adsync(environ, "bind", "account", account, "--game", "g", "--game-name", "G", "--os", "ios", "--dry-run")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "It would be pulled.\nNothing was changed: leave --dry-run out to do it.\n")
	var changes int
	require.NoError(t, s.Config.Writer(t.Context()).Raw("SELECT (SELECT COUNT(*) FROM account_binding)"+
		" + (SELECT COUNT(*) FROM audit_log) + (SELECT COUNT(*) FROM game WHERE code = 'g')"+
		" + (SELECT COUNT(*) FROM media_account WHERE bound = 1)").Scan(&changes).Error)
	require.Zero(t, changes)
	for flags, want := range map[string]string{
		"--game g": "--os: want ios, android or pc: game and os go together", "--os ios": "--game: want the code of a game",
		"--game g --os ios": `--game is "g": want one of unassigned, or a new one with its name in game-name`,
	} {
		r = adsync(environ, append([]string{"bind", "account", account}, strings.Fields(flags)...)...)
		require.Equal(t, exitUsage, r.code)
		require.Contains(t, r.stderr, want)
	}
}
