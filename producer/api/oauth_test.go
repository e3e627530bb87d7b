package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page allows only its own style, by its hash: anything that a platform or a name adds is text.
func TestOAuthPage_AllowsOnlyItsOwnStyle(t *testing.T) {
	t.Parallel()
	w := setup(t).call(http.MethodGet, "/oauth/paper/callback?state=x&code=y", "", "")
	policy := w.Header().Get("Content-Security-Policy")
	require.NotContains(t, policy, "unsafe")
	require.Contains(t, policy, "default-src 'none'")
	require.Contains(t, policy, "frame-ancestors 'none'")
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(w.Body.String())
	require.Len(t, style, 2, w.Body.String())
	hash := sha256.Sum256([]byte(style[1]))
	require.Contains(t, policy, "style-src 'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'")
	require.NotContains(t, w.Body.String(), " style=")
	require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"), "its address has the code")
}
