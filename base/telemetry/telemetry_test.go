package telemetry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNewLogger_LevelCanBeChanged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger, level, err := NewLogger(DefaultConfig(), &out)
	require.NoError(t, err)
	logger.Debug("hidden")
	require.Empty(t, out.String())

	level.Set(slog.LevelDebug)
	logger.Debug("seen", "at", time.Date(2026, 11, 21, 8, 0, 0, 0, time.FixedZone("", 8*3600)))
	var record map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &record))
	require.Equal(t, "seen", record["msg"])
	require.Equal(t, "2026-11-21T00:00:00Z", record["at"])
	require.Regexp(t, `Z$`, record["time"], "the record's own time is in UTC")
}

func TestNewLogger_Text(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger, _, err := NewLogger(Config{Level: "warn", Format: "text"}, &out)
	require.NoError(t, err)
	logger.Info("hidden")
	logger.Warn("seen", "n", 1)
	require.Regexp(t, `^time=\S+Z level=WARN msg=seen n=1\n$`, out.String())
}

func TestConfig_NamesInvalidSettings(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	_, _, err := NewLogger(Config{Level: "INFO", Format: "xml"}, nil)
	require.EqualError(t, err, "level: \"INFO\" is refused: want debug, info, warn or error\n"+
		"format: \"xml\" is refused: want json or text")
}

func TestNewRegistry_HasTheBuild(t *testing.T) {
	t.Parallel()
	families, err := NewRegistry().Gather()
	require.NoError(t, err)
	found := map[string]bool{}
	for _, f := range families {
		found[f.GetName()] = true
	}
	require.True(t, found["adsync_build_info"] && found["go_goroutines"] && found["process_start_time_seconds"])
}

func TestBuildOf(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-21T00:00:00Z"},
		{Key: "vcs.modified", Value: "true"},
	}}
	info.Main.Version = "v1.2.3"
	require.Equal(t, Build{Version: "v1.2.3", Commit: "abc-dirty", Time: "2026-11-21T00:00:00Z", Go: runtime.Version()},
		buildOf(info))
	require.Equal(t, Build{Version: "(devel)", Commit: "unknown", Go: runtime.Version()}, buildOf(&debug.BuildInfo{}))
}
