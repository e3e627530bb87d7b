package httpapi

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
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

func TestLogins_WrongTokensHaveToWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, withTokens).open(t)
		guess := func(n int, address string, headers ...string) *httptest.ResponseRecorder {
			return b.from(address, fmt.Sprint("guess ", n), headers...)
		}
		for i := range loginTries {
			require.Equal(t, http.StatusUnauthorized, guess(i, "10.0.0.7:1000").Code)
		}
		w := guess(10, "10.0.0.7:2000")
		require.Equal(t, http.StatusTooManyRequests, w.Code)
		require.Equal(t, "60", w.Header().Get("Retry-After"))
		require.Contains(t, problem(t, w).Detail, "too many wrong tokens came from your address")
		require.Equal(t, http.StatusTooManyRequests, guess(11, "[::ffff:10.0.0.7]:1000").Code, "the same address")
		require.Equal(t, http.StatusTooManyRequests, guess(12, "10.0.0.7:1", "X-Forwarded-For", "10.0.0.8").Code,
			"no proxy is trusted")
		require.Equal(t, http.StatusUnauthorized, guess(13, "10.0.0.8:1000").Code, "another address")

		<-time.After(loginWindow - time.Second)
		require.Equal(t, "1", guess(14, "10.0.0.7:2000").Header().Get("Retry-After"))
		<-time.After(time.Second)
		require.Equal(t, http.StatusUnauthorized, guess(15, "10.0.0.7:1000").Code, "a new window")
	})
}

func TestLogins_EveryWindowIsLikeTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, withTokens).open(t)
		guesses := 0
		guess := func() *httptest.ResponseRecorder {
			guesses++
			return b.from("10.0.0.7:1000", fmt.Sprint("guess ", guesses))
		}
		for range 3 {
			for range loginTries {
				require.Equal(t, http.StatusUnauthorized, guess().Code)
			}
			for range 2 {
				w := guess()
				require.Equal(t, http.StatusTooManyRequests, w.Code)
				require.Equal(t, "60", w.Header().Get("Retry-After"))
			}
			<-time.After(loginWindow)
		}
	})
}

// Wrong tokens from a shared address, as behind a proxy that is not trusted, lock no other caller out.
func TestLogins_AKnownTokenAlwaysPasses(t *testing.T) {
	t.Parallel()
	b := setup(t, withTokens).open(t)
	const proxy = "10.0.0.7:1000"
	for i := range 3 * loginTries {
		b.from(proxy, fmt.Sprint("guess ", i))
	}
	require.Equal(t, http.StatusTooManyRequests, b.from(proxy, "one more guess").Code)
	for _, token := range []string{viewerToken, operatorToken, adminToken} {
		require.Equal(t, http.StatusOK, b.from(proxy, token).Code)
	}
	require.Equal(t, http.StatusTooManyRequests, b.from(proxy, "one more guess").Code,
		"a right token does not end the wait of wrong ones")
}

// The form accepts the right token, and the page a session, while wrong tokens from the same address wait.
func TestLogins_BrowsersLogInWhileWrongTokensWait(t *testing.T) {
	t.Parallel()
	s := pageServer(t, nil, veraToken(veraText))
	before := logIn(t, s)
	for i := range 2 * loginTries {
		visit(s, http.MethodPost, "http://ads.example.com/login", nil, url.Values{"token": {fmt.Sprint("guess ", i)}})
	}
	w := visit(s, http.MethodPost, "http://ads.example.com/login", nil, url.Values{"token": {"one more guess"}})
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.Equal(t, "60", w.Header().Get("Retry-After"))
	require.Equal(t, http.StatusOK, visit(s, http.MethodGet, "http://ads.example.com/", before, nil).Code,
		"a session from before")
	require.Equal(t, http.StatusOK, visit(s, http.MethodGet, "http://ads.example.com/", logIn(t, s), nil).Code,
		"a new session")
	require.Equal(t, http.StatusOK, visit(s, http.MethodGet, "http://ads.example.com/", nil, nil, "Authorization",
		"Bearer "+veraText).Code)
}

func TestLogins_AClientWithAWrongTokenGuessesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, withTokens).open(t)
	for range 10 * loginTries {
		require.Equal(t, http.StatusUnauthorized, b.from("10.0.0.7:1000", "one that was valid last year").Code)
	}
	require.Equal(t, http.StatusUnauthorized, b.from("10.0.0.7:1000", "a first guess").Code)
}

func TestLogins_CountByClientBehindATrustedProxy(t *testing.T) {
	t.Parallel()
	b := setup(t, withTokens, func(c *Config) { c.TrustedProxies = []string{"10.1.0.0/16"} }).open(t)
	for i := range loginTries {
		b.from("10.1.2.3:1", fmt.Sprint("guess ", i), "X-Forwarded-For", "192.0.2.9")
	}
	require.Equal(t, http.StatusTooManyRequests, b.from("10.1.2.3:1", "guess 10", "X-Forwarded-For", "192.0.2.9").Code)
	require.Equal(t, http.StatusUnauthorized, b.from("10.1.2.3:1", "guess 11", "X-Forwarded-For", "192.0.2.10").Code)
}

func TestLogins_RememberAtMostLoginAddresses(t *testing.T) {
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
		require.Len(t, l.failed, 1, "addresses whose window is over are dropped first")
	})
	require.Equal(t, network("2001:db8::1"), network("2001:db8::ffff"), "one client can use them all")
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
	require.Equal(t, http.StatusUnauthorized, b.from("10.0.0.7:1", HashToken(made)).Code, "the hash is not the token")
	require.Equal(t, http.StatusUnauthorized, b.from("10.0.0.7:1", short.Reveal()).Code,
		"a token that could be found from its hash is refused")
}
