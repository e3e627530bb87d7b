package secret_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
)

// keyFile is a file of keys that changes.
type keyFile struct{ secret.Config }

func newKeyFile(t *testing.T, keys ...secret.Key) keyFile {
	t.Helper()
	f := keyFile{secret.Config{KeysFile: filepath.Join(t.TempDir(), "keys.yaml")}}
	f.write(t, keys...)
	return f
}

func (f keyFile) write(t *testing.T, keys ...secret.Key) {
	t.Helper()
	var text strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&text, "- {id: %s, key: %s}\n", k.ID, k.Key.Reveal())
	}
	require.NoError(t, os.WriteFile(f.KeysFile, []byte(text.String()), 0o600))
}

func (f keyFile) box(t *testing.T) *secret.Box {
	t.Helper()
	box, err := secret.OpenBox(f.Config, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return box
}

// Another process has started to use a new key a moment before this one has read the file.
func TestOpenBox_ANewKeyOpensAtOnce(t *testing.T) {
	t.Parallel()
	oldKey, newKey := secret.NewKey("2025"), secret.NewKey("2026")
	file := newKeyFile(t, oldKey)
	box := file.box(t)
	sealed, err := box.Seal("hunter2", "row")
	require.NoError(t, err)
	require.Equal(t, "2025", secret.KeyOf(sealed))

	file.write(t, newKey, oldKey)
	other, err := file.box(t).Seal("hunter3", "row")
	require.NoError(t, err)
	opened, err := box.Open(other, "row")
	require.NoError(t, err)
	require.Equal(t, "hunter3", opened)
	require.Equal(t, []string{"2026", "2025"}, box.IDs(), "and seals from now on")
	opened, err = box.Open(sealed, "row")
	require.NoError(t, err)
	require.Equal(t, "hunter2", opened)
}

func TestOpenBox_RefusesFilesWithoutShowingThem(t *testing.T) {
	t.Parallel()
	file := newKeyFile(t)
	for text, want := range map[string]string{
		"": "read secret.keys_file: it is no list of keys in YAML: want - {id: k1, key: …} " +
			"for each",
		"hunter2": "read secret.keys_file: it is no list of keys in YAML: want - {id: k1, key: …} " +
			"for each",
		"- {id: k1, kee: hunter2}": "read secret.keys_file: it is no list of keys in YAML: want - {id: k1, key: …} " +
			"for each",
		"- {id: k1, key: aHVudGVyMg==}": "read secret.keys_file: keys[0].key: want 32 random bytes in base64, as openssl " +
			"rand -base64 32 prints them",
	} {
		require.NoError(t, os.WriteFile(file.KeysFile, []byte(text), 0o600))
		_, err := secret.OpenBox(file.Config, slog.New(slog.DiscardHandler))
		require.EqualError(t, err, want)
	}
	file.Keys = []secret.Key{secret.NewKey("k1")}
	require.ErrorContains(t, file.Validate(), "want either keys or keys_file")
}
