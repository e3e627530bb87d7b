package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// sent carries out a command on a producer that gives an answer. It returns what the command prints, and the request
// that came last.
func sent(t *testing.T, answer string, args ...string) (stdout, request string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request = r.Method + " " + r.URL.RequestURI() + " " + string(body)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	r := adsync([]string{"ADSYNC_SERVER=" + server.URL}, args...)
	require.Zero(t, r.code, r.stderr)
	return r.stdout, request
}

func TestGames_AreListedWithTheirAccounts(t *testing.T) {
	t.Parallel()
	stdout, asked := sent(t, `{"games": [{"code": "chess", "name": "Chess", "accounts": 3}]}`, "games", "list")
	require.Equal(t, "GET /api/v1/games ", asked)
	require.Equal(t, "GAME   NAME   ACCOUNTS TODAY\nchess  Chess  3\n", stdout)
	stdout, asked = sent(t, `{"game": {"code": "a b", "name": "", "accounts": 1}, "next": "", "accounts": [
	  {"media": "tulip", "external_id": "9001", "name": "one", "bound": true, "os": "ios",
	   "from": "2000-01-01", "to": "2026-11-20"},
	  {"media": "tulip", "external_id": "9002", "name": "two", "bound": false, "os": "pc",
	   "from": "2026-11-21"}]}`, "games", "show", "a b")
	require.Equal(t, "GET /api/v1/games/a%20b?limit=50 ", asked)
	require.Equal(t, `ACCOUNT     NAME  OS   FROM        TO          PULLED
tulip/9001  one   ios  -           2026-11-20  yes
tulip/9002  two   pc   2026-11-21  -           no
`, stdout)
}
