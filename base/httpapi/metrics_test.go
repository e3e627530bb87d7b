package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// fetch calls a server over the network, under another host name if host is not empty.
func fetch(t *testing.T, method, url, host string) (status int, body string, header http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	require.NoError(t, err)
	if host != "" {
		r.Host = host
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text), response.Header
}

func TestMetrics_HaveAListenerThatNeedsNoToken(t *testing.T) {
	t.Parallel()
	b := setup(t, withTokens, func(c *Config) { c.MetricsListen = "127.0.0.1:0" })
	require.NoError(t, b.Start(t.Context()))
	defer b.Stop()
	alone := "http://" + b.MetricsAddr()

	status, body, header := fetch(t, http.MethodGet, alone+"/metrics", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "adsync_build_info{")
	require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))

	status, _, _ = fetch(t, http.MethodGet, "http://"+b.Addr()+"/metrics", "")
	require.Equal(t, http.StatusUnauthorized, status, "that of the API still needs a token")
	status, body, _ = fetch(t, http.MethodGet, alone+"/metrics", "evil.example")
	require.Equal(t, http.StatusForbidden, status, "a page whose name resolves to this machine")
	require.NotContains(t, body, "adsync_build_info")
	for _, path := range []string{"/", "/api/who", "/readyz", "/metrics/x"} {
		status, _, _ = fetch(t, http.MethodGet, alone+path, "")
		require.Equal(t, http.StatusNotFound, status, "%s: it serves metrics alone", path)
	}
	status, _, _ = fetch(t, http.MethodPost, alone+"/metrics", "")
	require.Equal(t, http.StatusMethodNotAllowed, status)
}

func TestMetrics_AnyHostNameIsAcceptedOnANetworkAddress(t *testing.T) {
	t.Parallel()
	b := setup(t, withTokens, func(c *Config) { c.MetricsListen = ":9464" })
	w := httptest.NewRecorder()
	b.metricsAlone().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://producer-1:9464/metrics", http.NoBody))
	require.Equal(t, http.StatusOK, w.Code)
}

func TestMetrics_AreShownForASession(t *testing.T) {
	t.Parallel()
	s := pageServer(t, nil, veraToken(veraText))
	cookie := logIn(t, s)
	w := visit(s, http.MethodGet, "http://ads.example.com/metrics", cookie, nil)
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "adsync_build_info{")
	require.Equal(t, http.StatusUnauthorized, visit(s, http.MethodGet, "http://ads.example.com/metrics", nil, nil).Code)
}

func TestMetrics_AListenerThatIsTakenLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	first := setup(t)
	require.NoError(t, first.Start(t.Context()))
	defer first.Stop()
	second := setup(t, withTokens, func(c *Config) { c.MetricsListen = first.Addr() })
	require.ErrorContains(t, second.Start(t.Context()), "listen for metrics: ")
	second.Stop()
	third := setup(t, func(c *Config) { c.Listen = second.Addr() })
	require.NoError(t, third.Start(t.Context()), "the address of the second API is free again")
	third.Stop()
}
