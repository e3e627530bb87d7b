package httpapi

import (
	"context"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/telemetry"
)

const pageText = "only for callers with a session"

// pageServer is an open server with one page for viewers, and a route of the API.
func pageServer(t *testing.T, box *secret.Box, tokens ...Token) *Server {
	t.Helper()
	return pageServerWith(t, box, func(*Config) {}, tokens...)
}

func pageServerWith(t *testing.T, box *secret.Box, change func(*Config), tokens ...Token) *Server {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Tokens = tokens
	change(&cfg)
	s, err := New(cfg, telemetry.NewRegistry(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	s.Register(Route{Method: http.MethodGet, Path: "/api/who", Role: Viewer, Handler: func(c *gin.Context) error {
		c.String(http.StatusOK, CallerOf(c).Name)
		return nil
	}})
	require.NoError(t, s.RegisterPages(box, Page{Path: "/", Role: Viewer, Handler: func(c *gin.Context) error {
		c.String(http.StatusOK, pageText+": "+CallerOf(c).Name)
		return nil
	}}))
	require.NoError(t, s.Gate().Start(context.Background()))
	return s
}

func visit(s *Server, method, target string, cookie *http.Cookie, form url.Values,
	headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, target, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if cookie != nil {
		r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

func veraToken(text string) Token {
	return Token{Name: "vera", Token: secret.NewText(text), Role: Viewer}
}

const veraText = "vera's token, 20 of them"

func logIn(t *testing.T, s *Server) *http.Cookie {
	t.Helper()
	w := visit(s, http.MethodPost, "http://ads.example.com/login", nil, url.Values{"token": {veraText}})
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, "/", w.Header().Get("Location"))
	cookies := w.Result().Cookies()
	require.Len(t, cookies, 1)
	return cookies[0]
}

func TestPages_WithoutTokensOnlyThisMachineSeesThem(t *testing.T) {
	t.Parallel()
	s := pageServer(t, nil)
	require.Equal(t, pageText+": local", visit(s, http.MethodGet, "http://localhost/", nil, nil).Body.String())
	w := visit(s, http.MethodGet, "http://ads.example.com/", nil, nil)
	require.Equal(t, http.StatusForbidden, w.Code)
	require.NotContains(t, w.Body.String(), pageText)
}

func TestPages_WithTokensABrowserLogsIn(t *testing.T) {
	t.Parallel()
	s := pageServer(t, nil, veraToken(veraText))
	w := visit(s, http.MethodGet, "http://ads.example.com/", nil, nil)
	require.Equal(t, http.StatusUnauthorized, w.Code)
	require.Contains(t, w.Body.String(), `<form method="post" action="/login">`)
	require.NotContains(t, w.Body.String(), `class="problem"`, "no token was tried yet")
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")

	w = visit(s, http.MethodPost, "http://ads.example.com/login", nil, url.Values{"token": {"a guess"}})
	require.Equal(t, http.StatusUnauthorized, w.Code)
	require.Contains(t, w.Body.String(), "The token is unknown.")
	require.Empty(t, w.Result().Cookies())

	cookie := logIn(t, s)
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.Equal(t, int(sessionLife/time.Second), cookie.MaxAge)
	require.NotContains(t, cookie.Value, "vera")
	require.Equal(t, pageText+": vera", visit(s, http.MethodGet, "http://ads.example.com/", cookie, nil).Body.String())
	require.Equal(t, http.StatusUnauthorized, visit(s, http.MethodGet, "http://ads.example.com/api/who", cookie, nil).Code,
		"a session does not open the API")
	require.Equal(t, pageText+": vera", visit(s, http.MethodGet, "http://ads.example.com/", nil, nil, "Authorization",
		"Bearer "+veraText).Body.String())

	w = visit(s, http.MethodPost, "http://ads.example.com/logout", cookie, nil)
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Negative(t, w.Result().Cookies()[0].MaxAge)
}

func TestPages_RefusesUnusableSessions(t *testing.T) {
	t.Parallel()
	box, err := secret.NewBox(secret.NewKey("k"))
	require.NoError(t, err)
	s := pageServer(t, box, veraToken(veraText))
	cookie := logIn(t, s)
	sees := func(s *Server, value string) bool {
		w := visit(s, http.MethodGet, "http://ads.example.com/", &http.Cookie{Name: cookie.Name, Value: value}, nil)
		return strings.Contains(w.Body.String(), pageText)
	}
	require.True(t, sees(s, cookie.Value))
	require.True(t, sees(pageServer(t, box, veraToken(veraText)), cookie.Value), "another producer with the same keys")
	require.False(t, sees(pageServer(t, nil, veraToken(veraText)), cookie.Value), "one with other keys")
	require.False(t, sees(pageServer(t, box, veraToken("another token of vera")), cookie.Value), "her token was changed")
	require.False(t, sees(pageServer(t, box, Token{Name: "otto", Token: secret.NewText(veraText), Role: Admin}),
		cookie.Value), "her token belongs to otto now")
	require.False(t, sees(pageServer(t, box, Token{Name: "otto", Token: secret.NewText("another token of 24 char"),
		Role: Admin}), cookie.Value), "her token was removed")
	for _, value := range []string{"", "x", cookie.Value[1:], cookie.Value + "A", strings.ToUpper(cookie.Value)} {
		require.False(t, sees(s, value), value)
	}
	hash, _ := s.guard.hashOf("vera")
	old, err := box.Seal(`{"name":"vera","print":"`+printOf(hash)+`","until":"2100-01-01T00:00:00Z"}`, sessionPlace)
	require.NoError(t, err)
	require.False(t, sees(s, base64.RawURLEncoding.EncodeToString([]byte(old))),
		"one of an older release, which cannot be ended")
	sealed, err := box.Seal(`{"name":"vera"}`, "something else")
	require.NoError(t, err)
	require.False(t, sees(s, sealed))
}

func TestPages_ASessionEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := pageServer(t, nil, veraToken(veraText))
		cookie := logIn(t, s)
		<-time.After(sessionLife - time.Second)
		require.Equal(t, http.StatusOK, visit(s, http.MethodGet, "http://ads.example.com/", cookie, nil).Code)
		<-time.After(time.Second)
		require.Equal(t, http.StatusUnauthorized, visit(s, http.MethodGet, "http://ads.example.com/", cookie, nil).Code)
	})
}

// A page of another site must not be able to log somebody in as somebody else.
func TestPages_AnotherSiteLogsNobodyIn(t *testing.T) {
	t.Parallel()
	s := pageServer(t, nil, veraToken(veraText))
	w := visit(s, http.MethodPost, "http://ads.example.com/login", nil, url.Values{"token": {veraText}}, "Sec-Fetch-Site",
		"cross-site")
	require.Equal(t, http.StatusForbidden, w.Code)
	require.Empty(t, w.Result().Cookies())
}
