package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/engine"
)

// An operator replaces the key of a deployment that runs.
func TestKeys_RotateWhileADeploymentRuns(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys.yaml")
	write := func(keys ...secret.Key) {
		text := ""
		for _, k := range keys {
			text += "- {id: " + k.ID + ", key: " + k.Key.Reveal() + "}\n"
		}
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	oldKey, newKey := secret.NewKey("k1"), secret.NewKey("k2")
	write(oldKey)
	environ := append(slices.DeleteFunc(serveEnviron(t), func(v string) bool { return v == secretEnviron[0] }),
		"ADSYNC_SECRET_KEYS_FILE="+file)
	world := start(t, nil, "simulate", "--listen=127.0.0.1:0", "--accounts="+strconv.Itoa(len(engine.PlatformNames())))
	r := adsync(environ, "bind", "--simulator=http://"+world.await(t, "msg", served)["addr"].(string))
	require.Zero(t, r.code, r.stderr)
	r = adsync(environ, "keys")
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t, `k1 +\d+ +encrypts new texts`, r.stdout)

	write(newKey, oldKey)
	r = adsync(environ, "keys")
	require.Regexp(t, `k2 +0 +encrypts new texts\nk1 +\d+ +decrypts: adsync keys reseal`, r.stdout)
	r = adsync(environ, "keys", "reseal")
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t,
		`^\d+ texts were encrypted with the first key.\n\nKEY +TEXTS +NOTE\n`+
			`k2 +\d+ +encrypts new texts\nk1 +0 +may be removed when all processes have the first one\n$`, r.stdout)

	write(oldKey)
	r = adsync(environ, "keys")
	require.Regexp(t, `k1 +0 +encrypts new texts\nk2 +\d+ +missing: no key decrypts these`, r.stdout)
	r = adsync(environ, "keys", "reseal")
	require.Equal(t, exitFailure, r.code)
	require.Contains(t, r.stderr, `no key "k2" is configured`)
	require.Regexp(t,
		`^0 texts were encrypted with the first key.\n\nKEY +TEXTS +NOTE\n`+
			`k1 +0 +encrypts new texts\nk2 +\d+ +missing: no key decrypts these\n$`, r.stdout)

	// If one text is damaged, also one of the first key, the others are encrypted, and the command exits with 1.
	write(newKey, oldKey)
	s := openStore(t, environ)
	sealed := func() (texts []string) {
		require.NoError(t, s.Config.Writer(t.Context()).Raw("SELECT secret FROM media_app ORDER BY media").Scan(&texts).Error)
		return texts
	}
	box, err := secret.NewBox(oldKey)
	require.NoError(t, err)
	require.Len(t, sealed(), len(engine.PlatformNames()))
	for _, damaged := range []string{"k1", "k2"} {
		text, err := box.Seal("no secret of this place", "elsewhere")
		require.NoError(t, err)
		text = strings.Replace(text, ":k1:", ":"+damaged+":", 1)
		require.NoError(t, s.Config.Writer(t.Context()).Exec("UPDATE media_app SET secret = ? WHERE media = ?", text,
			onePlatform).Error)
		require.Equal(t, damaged, secret.KeyOf(text))
		r = adsync(environ, "keys", "reseal")
		require.Equal(t, exitFailure, r.code, damaged)
		require.Contains(t, r.stderr, "of "+onePlatform+": ")
		require.Contains(t, r.stdout, "0 texts were encrypted with the first key.")
	}
	require.NoError(t, s.Config.Writer(t.Context()).Exec("UPDATE media_app SET secret = '' WHERE media = ?",
		onePlatform).Error)
}
