package orc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/publish/format"
)

// expected is the .json of a file in testdata, which testdata/make.py writes.
type expected struct {
	Columns []struct {
		Name  string
		Type  string
		Scale int
	}
	Rows  [][]*string
	Error string
}

var typeNames = map[string]format.Type{
	"text": format.Text, "integer": format.Integer, "decimal": format.Decimal, "float": format.Float,
	"bool": format.Bool, "day": format.Day, "time": format.Time,
}

func TestRead_GivesTheRowsThatPyarrowReads(t *testing.T) {
	t.Parallel()
	for _, path := range pyarrowFiles(t) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			want := readExpected(t, path)
			data := readFile(t, path)
			f, err := Open(bytes.NewReader(data), int64(len(data)))
			var rows [][]*string
			if err == nil {
				rows, err = readAll(t.Context(), f, nil)
			}
			if want.Error != "" {
				require.ErrorContains(t, err, want.Error)
				return
			}
			require.NoError(t, err)
			columns := make([]format.Column, len(want.Columns))
			for i, c := range want.Columns {
				columns[i] = format.Column{Name: c.Name, Type: typeNames[c.Type], Scale: c.Scale}
			}
			require.Equal(t, columns, f.Columns())
			require.Len(t, rows, int(f.Rows()))
			require.Len(t, rows, len(want.Rows))
			for i, row := range want.Rows {
				require.Equal(t, row, rows[i], "row %d", i+1)
			}
		})
	}
}

// pyarrowFiles returns the files of testdata and, if ADSYNC_TEST_PYTHON names a Python, files that it writes now from
// other random values. `make test-formats` sets it.
func pyarrowFiles(t *testing.T) []string {
	t.Helper()
	dirs := []string{"testdata"}
	if python := os.Getenv("ADSYNC_TEST_PYTHON"); python != "" {
		dir, seed := t.TempDir(), strconv.Itoa(rand.IntN(1e9))
		t.Log("the seed of make.py is", seed)
		out, err := exec.CommandContext(t.Context(), python, "testdata/make.py", dir, seed).CombinedOutput()
		require.NoError(t, err, "%s", out)
		dirs = append(dirs, dir)
	}
	var all []string
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.orc"))
		require.NoError(t, err)
		require.Greater(t, len(files), 30)
		all = append(all, files...)
	}
	return all
}

func TestRead_OnlyTheSelectedColumnsInTheirOrder(t *testing.T) {
	t.Parallel()
	want := readExpected(t, "testdata/types.zlib.orc")
	f := openFile(t, "testdata/types.zlib.orc")
	rows, err := readAll(t.Context(), f, []int{9, 0, 9, 7})
	require.NoError(t, err)
	require.Len(t, rows, len(want.Rows))
	for i, row := range want.Rows {
		require.Equal(t, []*string{row[9], row[0], row[9], row[7]}, rows[i], "row %d", i+1)
	}
	for _, selected := range [][]int{{}, {-1}, {0, 13}} {
		require.ErrorContains(t, f.Read(t.Context(), selected, nil), "selected: want")
	}
}

// counting counts the bytes that are read of a file.
type counting struct {
	bytes.Reader
	n int
}

func (c *counting) ReadAt(b []byte, offset int64) (int, error) {
	c.n += len(b)
	return c.Reader.ReadAt(b, offset)
}

func TestRead_DoesNotReadTheValuesOfOtherColumns(t *testing.T) {
	t.Parallel()
	data := readFile(t, "testdata/types.none.orc")
	r := &counting{Reader: *bytes.NewReader(data)}
	f, err := Open(r, int64(len(data)))
	require.NoError(t, err)
	read := func(selected []int) int {
		r.n = 0
		_, err := readAll(t.Context(), f, selected)
		require.NoError(t, err)
		return r.n
	}
	all := read(nil)
	sum, footers := 0, -read([]int{12, 0})
	for i := range f.Columns() {
		sum += read([]int{i})
	}
	footers += read([]int{12}) + read([]int{0}) // Each read has the stripe's footer once.
	require.Equal(t, all, sum-12*footers)
	require.Greater(t, all, 10*footers)
}

func TestRead_SeveralTimesAtOnce(t *testing.T) {
	t.Parallel()
	f := openFile(t, "testdata/stripes.orc")
	require.Greater(t, len(f.stripes), 1)
	want, err := readAll(t.Context(), f, nil)
	require.NoError(t, err)
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			got, err := readAll(t.Context(), f, nil)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestRead_StopsWithTheErrorOfTheRow(t *testing.T) {
	t.Parallel()
	f := openFile(t, "testdata/stripes.orc")
	errFull := errors.New("the disk is full")
	n := 0
	err := f.Read(t.Context(), nil, func([][]byte) error {
		if n++; n == 70 {
			return errFull
		}
		return nil
	})
	require.Equal(t, errFull, err)
	require.Equal(t, 70, n)
}

func TestRead_StopsWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	f := openFile(t, "testdata/stripes.orc")
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := f.Read(ctx, nil, func([][]byte) error {
		n++
		cancel()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, f.stripes[0].rows, n, "the context is checked before each stripe")
}

// failing is a file whose reads fail after so many.
type failing struct {
	bytes.Reader
	left int
}

var errDisk = errors.New("the disk failed")

func (f *failing) ReadAt(b []byte, offset int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errDisk
	}
	return f.Reader.ReadAt(b, offset)
}

func TestEachFailureOfTheFileIsReturned(t *testing.T) {
	t.Parallel()
	data := readFile(t, "testdata/types.zstd.orc")
	for left := 0; ; left++ {
		r := &failing{Reader: *bytes.NewReader(data), left: left}
		f, err := Open(r, int64(len(data)))
		if err == nil {
			_, err = readAll(t.Context(), f, nil)
		}
		if r.left >= 0 {
			require.NoError(t, err)
			require.Greater(t, left, 20)
			return
		}
		require.ErrorIs(t, err, errDisk)
	}
}

func TestEachCutOfAFileIsRefused(t *testing.T) {
	t.Parallel()
	data := readFile(t, "testdata/kinds.orc")
	for n := range data {
		f, err := Open(bytes.NewReader(data[:n]), int64(n))
		require.Error(t, err, "%d bytes of %d", n, len(data))
		require.Nil(t, f)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"testdata/types.zlib.orc", "testdata/dictionary.orc", "testdata/long_texts.orc"} {
		data := readFile(t, path)
		_, err := open(bytes.NewReader(data), int64(len(data)), 100)
		require.ErrorIs(t, err, ErrMemory, path)

		f := openFile(t, path)
		enough := 0
		for f.memory = 1 << 10; ; f.memory += 1 << 10 {
			_, err := readAll(t.Context(), f, nil)
			if err == nil {
				enough = f.memory
				break
			}
			require.ErrorIs(t, err, ErrMemory, path)
		}
		require.Greater(t, enough, 8<<10, path)
		require.Less(t, enough, 256<<10, path)
	}
}

func TestMemoryIsFreedAfterEachStripe(t *testing.T) {
	t.Parallel()
	one, eight := fileOf(1), fileOf(8)
	least := func(data []byte) int {
		f, err := Open(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		for f.memory = 0; ; f.memory += 128 {
			if _, err := readAll(t.Context(), f, nil); err == nil {
				return f.memory
			}
		}
	}
	require.Equal(t, least(one), least(eight))
}

// fileOf returns a file with the same stripe several times.
func fileOf(stripes int) []byte {
	b := builder{kind: kindLong}
	for range stripes {
		b.stripes = append(b.stripes, stripeOf(2, encodingOf(2, 0), chunkOf(streamData, 0x00, 0, 4)))
	}
	return b.file()
}

func readAll(ctx context.Context, f *File, selected []int) ([][]*string, error) {
	var rows [][]*string
	err := f.Read(ctx, selected, func(row [][]byte) error {
		texts := make([]*string, len(row))
		for i, value := range row {
			if value != nil {
				texts[i] = new(string(value))
			}
		}
		rows = append(rows, texts)
		return nil
	})
	return rows, err
}

func openFile(t *testing.T, path string) *File {
	t.Helper()
	data := readFile(t, path)
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	return f
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// readExpected reads the .json of a file. It has the file's name up to the first point.
func readExpected(t *testing.T, path string) expected {
	t.Helper()
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	var want expected
	require.NoError(t, json.Unmarshal(readFile(t, filepath.Join(filepath.Dir(path), name+".json")), &want))
	return want
}
