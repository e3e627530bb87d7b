package broker

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCauseLog_OneLinePerCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newCauseLog(slog.New(slog.NewTextHandler(&out, nil)))
		lines := func() int {
			n := strings.Count(out.String(), "\n")
			out.Reset()
			return n
		}
		down, refused := errors.New("down"), errors.New("refused")
		for range 100 {
			l.report("group", "could not join", down)
			l.report("reader", "could not read", down)
		}
		require.Equal(t, 2, lines(), "each place tells it once")
		l.report("group", "could not join", refused)
		require.Equal(t, 1, lines(), "another cause is told")
		l.report("group", "could not join", refused)
		require.Zero(t, lines())
		time.Sleep(repeatAfter)
		l.report("group", "could not join", refused)
		require.Contains(t, out.String(), "lines_left_out=1")
		require.Equal(t, 1, lines(), "a lasting cause is told once a minute")
		require.True(t, l.clear("group"))
		require.False(t, l.clear("group"))
		l.report("group", "could not join", refused)
		require.Equal(t, 1, lines(), "a cause that came back is told")
	})
}

func TestLibraryLog_TakesTheFormatAsTheCause(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := libraryLog{newCauseLog(slog.New(slog.NewTextHandler(&out, nil)))}
	for offset := range 50 {
		l.Printf("failed at offset %d", offset)
		l.Printf("failed to join as %d", offset)
	}
	require.Equal(t, 2, strings.Count(out.String(), "\n"))
	require.Contains(t, out.String(), "failed at offset 0")
}
