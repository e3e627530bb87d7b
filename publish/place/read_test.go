package place_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/config"
	"adsync/publish/place"
)

// openReader returns the destination's Reader, which is closed with the test.
func (r *rig) openReader(t *testing.T) place.Reader {
	t.Helper()
	reader, err := place.OpenReader(r.config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, reader.Close()) })
	return reader
}

// eachReader runs a test with each kind of destination that can be read.
func eachReader(t *testing.T, test func(r *rig)) {
	t.Helper()
	for _, kind := range []string{"dir", "s3"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(newRig(t, kind))
		})
	}
}

func names(files []place.Stored) (names []string) {
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

func TestReader_ListsTheFilesOfAPattern(t *testing.T) {
	t.Parallel()
	eachReader(t, func(r *rig) {
		t := r.t
		reader := r.openReader(t)
		found, err := reader.List(t.Context(), "lake/*")
		require.NoError(t, err)
		require.Empty(t, found, "there is no such directory")
		for _, name := range []string{
			"lake/part-2", "lake/part-10", "lake/part-1", "lake/part", "lake/_SUCCESS", "lake/.x", "lake/deep/part-3",
			"lakes", "part-0",
		} {
			r.write(name, "content of "+name)
		}
		for pattern, want := range map[string][]string{
			"lake/*":      {"lake/.x", "lake/_SUCCESS", "lake/part", "lake/part-1", "lake/part-10", "lake/part-2"},
			"lake/part-*": {"lake/part-1", "lake/part-10", "lake/part-2"},
			"lake/part":   {"lake/part"},
			"lake/par":    nil,
			"lake/deep":   nil,
			"lake/x/*":    nil,
			"*":           {"lakes", "part-0"},
			"lak*":        {"lakes"},
			"lake/deep/*": {"lake/deep/part-3"},
		} {
			found, err := reader.List(t.Context(), pattern)
			require.NoError(t, err)
			require.Equal(t, want, names(found), pattern)
		}
		found, err = reader.List(t.Context(), "lake/part")
		require.NoError(t, err)
		require.EqualValues(t, len("content of lake/part"), found[0].Size)
		require.NotEmpty(t, found[0].Version)
	})
}

func TestReader_ListsMoreThanAPageAndNotTooMany(t *testing.T) {
	t.Parallel()
	r := newRig(t, "s3")
	for n := range 1100 {
		r.write("lake/"+strconv.Itoa(10_000+n), "x")
	}
	found, err := r.openReader(t).List(t.Context(), "lake/*")
	require.NoError(t, err)
	require.Len(t, found, 1100)

	r = newRig(t, "dir")
	dir := filepath.Join(r.config.Address, r.config.Prefix)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for n := range 10_001 {
		f, err := os.Create(filepath.Join(dir, strconv.Itoa(n)))
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	_, err = r.openReader(t).List(t.Context(), "*")
	require.ErrorContains(t, err, "more than 10000 files")
	require.True(t, place.Refused(err))
}

func TestReader_CopiesWhatItListed(t *testing.T) {
	t.Parallel()
	eachReader(t, func(r *rig) {
		t := r.t
		reader := r.openReader(t)
		content := large(300_000)
		r.write("a/large", content)
		r.write("a/empty", "")
		found, err := reader.List(t.Context(), "a/*")
		require.NoError(t, err)
		require.Equal(t, []string{"a/empty", "a/large"}, names(found))
		for i, want := range []string{"", content} {
			var b bytes.Buffer
			require.NoError(t, reader.Copy(t.Context(), found[i], &b))
			require.Equal(t, want, b.String())
		}
		again, err := reader.List(t.Context(), "a/*")
		require.NoError(t, err)
		require.Equal(t, found, again)

		full := errors.New("no room")
		require.ErrorIs(t, reader.Copy(t.Context(), found[1], failing{full}), full)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, reader.Copy(ctx, found[1], new(bytes.Buffer)), context.Canceled)
		_, err = reader.List(ctx, "a/*")
		require.ErrorIs(t, err, context.Canceled)
	})
}

// failing is a writer without room.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestReader_NoticesAChange(t *testing.T) {
	t.Parallel()
	eachReader(t, func(r *rig) {
		t := r.t
		reader := r.openReader(t)
		r.write("a", "before")
		found, err := reader.List(t.Context(), "a")
		require.NoError(t, err)
		r.write("a", "behind") // It has the same size.
		if r.config.Kind == place.KindDir {
			at := time.Now().Add(time.Second) // The clock of a file system has coarse steps.
			require.NoError(t, os.Chtimes(filepath.Join(r.config.Address, r.config.Prefix, "a"), at, at))
		}
		again, err := reader.List(t.Context(), "a")
		require.NoError(t, err)
		require.NotEqual(t, found, again)
		require.ErrorIs(t, reader.Copy(t.Context(), found[0], new(bytes.Buffer)), place.ErrChanged)
		again[0].Size--
		require.ErrorIs(t, reader.Copy(t.Context(), again[0], new(bytes.Buffer)), place.ErrChanged)
		gone := place.Stored{Name: "b", Size: 1, Version: again[0].Version}
		require.ErrorIs(t, reader.Copy(t.Context(), gone, new(bytes.Buffer)), place.ErrChanged)
	})
}

func TestReader_NamesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	_, err := place.OpenReader(newRig(t, "ftp").config)
	var field *config.FieldError
	require.ErrorAs(t, err, &field)
	require.Equal(t, "kind", field.Key)
	_, err = place.OpenReader(place.Config{Kind: place.KindDir})
	require.ErrorAs(t, err, &field)
	require.Equal(t, "address", field.Key)

	s := newS3Rig(t)
	s.config.Address += "-other"
	_, err = s.openReader(t).List(t.Context(), "a/*")
	require.ErrorContains(t, err, "list s3://reports-other/daily/reports/a/*: the server replied NoSuchBucket")
	require.True(t, place.Refused(err))
	r := newRig(t, "dir")
	require.NoError(t, os.Remove(r.config.Address))
	_, err = r.openReader(t).List(t.Context(), "a/*")
	require.ErrorContains(t, err, "does not exist: create it")

	r = newRig(t, "dir")
	out := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(out, []byte("x"), 0o600))
	r.write("b", "x")
	require.NoError(t, os.Symlink(out, filepath.Join(r.config.Address, r.config.Prefix, "a")))
	found, err := r.openReader(t).List(t.Context(), "*")
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, names(found), "links are left out")
}
