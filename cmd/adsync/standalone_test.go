package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"adsync/cmd/adsync/internal/settings"
	"adsync/standalone"
)

func TestStandalone_UsesTheServersOfTheSettings(t *testing.T) {
	t.Parallel()
	named := func(environ, sets []string, file string) (standalone.Servers, error) {
		a := &settings.Source{Environ: environ, Sets: sets}
		if file != "" {
			a.File = filepath.Join(t.TempDir(), "adsync.yaml")
			require.NoError(t, os.WriteFile(a.File, []byte(file), 0o600))
		}
		cfg, sources, err := a.Load(&cobra.Command{}, "standalone")
		require.NoError(t, err)
		return namedServers(cfg, sources)
	}

	s, err := named(nil, []string{"store.config.max_open_conns=3", "broker.prefix=other", "redis.db=1"},
		"store: {data: {max_open_conns: 3}}")
	require.NoError(t, err)
	require.Equal(t, standalone.Servers{}, s, "other settings name no server")

	s, err = named([]string{"ADSYNC_STORE_CONFIG_WRITER=u:p@tcp(a:1)/x"}, []string{"redis.addrs=r:3"},
		"store: {data: {writer: 'u:p@tcp(b:2)/y'}}\nbroker: {brokers: ['k:1', 'l:2']}")
	require.NoError(t, err)
	require.Equal(t, "databases a:1/x and b:2/y, Kafka k:1,l:2 (topics adsync.*), Redis r:3 (keys adsync:*)", s.String())

	s, err = named(nil, []string{"broker.brokers=k:1"}, "")
	require.NoError(t, err)
	require.Equal(t, "Kafka k:1 (topics adsync.*)", s.String())

	for _, key := range []string{"store.config.writer", "store.data.writer"} {
		_, err = named(nil, []string{key + "=u:p@tcp(a:1)/x"}, "")
		require.ErrorContains(t, err, "is set: set both")
	}
}
