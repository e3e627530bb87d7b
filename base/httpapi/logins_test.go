package httpapi

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
)

// from calls a route with a token from an address.
func (b *bundle) from(address, token string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/api/who", http.NoBody)
	r.RemoteAddr = address
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, r)
	return w
}

func TestLogins_WhoTriesTokensHasToWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, withTokens).open(t)
		for i := range loginTries {
			require.Equal(t, http.StatusUnauthorized, b.from("10.0.0.7:1000", fmt.Sprint("guess ", i)).Code)
		}
		w := b.from("10.0.0.7:2000", adminToken)
		require.Equal(t, http.StatusTooManyRequests, w.Code, "a right guess is not told from a wrong one")
		require.Equal(t, "60", w.Header().Get("Retry-After"))
		require.Contains(t, problem(t, w).Detail, "Too many wrong tokens came from your address")
		require.Equal(t, http.StatusTooManyRequests, b.from("[::ffff:10.0.0.7]:1000", adminToken).Code, "the same address")
		require.Equal(t, http.StatusTooManyRequests, b.from("10.0.0.7:1", adminToken, "X-Forwarded-For", "10.0.0.8").Code, "nobody is believed to be a proxy")
		require.Equal(t, http.StatusOK, b.from("10.0.0.8:1000", adminToken).Code, "others are let in")

		<-time.After(loginWindow - time.Second)
		require.Equal(t, "1", b.from("10.0.0.7:2000", adminToken).Header().Get("Retry-After"))
		<-time.After(time.Second)
		require.Equal(t, http.StatusOK, b.from("10.0.0.7:2000", adminToken).Code)
		require.Equal(t, http.StatusUnauthorized, b.from("10.0.0.7:1000", "guess 11").Code, "it begins anew")
	})
}

func TestLogins_AClientWithAWrongTokenGuessesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, withTokens).open(t)
	for range 10 * loginTries {
		require.Equal(t, http.StatusUnauthorized, b.from("10.0.0.7:1000", "one that was valid last year").Code)
	}
	require.Equal(t, http.StatusOK, b.from("10.0.0.7:1000", adminToken).Code, "others behind the same proxy go on")
}

func TestLogins_CountByClientBehindAProxyThatIsTrusted(t *testing.T) {
	t.Parallel()
	b := setup(t, withTokens, func(c *Config) { c.TrustedProxies = []string{"10.1.0.0/16"} }).open(t)
	for i := range loginTries {
		b.from("10.1.2.3:1", fmt.Sprint("guess ", i), "X-Forwarded-For", "192.0.2.9")
	}
	require.Equal(t, http.StatusTooManyRequests, b.from("10.1.2.3:1", adminToken, "X-Forwarded-For", "192.0.2.9").Code)
	require.Equal(t, http.StatusOK, b.from("10.1.2.3:1", adminToken, "X-Forwarded-For", "192.0.2.10").Code)
}

func TestLogins_RememberSoManyAddressesAndNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLogins()
		guess := func(address string) { l.fail(address, sha256.Sum256([]byte(address))) }
		for i := range 3 * loginAddresses {
			guess(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&0xff, i&0xff))
			require.LessOrEqual(t, len(l.failed), loginAddresses)
		}
		<-time.After(loginWindow)
		guess("192.0.2.1")
		require.Len(t, l.failed, 1, "whose time is over is forgotten first")
	})
	require.Equal(t, network("2001:db8::1"), network("2001:db8::ffff"), "one client has them all")
	require.NotEqual(t, network("2001:db8::1"), network("2001:db8:0:1::1"))
	require.NotEqual(t, network("192.0.2.1"), network("192.0.2.2"))
}

func TestGuard_TokensByTheirHash(t *testing.T) {
	t.Parallel()
	made := NewToken()
	require.Regexp(t, `^adsync_[A-Za-z0-9_-]{43}$`, made.Reveal())
	short := secret.NewText(strings.Repeat("s", hashedLengthMin-1))
	b := setup(t, func(c *Config) {
		c.Tokens = []Token{
			{Name: "ada", Token: secret.NewText(HashToken(made)), Role: Admin},
			{Name: "sam", Token: secret.NewText(HashToken(short)), Role: Admin},
		}
	}).open(t)
	require.Equal(t, http.StatusOK, b.from("10.0.0.7:1", made.Reveal()).Code)
	require.Equal(t, http.StatusUnauthorized, b.from("10.0.0.7:1", HashToken(made)).Code, "the hash lets nobody in")
	require.Equal(t, http.StatusUnauthorized, b.from("10.0.0.7:1", short.Reveal()).Code, "what could be found from its hash lets nobody in")
}
