package telemetry

import (
	"bytes"
	"errors"
	"fmt"
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
		l := NewCauseLog(slog.New(slog.NewTextHandler(&out, nil)))
		lines := func() int {
			n := strings.Count(out.String(), "\n")
			out.Reset()
			return n
		}
		down, refused := errors.New("down"), errors.New("refused")
		for range 100 {
			l.Report(slog.LevelWarn, "group", "could not join", down)
			l.Report(slog.LevelWarn, "reader", "could not read", down)
		}
		require.Equal(t, 2, lines(), "each place logs it once")
		l.Report(slog.LevelWarn, "group", "could not join", refused)
		require.Equal(t, 1, lines(), "another cause is logged")
		l.Report(slog.LevelWarn, "group", "could not join", refused)
		require.Zero(t, lines())
		time.Sleep(repeatAfter)
		l.Report(slog.LevelWarn, "group", "could not join", refused)
		require.Contains(t, out.String(), "lines_left_out=1")
		require.Equal(t, 1, lines(), "a lasting cause is logged once a minute")
		l.Report(slog.LevelWarn, "reader", "could not read", errors.New("read tcp 127.0.0.1:41234: timeout"))
		l.Report(slog.LevelWarn, "reader", "could not read", errors.New("read tcp 127.0.0.1:5120: timeout"))
		require.Equal(t, 1, lines(), "another port is no other cause")
		l.Recovered("reader", "reading again")
		l.Recovered("reader", "reading again")
		require.Equal(t, 1, lines())
		require.True(t, l.Clear("group"))
		require.False(t, l.Clear("group"))
		l.Report(slog.LevelWarn, "group", "could not join", refused)
		require.Equal(t, 1, lines(), "a cause that came back is logged")
	})
}

func TestCauseLog_AlternatingCausesDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := NewCauseLog(slog.New(slog.NewTextHandler(&out, nil)))
	for port := range 100 {
		l.Report(slog.LevelWarn, "store", "cannot read", errors.New("refused"))
		l.Report(slog.LevelWarn, "store", "cannot read", fmt.Errorf("read 10.0.0.1:%d: timeout", port))
	}
	require.Equal(t, 2, strings.Count(out.String(), "\n"), out.String())
	for _, letter := range "abcdefghijklmnopqrstuvwxyz" {
		l.Report(slog.LevelError, "store", "cannot read", errors.New(string(letter)))
	}
	require.LessOrEqual(t, strings.Count(out.String(), "\n"), causesMax+1)
	require.Contains(t, out.String(), "level=ERROR")
}

func TestCauseLog_ErrorsThatAreMarkedAsOneCause(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := NewCauseLog(slog.New(slog.NewTextHandler(&out, nil)))
	for _, text := range []string{"account 1", "account 2", "account 3"} {
		l.Report(slog.LevelError, "bug", "a bug", OneCause(errors.New(text)))
	}
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
	require.Contains(t, out.String(), "account 1")
}
