package standalone

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// requirePrivate checks that no other user can read a directory's files.
func requirePrivate(t *testing.T, dir string) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s has the mode %v", path, info.Mode())
		files++
		return nil
	}))
	require.Greater(t, files, 10, "there is something to look at")
}

func TestDir_WhatAnEarlierReleaseLeftIsTightened(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.MkdirAll(filepath.Join(path, "kafka", "topic-0"), 0o700))
	theirs := []string{"config.db", "config.db-wal", "config.db-shm", "data.db", "partner.db", "secret.key",
		"kafka/topic-0/00.log"}
	for _, name := range append(theirs, "notes.txt") {
		require.NoError(t, os.WriteFile(filepath.Join(path, name), nil, 0o600))
		require.NoError(t, os.Chmod(filepath.Join(path, name), 0o644))
	}
	require.NoError(t, os.Chmod(filepath.Join(path, "kafka", "topic-0"), 0o755))
	d, err := openDir(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.close()) }()
	mode := func(name string) fs.FileMode {
		info, err := os.Stat(filepath.Join(path, name))
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	for _, name := range theirs {
		require.Equal(t, fs.FileMode(0o600), mode(name), name)
	}
	require.Equal(t, fs.FileMode(0o700), mode("kafka/topic-0"))
	require.Equal(t, fs.FileMode(0o644), mode("notes.txt"), "what standalone did not make is left alone")
}

func TestDir_IsFreeOnceItIsClosed(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d, err := openDir(path)
	require.NoError(t, err)
	_, err = openDir(path)
	require.ErrorContains(t, err, "in use by another adsync")
	started, err := syscall.Dup(int(d.lock.Fd()))
	require.NoError(t, err)
	defer syscall.Close(started)
	require.NoError(t, d.close())
	d, err = openDir(path)
	require.NoError(t, err, "also while a process is being started")
	require.NoError(t, d.close())
}
