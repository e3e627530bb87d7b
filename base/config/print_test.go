package config_test

import (
	"bytes"
	"flag"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/config"
	"adsync/base/secret"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestPrint_MarksWhatWasSetAndHidesSecrets(t *testing.T) {
	t.Parallel()
	c := defaults()
	sources, err := config.Load(&c, config.Options{
		File: "testdata/full.yml",
		Environ: []string{
			"ADSYNC_STORE_DATA_PASSWORD=hunter2", "ADSYNC_STORE_DATA_REPLICAS=c:3,d:4",
			`ADSYNC_API_TOKENS=[{name: ops, token: hunter2, role: admin}, {name: "0123", role: "yes"}]`,
		},
		Overrides: []config.Override{{Flag: "--listen", Key: "api.listen", Value: "127.0.0.1:1"}},
	})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, config.Print(&out, &c, sources))
	require.NotContains(t, out.String(), "hunter2")
	golden(t, "print.golden", out.Bytes())
}

func TestPrint_CanBeLoadedAgain(t *testing.T) {
	t.Parallel()
	c := defaults()
	c.Store.Data.Replicas = []string{"0123", "null", "a: b", "#", ""}
	c.Store.Data.Timeout = 90*time.Minute + time.Millisecond
	c.Store.Config.Timeout = 24 * time.Hour
	c.API.Listen = netip.MustParseAddrPort("[::1]:80")
	c.API.Tokens = append(c.API.Tokens, tokenSettings{Name: "true", Role: "~"})
	sources, err := config.Load(&c, config.Options{})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, config.Print(&out, &c, sources))

	again := defaults()
	_, err = config.Load(&again, config.Options{File: write(t, out.String())})
	require.NoError(t, err, out.String())
	require.Equal(t, c, again, out.String())
}

func TestReference(t *testing.T) {
	t.Parallel()
	c := defaults()
	c.Store.Data.Password = secret.NewText("hunter2")
	var out bytes.Buffer
	require.NoError(t, config.Reference(&out, &c))
	require.NotContains(t, out.String(), "hunter2")
	golden(t, "reference.golden", out.Bytes())
}

func TestReference_RefusesUndocumentedSettings(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := config.Reference(&out, &struct {
		Log struct {
			Level string `koanf:"level"`
		} `koanf:"log" doc:"Logs."`
	}{})
	require.EqualError(t, err, "setting log.level has no doc tag")
	require.Empty(t, out.String())
}
