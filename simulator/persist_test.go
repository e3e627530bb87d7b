package simulator

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/ledger"
)

func TestPersist_AWorldKeepsItsPlatforms(t *testing.T) {
	t.Parallel()
	names := namesOf(platforms())
	some, err := Named([]string{names[3], names[1]})
	require.NoError(t, err)
	require.Equal(t, []string{names[1], names[3]}, namesOf(some), "the list has the order")
	cfg := Config{Accounts: 8, Start: noon, Frozen: true, DataDir: t.TempDir(), Platforms: some}
	shown := func(cfg Config) (served []string) {
		s, err := New(cfg)
		require.NoError(t, err)
		served = namesOf(s.platforms)
		require.NoError(t, s.Close())
		return served
	}
	require.Equal(t, namesOf(some), shown(cfg))
	cfg.Platforms = nil
	require.Equal(t, namesOf(some), shown(cfg))
	cfg.Platforms = platforms()
	_, err = New(cfg)
	require.ErrorContains(t, err, "a world of the platforms ["+names[1]+" "+names[3]+"]")

	// The state of an earlier release names none.
	file := filepath.Join(cfg.DataDir, stateFile)
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var kept map[string]any
	require.NoError(t, json.Unmarshal(raw, &kept))
	delete(kept, "platforms")
	delete(kept, "assumed")
	raw, err = json.Marshal(kept)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	cfg.Platforms = nil
	first := []string{"tencent", "oceanengine"}
	if _, err := Named(first); err == nil {
		require.Equal(t, first, shown(cfg))
	}
	_, err = Named([]string{"elsewhere"})
	require.ErrorContains(t, err, `no simulated platform "elsewhere"`)
}

func TestPersist_AllSurvivesARestart(t *testing.T) {
	t.Parallel()
	cfg := Config{Accounts: 20, Seed: 5, Start: noon, Frozen: true, DataDir: filepath.Join(t.TempDir(), "world")}
	first, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, first.Close()) })
	one := &sim{first, t}
	a := one.account("tencent", 0)
	data(t,
		one.oceanOAuth("refresh_token", fields{"refresh_token": one.credentials("oceanengine").Logins[0].RefreshToken}))
	one.order("truth/correct", fields{"media": "tencent", "account": idText(a.ID), "from": "2026-11-10",
		"to": "2026-11-12", "percent": 7})
	_, altered := one.alter(fields{"what": "day", "seed": 4, "media": "tencent", "level": "account",
		"granularity": "daily", "day": "2026-11-14"})
	one.order("faults", fields{"kind": "status", "count": 5, "endpoint": "/advertiser/get/"})
	require.Equal(t, 500, one.tencentCall(a, "advertiser/get").Code)
	one.order("limits", fields{"penalties": true, "old_access_survives": fields{"tencent": true}, "rules": []fields{
		{"media": "tencent", "endpoint": "*", "scope": "account", "period_seconds": 60, "limit": 1234}}})
	one.order("clock", fields{"now": "2026-11-16T01:02:03Z", "speed": 60})
	snapshot := func(s *sim) []string {
		list := []string{jsonText(s.faults.All()), jsonText(ledgerCounts(s.ledger))}
		for _, path := range []string{"credentials", "limits", "clock"} {
			list = append(list, s.control(http.MethodGet, path, nil).Body.String())
		}
		return append(list, s.truthLines("media", "tencent", "kind", "report_daily", "level", "account", "from", "2026-11-09",
			"to", "2026-11-16")...)
	}
	before := snapshot(one)
	require.NoError(t, first.Close())
	require.NoError(t, first.Close(), "a second Close does nothing")

	cfg.Start, cfg.Frozen = noon.AddDate(1, 0, 0), false // a kept world has its own clock
	second, err := New(cfg)
	require.NoError(t, err)
	two := &sim{second, t}
	require.Equal(t, before, snapshot(two))
	two.unlimited()
	require.Equal(t, 1, two.differs("tencent", two.accountOf("tencent", altered.Account))["report_daily account"],
		"%+v is still served", altered)
	require.Equal(t, "f3", two.order("faults", fields{"kind": "hang", "media": "oceanengine"})["id"])
	require.NoError(t, second.Close())

	for _, wrong := range []Config{{Accounts: 20, Seed: 6}, {Accounts: 22, Seed: 5}} {
		wrong.DataDir = cfg.DataDir
		_, err = New(wrong)
		require.ErrorContains(t, err, "seed 5 with 20 accounts")
		require.ErrorContains(t, err, cfg.DataDir)
	}
}

// ledgerCounts returns the ledger's content in a fixed order.
func ledgerCounts(l *ledger.Ledger) any {
	_, groups := l.Query(ledger.Query{Group: map[string]bool{"second": true, "media": true, "app": true, "endpoint": true,
		"answer": true}})
	_, accounts := l.Query(ledger.Query{Group: map[string]bool{"account": true, "endpoint": true, "answer": true}})
	return [2][]ledger.Group{groups, accounts}
}

func TestPersist_ATokenChangeIsOnDiskBeforeItIsAnswered(t *testing.T) {
	t.Parallel()
	cfg := Config{Accounts: 8, Start: noon, Frozen: true, DataDir: t.TempDir()}
	first, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, first.Close()) })
	one := &sim{first, t}
	d := data(t,
		one.oceanOAuth("refresh_token", fields{"refresh_token": one.credentials("oceanengine").Logins[0].RefreshToken}))
	// The other simulator opens the files that a crash at this moment would leave.
	crashed := t.TempDir()
	raw, err := os.ReadFile(filepath.Join(cfg.DataDir, stateFile))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(crashed, stateFile), raw, 0o600))
	cfg.DataDir = crashed
	second, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Close()) })
	require.Equal(t, d["refresh_token"], (&sim{second, t}).credentials("oceanengine").Logins[0].RefreshToken)
}

func TestPersist_ACutLedgerLineIsDropped(t *testing.T) {
	t.Parallel()
	cfg := Config{Accounts: 8, Start: noon, Frozen: true, DataDir: t.TempDir()}
	first, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, first.Close()) })
	one := &sim{first, t}
	one.ads(one.account(clients[0], 0))
	require.NoError(t, first.Close())
	path := filepath.Join(cfg.DataDir, ledgerFile)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(raw, `{"s":17,"m":"ten`...), 0o600))
	second, err := New(cfg)
	require.NoError(t, err)
	total, _ := second.ledger.Query(ledger.Query{})
	require.EqualValues(t, 1, total.Calls)
	require.NoError(t, second.Close())
}

func TestPersist_ALongLedgerIsRewritten(t *testing.T) {
	t.Parallel()
	cfg := Config{Accounts: 8, Start: noon, Frozen: true, DataDir: t.TempDir()}
	first, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, first.Close()) })
	one := &sim{first, t}
	one.unlimited()
	for range 50 {
		one.ads(one.account(clients[0], 0))
		require.NoError(t, first.flushLedger())
	}
	first.disk.mu.Lock()
	long := first.disk.ledgerSize
	first.disk.ledgerMax = long - 1
	first.disk.mu.Unlock()
	one.ads(one.account(clients[0], 0))
	require.NoError(t, first.flushLedger())
	first.disk.mu.Lock()
	require.Less(t, first.disk.ledgerSize, long)
	first.disk.mu.Unlock()
	require.NoError(t, first.Close())
	second, err := New(cfg)
	require.NoError(t, err)
	total, _ := second.ledger.Query(ledger.Query{})
	require.EqualValues(t, 51, total.Calls)
	total, _ = second.ledger.Query(ledger.Query{Account: idText(one.account(clients[0], 0).ID)})
	require.EqualValues(t, 51, total.Calls)
	require.NoError(t, second.Close())
}

func TestPersist_RefusesUnreadableState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, stateFile)
	for content, want := range map[string]string{"{": "state.json", `{"version":99}`: "another version"} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := New(Config{Accounts: 8, DataDir: dir})
		require.ErrorContains(t, err, want)
	}
	for want, cfg := range map[string]Config{
		"1 to 1000000 accounts": {}, "speed": {Accounts: 1, Speed: -1},
		"the world exists": {Accounts: 1, Start: time.Unix(0, 0)},
	} {
		_, err := New(cfg)
		require.ErrorContains(t, err, want)
	}
}
