package config

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFollowed_TakesChangesAndKeepsTheLastValidValue(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		write("one")
		f, err := Follow(slog.New(slog.NewTextHandler(&log, nil)), "a.file", func(texts [][]byte) (string, error) {
			if string(texts[0]) == "bad" {
				return "", errors.New("it is bad")
			}
			return string(texts[0]), nil
		}, file)
		require.NoError(t, err)
		require.Equal(t, "one", f.Current())

		write("two")
		require.Equal(t, "one", f.Current(), "files are not read at each use")
		require.Equal(t, "two", f.Reload())
		write("three")
		time.Sleep(followAge)
		require.Equal(t, "three", f.Current())

		write("bad")
		require.Equal(t, "three", f.Reload())
		require.Equal(t, "three", f.Reload())
		require.Equal(t, 1, strings.Count(log.String(), "it is bad"))
		require.NoError(t, os.Remove(file))
		require.Equal(t, "three", f.Reload())
		write("three")
		require.Equal(t, "three", f.Reload())
		write("bad")
		require.Equal(t, "three", f.Reload())
		require.Equal(t, 2, strings.Count(log.String(), "it is bad"), "an error that comes again is logged again")
	})
}
