package publish

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBehind_UsesAllRowsInTheirOrder(t *testing.T) {
	t.Parallel()
	rows := [][][]byte{{}, {nil}, {{}}, {nil, nil}, {{}, nil, {}}, {[]byte("a"), nil, []byte("bc")}, {nil, []byte("d")},
		{[]byte(strings.Repeat("long", 9))}, {{}, {}}}
	for size := range 12 {
		var got [][][]byte
		b := useBehind(func(row [][]byte) error {
			kept := [][]byte{}
			for _, cell := range row {
				if cell != nil {
					cell = append([]byte{}, cell...)
				}
				kept = append(kept, cell)
			}
			got = append(got, kept)
			return nil
		}, size)
		var want [][][]byte
		for range 20 {
			for _, row := range rows {
				own := [][]byte{}
				for _, cell := range row {
					if cell != nil {
						cell = append([]byte{}, cell...)
					}
					own = append(own, cell)
				}
				require.NoError(t, b.add(own))
				for _, cell := range own { // The caller reads the next row into it.
					clear(cell)
				}
			}
			want = append(want, rows...)
		}
		require.NoError(t, b.close())
		require.Equal(t, want, got, "batches of %d", size)
	}
}

func TestBehind_ReturnsTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	calls := 0
	use := func([][]byte) error {
		if calls++; calls == 3 {
			return broken
		}
		return nil
	}
	row := [][]byte{[]byte("four")}
	late := useBehind(use, 1000)
	for range 5 {
		require.NoError(t, late.add(row), "nothing was used yet")
	}
	require.ErrorIs(t, late.close(), broken)
	require.Equal(t, 3, calls, "no row was used after the error")

	calls = 0
	early := useBehind(use, 1)
	var err error
	for n := 0; err == nil; n++ {
		require.Less(t, n, 3+batches, "it is returned some batches later")
		err = early.add(row)
	}
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, early.add(row), broken)
	require.ErrorIs(t, early.close(), broken)
	require.Equal(t, 3, calls)
}

// A panic must not end the process: it is one of the subtask.
func TestBehind_PanicsWhereTheRowsAreAdded(t *testing.T) {
	t.Parallel()
	b := useBehind(func([][]byte) error { panic("slipped") }, 1000)
	require.NoError(t, b.add([][]byte{{}}))
	defer func() {
		text, _ := recover().(string)
		require.Contains(t, text, "slipped")
		require.Contains(t, text, "behind_test.go")
	}()
	_ = b.close()
	require.Fail(t, "it has not panicked")
}
