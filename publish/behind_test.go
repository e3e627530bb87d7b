package publish

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBehind_WritesAllBytesInTheirOrder(t *testing.T) {
	t.Parallel()
	for size := range 40 {
		var got, want bytes.Buffer
		b := writeBehind(&got, 7)
		for n := range size {
			p := bytes.Repeat([]byte{'a' + byte(n)}, n)
			written, err := b.Write(p)
			require.NoError(t, err)
			require.Equal(t, n, written)
			want.Write(p)
		}
		require.Equal(t, int64(want.Len()), b.total)
		require.NoError(t, b.Close())
		require.Equal(t, want.String(), got.String())
	}
}

// broken accepts some bytes.
type broken struct{ left int }

var errBroken = errors.New("broken")

func (w *broken) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestBehind_ReturnsTheErrorOfTheWriterBelow(t *testing.T) {
	t.Parallel()
	late := writeBehind(&broken{left: 3}, 10)
	_, err := late.Write([]byte("12345"))
	require.NoError(t, err, "nothing was written yet")
	require.ErrorIs(t, late.Close(), errBroken)

	early := writeBehind(&broken{left: 25}, 10)
	n, err := early.Write(make([]byte, 100))
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, 40, n, "the third buffer failed, and the fourth was full when that was noticed")
	n, err = early.Write(make([]byte, 100))
	require.ErrorIs(t, err, errBroken)
	require.Less(t, n, 100)
	require.ErrorIs(t, early.Close(), errBroken)
}
