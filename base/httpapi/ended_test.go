package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
)

// sharedSessions is a store in memory, which can refuse or hang.
type sharedSessions struct {
	mu    sync.Mutex
	ended map[string]time.Time
	away  bool
	hangs bool
}

func (s *sharedSessions) set(away, hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.hangs = away, hangs
}

func (s *sharedSessions) answer(ctx context.Context) error {
	s.mu.Lock()
	away, hangs := s.away, s.hangs
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if away {
		return errors.New("no route to host")
	}
	return nil
}

func (s *sharedSessions) EndSession(ctx context.Context, id string, until time.Time) error {
	if err := s.answer(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended[id] = until
	return nil
}

func (s *sharedSessions) EndedSessions(ctx context.Context) ([]string, error) {
	if err := s.answer(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.ended)), nil
}

// producers returns n servers of one deployment that share ended sessions through a store.
func producers(t *testing.T, n int) (*sharedSessions, []*Server) {
	t.Helper()
	box, err := secret.NewBox(secret.NewKey("k"))
	require.NoError(t, err)
	store := &sharedSessions{ended: map[string]time.Time{}}
	var all []*Server
	for range n {
		s := pageServer(t, box, veraToken(veraText))
		part := s.ShareSessions(store)
		require.NoError(t, part.Start(t.Context()))
		t.Cleanup(part.Stop)
		all = append(all, s)
	}
	return store, all
}

func opens(s *Server, cookie *http.Cookie) bool {
	return visit(s, http.MethodGet, "http://ads.example.com/", cookie, nil).Code == http.StatusOK
}

func logOut(t *testing.T, s *Server, cookie *http.Cookie) {
	t.Helper()
	w := visit(s, http.MethodPost, "http://ads.example.com/logout", cookie, nil)
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Negative(t, w.Result().Cookies()[0].MaxAge)
}

func TestLogout_EndsTheSessionInAllProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, all := producers(t, 2)
		here, there := all[0], all[1]
		cookie, other := logIn(t, here), logIn(t, there)
		require.True(t, opens(here, cookie) && opens(there, cookie))

		logOut(t, here, cookie)
		require.False(t, opens(here, cookie), "a copy of the cookie opens nothing, at once")
		<-time.After(endedInterval)
		synctest.Wait()
		require.False(t, opens(there, cookie), "nor in another process")
		require.True(t, opens(here, other) && opens(there, other), "another session of the same token continues")
		require.Equal(t, http.StatusUnauthorized, visit(there, http.MethodGet, "http://ads.example.com/metrics", cookie,
			nil).Code)
	})
}

func TestLogout_HoldsInAProcessThatStartsLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, all := producers(t, 1)
		cookie := logIn(t, all[0])
		logOut(t, all[0], cookie)
		later := pageServer(t, all[0].sessions.box, veraToken(veraText))
		part := later.ShareSessions(store)
		require.NoError(t, part.Start(t.Context()))
		defer part.Stop()
		require.False(t, opens(later, cookie))

		store.set(true, false)
		late := newEndedSessions(slog.New(slog.DiscardHandler))
		late.store = store
		require.ErrorContains(t, late.Start(t.Context()),
			"read the ended sessions: no route to host", "a process that cannot read them does not start")
	})
}

// Pages and log-outs work without the store, and the log-outs are saved when it answers again.
func TestLogout_WhileTheStoreDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for name, hangs := range map[string]bool{"refuses": false, "hangs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, all := producers(t, 2)
				here, there := all[0], all[1]
				before, cookie, other := logIn(t, here), logIn(t, here), logIn(t, here)
				logOut(t, here, before)
				<-time.After(endedInterval)
				synctest.Wait()
				store.set(true, hangs)

				began := time.Now()
				logOut(t, here, cookie)
				require.LessOrEqual(t, time.Since(began), endedTimeout)
				<-time.After(time.Minute)
				began = time.Now()
				require.False(t, opens(here, cookie), "it has ended in the process of the log-out")
				require.True(t, opens(there, cookie), "the other process cannot know yet")
				require.False(t, opens(there, before), "what it read before holds")
				require.True(t, opens(here, other) && opens(there, other))
				require.Zero(t, time.Since(began), "pages wait for nothing")

				store.set(false, false)
				<-time.After(2*endedInterval + endedTimeout)
				synctest.Wait()
				require.False(t, opens(there, cookie), "the log-out arrives when the store answers again")
			})
		})
	}
}

func TestLogout_SessionsThatAreOverAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, all := producers(t, 1)
		logOut(t, all[0], logIn(t, all[0]))
		require.Len(t, store.ended, 1)
		require.Len(t, all[0].ended.here, 1)
		<-time.After(sessionLife + endedInterval)
		synctest.Wait()
		require.Empty(t, all[0].ended.here)
	})
}

// A log-out without a session ends none, and stores nothing.
func TestLogout_WithoutASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, all := producers(t, 1)
		for _, value := range []string{"", "x", strings.Repeat("A", 200)} {
			logOut(t, all[0], &http.Cookie{Name: sessionCookie, Value: value})
		}
		logOut(t, all[0], nil)
		require.Empty(t, store.ended)
		require.Empty(t, all[0].ended.here)
	})
}

func TestPages_TheCookieIsSecureIfTheBrowserSpeaksTLS(t *testing.T) {
	t.Parallel()
	s := pageServer(t, nil, veraToken(veraText))
	trusting := pageServerWith(t, nil, func(c *Config) { c.TrustedProxies = []string{"192.0.2.1", "fd00::/8"} },
		veraToken(veraText))
	tests := []struct {
		name   string
		server *Server
		url    string
		proto  string
		want   bool
	}{
		{"no TLS", s, "http://ads.example.com", "", false},
		{"TLS of its own", s, "https://ads.example.com", "", true},
		{"a proxy that is not trusted", s, "http://ads.example.com", "https", false},
		{"a trusted proxy that ends TLS", trusting, "http://ads.example.com", "https", true},
		{"two proxies, of which the first ends TLS", trusting, "http://ads.example.com", "HTTPS, http", true},
		{"a trusted proxy without TLS", trusting, "http://ads.example.com", "http", false},
		{"a trusted proxy without the header", trusting, "http://ads.example.com", "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := visit(test.server, http.MethodPost, test.url+"/login", nil, map[string][]string{"token": {veraText}},
				"X-Forwarded-Proto", test.proto)
			require.Len(t, w.Result().Cookies(), 1)
			require.Equal(t, test.want, w.Result().Cookies()[0].Secure)
			w = visit(test.server, http.MethodPost, test.url+"/logout", nil, nil, "X-Forwarded-Proto", test.proto)
			require.Equal(t, test.want, w.Result().Cookies()[0].Secure)
		})
	}
}
