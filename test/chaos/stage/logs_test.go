package stage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadLog_CountsAndFindsWhatIsNoRecord(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(file, []byte(`{"time":"2026-11-21T10:00:00.1Z","level":"INFO","msg":"a"}
{"time":"2026-11-21T10:00:00.9Z","level":"WARN","msg":"b"}
{"time":"2026-11-21T10:00:01.1Z","level":"WARN","msg":"b"}
panic: oh
`), 0o600))
	f, err := readLog(file)
	require.NoError(t, err)
	require.Equal(t, LogFigures{Lines: 4, MostSecond: 2, MostMinute: 2, Strange: []string{"panic: oh"},
		Messages: map[string]int{"WARN b": 2}}, f)
}
