package publish

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/publishing"
	"adsync/media"
)

func spoolOf(t *testing.T, dir string, max int64) *Spool {
	t.Helper()
	s, err := OpenSpool(dir, max)
	require.NoError(t, err)
	return s
}

// written returns a part file with a text that is not complete.
func written(t *testing.T, s *Spool, id int64, text string) *partFile {
	t.Helper()
	p, err := s.create(id)
	require.NoError(t, err)
	_, err = p.Write([]byte(text))
	require.NoError(t, err)
	return p
}

func requireUsed(t *testing.T, s *Spool, want int64) {
	t.Helper()
	used, _ := s.Usage()
	require.Equal(t, want, used)
}

func TestSpool_HasRoomForItsMaximum(t *testing.T) {
	t.Parallel()
	s := spoolOf(t, t.TempDir(), 10)
	a, b := written(t, s, 1, "123456"), written(t, s, 2, "1234")
	requireUsed(t, s, 10)
	n, err := b.Write([]byte("5"))
	require.ErrorIs(t, err, errSpoolFull)
	require.Zero(t, n)
	_, err = s.create(3)
	require.ErrorIs(t, err, errSpoolFull)
	b.drop()
	b.drop() // A second call changes nothing.
	requireUsed(t, s, 6)
	c := written(t, s, 3, "12")
	c.drop()
	_, err = a.complete()
	require.NoError(t, err)
	requireUsed(t, s, 6)
	s.Remove(2)
	requireUsed(t, s, 6)
	s.Remove(1)
	requireUsed(t, s, 0)
	written(t, s, 4, "1234567890")
}

func TestSpool_OpensWhatWasCompleted(t *testing.T) {
	t.Parallel()
	s := spoolOf(t, t.TempDir(), 100)
	p := written(t, s, 7, "first")
	require.Nil(t, s.open(7, p.sum(), 5), "it is not complete")
	first, err := p.complete()
	require.NoError(t, err)
	require.Equal(t, sum("first"), first)
	f := s.open(7, first, 5)
	require.NotNil(t, f)
	require.NoError(t, f.Close())
	require.Nil(t, s.open(7, first, 6), "another size")
	require.Nil(t, s.open(77, first, 5), "another file's")
	other := written(t, s, 77, "of 77")
	_, err = other.complete()
	require.NoError(t, err)
	second, err := written(t, s, 7, "second").complete()
	require.NoError(t, err)
	require.Nil(t, s.open(7, first, 5), "a new rendering replaces the one before")
	requireUsed(t, s, 11)
	s.Remove(7)
	require.Nil(t, s.open(7, second, 6))
	requireUsed(t, s, 5)
}

func TestSpool_CountsAgainAfterARestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "spool")
	s := spoolOf(t, dir, 20)
	kept, err := written(t, s, 1, "kept").complete()
	require.NoError(t, err)
	written(t, s, 2, "killed")
	requireUsed(t, s, 10)
	s = spoolOf(t, dir, 20)
	requireUsed(t, s, 4)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	f := s.open(1, kept, 4)
	require.NotNil(t, f)
	require.NoError(t, f.Close())
	s = spoolOf(t, dir, 3) // The limit was lowered.
	_, err = s.create(3)
	require.ErrorIs(t, err, errSpoolFull)
}

func TestSpool_DeletesPartFilesThatNobodyUses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := spoolOf(t, dir, 100)
	for id, age := range map[int64]time.Duration{1: spoolKept + time.Hour, 2: spoolKept - time.Hour} {
		name, err := written(t, s, id, "1234").complete()
		require.NoError(t, err)
		past := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(filepath.Join(dir, partName(id, name)), past, past))
	}
	open := written(t, s, 3, "12")
	past := time.Now().Add(-10 * spoolKept)
	require.NoError(t, os.Chtimes(open.file.Name(), past, past))
	written(t, s, 4, "1").drop()
	requireUsed(t, s, 6)
	_, err := open.complete()
	require.NoError(t, err, "it is being written")
}

func TestSpool_FilesWaitForRoomAndNoneIsLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *publishing.Subscription) { s.Since = now.AddDate(0, 0, -4) })
	for _, on := range day.Between("2026-11-17", "2026-11-20") {
		r.pull(on, 1_000_000, settled)
	}
	r.plan()
	all := r.files()
	require.Len(t, all, 4)
	r.deps.Spool = spoolOf(t, t.TempDir(), 60) // A file has 41 bytes.
	filler := written(t, r.deps.Spool, 1, strings.Repeat("x", 40))
	for i := range all {
		var deferred *media.DeferError
		require.ErrorAs(t, r.run(all[i].Part()), &deferred)
		require.Equal(t, fullWait, deferred.After)
		require.Contains(t, deferred.Reason, errSpoolFull.Error())
	}
	requireUsed(t, r.deps.Spool, 40)
	for _, p := range r.files() {
		require.Equal(t, publishing.Planned, p.State)
		require.Contains(t, p.ErrorText, errSpoolFull.Error())
	}
	filler.drop()
	// One of two files that are made at a time waits for the room that the other one takes.
	first := written(t, r.deps.Spool, 2, strings.Repeat("x", 44))
	var deferred *media.DeferError
	require.ErrorAs(t, r.run(all[0].Part()), &deferred)
	first.drop()
	for i := range all {
		require.NoError(t, r.run(all[i].Part()))
	}
	for _, p := range r.files() {
		require.Equal(t, publishing.Published, p.State)
		require.Empty(t, p.ErrorText)
		require.Equal(t, p.SHA256, sum(r.visible()[p.Name]))
	}
	requireUsed(t, r.deps.Spool, 0)
}
