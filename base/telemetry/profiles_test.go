package telemetry

import (
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProfiles_AreServedToThisMachineAlone(t *testing.T) {
	t.Parallel()
	off := NewProfiles(DebugConfig{}, slog.New(slog.DiscardHandler))
	require.NoError(t, off.Start(t.Context()))
	require.Empty(t, off.Addr(), "off by default")
	off.Stop()

	p := NewProfiles(DebugConfig{Pprof: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
	require.NoError(t, p.Start(t.Context()))
	get := func(path, host string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.Addr()+path, http.NoBody)
		require.NoError(t, err)
		req.Host = host
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(body)
	}
	status, body := get("/debug/pprof/goroutine?debug=1", p.Addr())
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "TestProfiles_AreServedToThisMachineAlone")
	status, _ = get("/debug/pprof/goroutine?debug=1", "rebound.example.com")
	require.Equal(t, http.StatusForbidden, status)
	status, _ = get("/debug/pprof/cmdline", p.Addr())
	require.Equal(t, http.StatusForbidden, status)
	p.Stop()
	p.Stop()

	for _, address := range []string{":6060", "0.0.0.0:6060", "10.0.0.1:6060", "example.com:6060", "127.0.0.1"} {
		require.ErrorContains(t, DebugConfig{Pprof: address}.Validate(), "want a loopback address with a port", address)
	}
}
