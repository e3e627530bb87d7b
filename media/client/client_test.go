package client_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adsync/base/clock"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/secret"
	"adsync/media"
	"adsync/media/client"
	"adsync/media/token"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// A connection that was returning to the pool when the test ended.
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// platform decodes answers with its error table. The token is in the query, the worst case for leaks in errors.
type platform struct{ media.Platform }

var codes = media.Codes{
	1: {Class: media.Quota, Scope: grant.ScopeAccount, RetryAfter: 90 * time.Second},
	2: {Class: media.Auth, Expired: true},
	3: {Class: media.Auth},
	4: {Class: media.Transient, Again: true},
	5: {Class: media.Bug},
	6: {Class: media.Quota},
	8: {Class: media.Transient, RetryAfter: 90 * time.Second},
}

func (platform) Name() string    { return "fake" }
func (platform) BaseURL() string { return "http://127.0.0.1:1" }
func (platform) Sign(req *http.Request, access string, now time.Time) {
	q := req.URL.Query()
	q.Set("access_token", access)
	q.Set("now", fmt.Sprint(now.Unix()))
	req.URL.RawQuery = q.Encode()
}

func (platform) Decode(status int, header http.Header, body []byte) (json.RawMessage, error) {
	return codes.Decode(status, header, body)
}

func (platform) Usage(header http.Header) []ratelimit.Usage {
	left, err := strconv.ParseFloat(header.Get("Left"), 64)
	if err != nil {
		return nil
	}
	return []ratelimit.Usage{{Period: time.Minute, Left: left}}
}

// tokens returns access-1, access-2 and so on.
type tokens struct {
	mu      sync.Mutex
	login   token.Login
	renews  int
	refused int
	err     error
}

func (k *tokens) Login(context.Context, int64) (token.Login, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.login, k.err
}

func (k *tokens) Renew(_ context.Context, _, generation int64, _ *media.Error) (token.Login, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renews++
	k.login.Generation = generation + 1
	k.login.Access = secret.NewText(fmt.Sprintf("access-%d", generation+1))
	return k.login, k.err
}

func (k *tokens) Refused(int64, int64, *media.Error) { k.refused++ }

func (*tokens) App(_ context.Context, id string) (media.App, error) {
	return media.App{ID: id, Secret: secret.NewText("app-secret")}, nil
}

type paused struct {
	call  grant.Call
	scope grant.Scope
	d     time.Duration
}

type waiter struct {
	err    error
	waited []grant.Call
	left   time.Duration // until the deadline of the last wait
	pauses []paused
	used   []ratelimit.Usage
	until  func() time.Time // the end of the next grant
	rows   []int            // settled
	ended  chan struct{}    // a grant has
}

func (w *waiter) Settle(_ grant.Call, _ ratelimit.Grant, rows int) { w.rows = append(w.rows, rows) }

func (w *waiter) Wait(ctx context.Context, call grant.Call) (g ratelimit.Grant, err error) {
	w.waited = append(w.waited, call)
	if deadline, ok := ctx.Deadline(); ok {
		w.left = time.Until(deadline)
	}
	if w.until != nil {
		g.Until = w.until()
	}
	return g, w.err
}

func (w *waiter) Pause(_ context.Context, call grant.Call, scope grant.Scope, d time.Duration) error {
	w.pauses = append(w.pauses, paused{call, scope, d})
	return nil
}

func (w *waiter) Used(_ context.Context, _ grant.Call, _ grant.Scope, usage []ratelimit.Usage) error {
	w.used = append(w.used, usage...)
	return nil
}

type setup struct {
	client   *client.Client
	tokens   *tokens
	waiter   *waiter
	registry *prometheus.Registry
	requests *atomic.Int32
}

// connect returns a client of a server that calls answer with the number of the request, from 1.
func connect(t *testing.T, answer func(n int32, w http.ResponseWriter, r *http.Request),
	more ...func(*client.Options)) setup {
	t.Helper()
	s := setup{
		tokens:   &tokens{login: token.Login{App: media.App{ID: "17"}, Access: secret.NewText("access-1"), Generation: 1}},
		waiter:   &waiter{},
		registry: prometheus.NewRegistry(), requests: &atomic.Int32{},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		answer(s.requests.Add(1), w, r)
	}))
	t.Cleanup(server.Close)
	inner := client.NewHTTP()
	t.Cleanup(inner.CloseIdleConnections)
	o := client.Options{
		Platform: platform{}, Transport: client.NewTransport(platform{}, server.URL, inner), Waiter: s.waiter,
		Tokens: s.tokens,
		Logger: slog.New(slog.DiscardHandler), Registerer: s.registry,
	}
	for _, f := range more {
		f(&o)
	}
	s.client = client.New(o)
	return s
}

var account = media.Account{ID: 3, Media: "fake", ExternalID: "9001", TokenID: 1}

func answerCode(code int) func(int32, http.ResponseWriter, *http.Request) {
	return func(_ int32, w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"code":%d,"message":"you sent %s"}`, code, r.URL)
	}
}

func ok(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"code":0,"data":{"x":1}}`) }

// requireType checks an error's type and returns the typed error.
func requireType[T error](t *testing.T, err error) T {
	t.Helper()
	e, is := errors.AsType[T](err)
	require.True(t, is, "%v", err)
	return e
}

func (s setup) calls(t *testing.T, answer string) float64 {
	t.Helper()
	families, err := s.registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != "adsync_media_calls_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "answer" && l.GetValue() == answer {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	return 0
}

func TestGet_SendsTheSignedRequestAndReturnsTheData(t *testing.T) {
	t.Parallel()
	s := connect(t, func(_ int32, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/reports/get" || r.URL.Query().Get("access_token") != "access-1" ||
			r.URL.Query().Get("day") != "2026-11-21" {
			http.Error(w, "unexpected "+r.URL.String(), http.StatusTeapot)
			return
		}
		// Compressed answers are decompressed.
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte(`{"code":0,"data":{"x":1}}`))
		_ = z.Close()
	})
	api := s.client.For(account)
	data, err := api.Get(t.Context(), "reports/get", url.Values{"day": {"2026-11-21"}})
	require.NoError(t, err)
	require.JSONEq(t, `{"x":1}`, string(data))
	require.Equal(t, 1, api.Calls())
	require.Equal(t, account, api.Account())
	require.Equal(t, []grant.Call{{Media: "fake", Endpoint: "reports/get", App: "17", Account: "9001"}}, s.waiter.waited)
	require.InDelta(t, 1, s.calls(t, "ok"), 0)
	count, err := testutil.GatherAndCount(s.registry, "adsync_media_call_seconds")
	require.NoError(t, err)
	require.Equal(t, 1, count)
}

func TestPost_SendsJSON(t *testing.T) {
	t.Parallel()
	s := connect(t, func(_ int32, w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost && r.Header.Get("Content-Type") == "application/json" && string(body) == `{"id":1}` {
			ok(w)
		}
	})
	api := s.client.ForLogin(1)
	_, err := api.Post(t.Context(), "x", map[string]int{"id": 1})
	require.NoError(t, err)
	require.Empty(t, s.waiter.waited[0].Account)
	_, err = api.Post(t.Context(), "x", func() {})
	require.Equal(t, media.Bug, requireType[*media.Error](t, err).Class)
}

func TestGet_PausesCallsOfAUsedUpLimit(t *testing.T) {
	t.Parallel()
	call := grant.Call{Media: "fake", Endpoint: "x", App: "17", Account: "9001"}
	for name, test := range map[string]struct {
		code  int
		login bool
		max   time.Duration
		want  paused
	}{
		"an account's limit":      {code: 1, want: paused{call, grant.ScopeAccount, 90 * time.Second}},
		"a limit without a scope": {code: 6, want: paused{call, grant.ScopeApp, time.Second}},
		"a pause is capped": {code: 1, max: 5 * time.Second,
			want: paused{call, grant.ScopeAccount, 5 * time.Second}},
		"a cap is below the shortest pause": {code: 6, max: 500 * time.Millisecond,
			want: paused{call, grant.ScopeApp, 500 * time.Millisecond}},
		"an account's limit, for no account": {code: 1, login: true,
			want: paused{grant.Call{Media: "fake", Endpoint: "x", App: "17"}, grant.ScopeApp, 90 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, answerCode(test.code), func(o *client.Options) { o.PauseMax = test.max })
			api := s.client.For(account)
			if test.login {
				api = s.client.ForLogin(1)
			}
			_, err := api.Get(t.Context(), "x", nil)
			deferred := requireType[*media.DeferError](t, err)
			require.Equal(t, test.want.d, deferred.After)
			require.NotContains(t, err.Error(), "access-1")
			require.Equal(t, []paused{test.want}, s.waiter.pauses)
			require.EqualValues(t, 1, s.requests.Load())
			require.InDelta(t, 1, s.calls(t, "quota"), 0)
		})
	}
}

// The usage of limits is passed on from every answer, refusals included.
func TestGet_ReportsHowFarLimitsAreUsed(t *testing.T) {
	t.Parallel()
	s := connect(t, func(n int32, w http.ResponseWriter, _ *http.Request) {
		if n < 3 {
			w.Header().Set("Left", fmt.Sprint(float64(n)/10))
		}
		fmt.Fprint(w, `{"code":`, n-1, `,"data":{}}`)
	})
	for range 3 {
		_, _ = s.client.For(media.Account{ExternalID: "9"}).Get(t.Context(), "x", nil)
	}
	require.Equal(t, []ratelimit.Usage{{Period: time.Minute, Left: 0.1}, {Period: time.Minute, Left: 0.2}}, s.waiter.used)
}

func TestGet_CapsThePauseOfAPlatformThatCannotAnswer(t *testing.T) {
	t.Parallel()
	for longest, want := range map[time.Duration]time.Duration{0: 90 * time.Second, 3 * time.Second: 3 * time.Second} {
		t.Run(longest.String(), func(t *testing.T) {
			t.Parallel()
			s := connect(t, answerCode(8), func(o *client.Options) { o.PauseMax = longest })
			_, err := s.client.For(account).Get(t.Context(), "x", nil)
			e := requireType[*media.Error](t, err)
			require.Equal(t, media.Transient, e.Class)
			require.Equal(t, want, e.RetryAfter)
			require.Empty(t, s.waiter.pauses, "calls of others may continue")
		})
	}
}

func TestGet_DefersACallThatWouldWaitBeyondItsDeadline(t *testing.T) {
	t.Parallel()
	s := connect(t, answerCode(0))
	s.waiter.err = fmt.Errorf("wait: %w", &ratelimit.WaitError{After: 40 * time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := s.client.For(account).Get(ctx, "x", nil)
	require.Equal(t, 40*time.Second, requireType[*media.DeferError](t, err).After)
	require.Zero(t, s.requests.Load())
	s.waiter.err = fmt.Errorf("wait: %w", &ratelimit.WaitError{})
	_, err = s.client.For(account).Get(ctx, "x", nil)
	require.Equal(t, time.Second, requireType[*media.DeferError](t, err).After, "the length of the wait is unknown")
	require.LessOrEqual(t, s.waiter.left, 45*time.Second, "some time is left for the call itself")
	require.Greater(t, s.waiter.left, 30*time.Second)
}

func TestGet_RenewsAnExpiredTokenOnce(t *testing.T) {
	t.Parallel()
	s := connect(t, func(_ int32, w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("access_token") == "access-1" {
			_, _ = io.WriteString(w, `{"code":2}`)
			return
		}
		ok(w)
	})
	api := s.client.For(account)
	_, err := api.Get(t.Context(), "x", nil)
	require.NoError(t, err)
	require.Equal(t, 1, s.tokens.renews)
	require.Zero(t, s.tokens.refused)
	require.Equal(t, 2, api.Calls())
	require.Len(t, s.waiter.waited, 2, "the second request is a call like the first")

	s = connect(t, answerCode(2))
	_, err = s.client.For(account).Get(t.Context(), "x", nil)
	require.Equal(t, media.Auth, requireType[*media.Error](t, err).Class)
	require.Equal(t, 1, s.tokens.renews)
	require.Equal(t, 1, s.tokens.refused)
	require.EqualValues(t, 2, s.requests.Load())
	require.NotContains(t, err.Error(), "access-2", "the platform's text contained it")

	s = connect(t, answerCode(3))
	_, err = s.client.For(account).Get(t.Context(), "x", nil)
	require.Equal(t, media.Auth, requireType[*media.Error](t, err).Class)
	require.Zero(t, s.tokens.renews)
	require.Equal(t, 1, s.tokens.refused)
}

// The Retry-After of an answer without a Date counts from the platform's clock as earlier answers showed it, not from
// ours, which is years apart here.
func TestGet_ADateToRetryAfterCountsFromThePlatformsClock(t *testing.T) {
	t.Parallel()
	theirs := time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC)
	s := connect(t, func(n int32, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.Header().Set("Date", theirs.Format(http.TimeFormat))
			ok(w)
			return
		}
		w.Header()["Date"] = nil // Then the server sends none.
		w.Header().Set("Retry-After", theirs.Add(10*time.Minute).Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	api := s.client.For(account)
	_, err := api.Get(t.Context(), "x", nil)
	require.NoError(t, err)
	_, err = api.Get(t.Context(), "x", nil)
	require.InDelta(t, 10*time.Minute, requireType[*media.Error](t, err).RetryAfter, float64(time.Minute))
}

func TestGet_MakesNoCallWithoutAToken(t *testing.T) {
	t.Parallel()
	s := connect(t, answerCode(0))
	s.tokens.err = &media.DeferError{After: time.Second}
	_, err := s.client.For(account).Get(t.Context(), "x", nil)
	_ = requireType[*media.DeferError](t, err)
	require.Zero(t, s.requests.Load())
}

func TestGet_LearnsThePlatformsTimeAndCallsAgain(t *testing.T) {
	t.Parallel()
	// One ahead of our clock and one behind it.
	for _, theirs := range []time.Time{time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC),
		time.Date(2021, 1, 2, 3, 4, 5, 0, time.UTC)} {
		s := connect(t, func(_ int32, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", theirs.Format(http.TimeFormat))
			var now int64
			_, _ = fmt.Sscan(r.URL.Query().Get("now"), &now)
			if now < theirs.Unix()-5 || now > theirs.Unix()+5 {
				_, _ = io.WriteString(w, `{"code":4}`)
				return
			}
			ok(w)
		})
		api := s.client.For(account)
		_, err := api.Get(t.Context(), "x", nil)
		require.NoError(t, err)
		require.Equal(t, 2, api.Calls())
		require.WithinDuration(t, theirs, s.client.Transport.Now(), 5*time.Second)
	}

	s := connect(t, answerCode(4))
	_, err := s.client.For(account).Get(t.Context(), "x", nil)
	require.Equal(t, media.Transient, requireType[*media.Error](t, err).Class)
	require.EqualValues(t, 2, s.requests.Load(), "once")
}

func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

func TestGet_RedialsWhenThereIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := connect(t, func(n int32, w http.ResponseWriter, _ *http.Request) {
		if n < 3 {
			hangUp(w)
			return
		}
		ok(w)
	})
	api := s.client.For(account)
	_, err := api.Get(t.Context(), "x", nil)
	require.NoError(t, err)
	require.Equal(t, 3, api.Calls())
	require.Len(t, s.waiter.waited, 3)
	require.InDelta(t, 2, s.calls(t, "transient"), 0)

	s = connect(t, func(_ int32, w http.ResponseWriter, _ *http.Request) { hangUp(w) })
	api = s.client.For(account)
	_, err = api.Get(t.Context(), "x", nil)
	require.Equal(t, media.Transient, requireType[*media.Error](t, err).Class)
	require.Equal(t, 3, api.Calls())
	require.NotContains(t, err.Error(), "access-1")
	require.Contains(t, err.Error(), "call x")

	api = s.client.For(account)
	_, err = api.Post(t.Context(), "x", 1)
	require.Equal(t, media.Transient, requireType[*media.Error](t, err).Class)
	require.Equal(t, 1, api.Calls(), "a POST may have been executed")
}

// poster is a platform that is read by POST; one endpoint takes the app's secret.
type poster struct{ platform }

func (poster) Reads(endpoint string) bool     { return endpoint != "write" }
func (poster) AppSigned(endpoint string) bool { return endpoint == "accounts" }
func (poster) SignApp(query url.Values, body []byte, app media.App, access string) ([]byte, error) {
	if body == nil {
		query.Set("secret", app.Secret.Reveal())
		return nil, nil
	}
	return fmt.Appendf(nil, `[%s,%q,%q,%q]`, body, app.ID, app.Secret.Reveal(), access), nil
}

func TestPost_IsRepeatedIfItOnlyReads(t *testing.T) {
	t.Parallel()
	s := connect(t, func(_ int32, w http.ResponseWriter, _ *http.Request) { hangUp(w) },
		func(o *client.Options) { o.Platform = poster{} })
	for endpoint, calls := range map[string]int{"list": 3, "write": 1} {
		api := s.client.For(account)
		_, err := api.Post(t.Context(), endpoint, 1)
		require.Equal(t, media.Transient, requireType[*media.Error](t, err).Class)
		require.Equal(t, calls, api.Calls(), endpoint)
	}
}

func TestPost_CarriesTheAppIfThePlatformRequiresIt(t *testing.T) {
	t.Parallel()
	s := connect(t, func(_ int32, w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"code":5,"message":%q}`, body)
	}, func(o *client.Options) { o.Platform = poster{} })
	_, err := s.client.ForLogin(1).Post(t.Context(), "accounts", 7)
	require.ErrorContains(t, err, `[7,"17","<secret>","<secret>"]`, "no error shows the secret")
	_, err = s.client.ForLogin(1).Post(t.Context(), "list", 7)
	require.ErrorContains(t, err, "5: 7", "other endpoints do not get it")
}

func TestGet_CarriesTheAppInItsQuery(t *testing.T) {
	t.Parallel()
	s := connect(t, func(_ int32, w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"code":5,"message":%q}`, r.URL.RawQuery)
	}, func(o *client.Options) { o.Platform = poster{} })
	query := url.Values{"a": {"1"}}
	_, err := s.client.ForLogin(1).Get(t.Context(), "accounts", query)
	require.ErrorContains(t, err, "&secret=<secret>", "no error shows the secret")
	require.Equal(t, url.Values{"a": {"1"}}, query, "the caller's query does not hold it")
	_, err = s.client.ForLogin(1).Get(t.Context(), "list", query)
	require.NotContains(t, err.Error(), "&secret=", "other endpoints do not get it")
}

func TestGet_DoesNotRepeatWhatTheServerAnswered(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(int32, http.ResponseWriter, *http.Request){
		"a failing server": func(_ int32, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"a redirect": func(_ int32, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere?"+r.URL.RawQuery, http.StatusFound)
		},
		"our own mistake": answerCode(5),
		"an unknown code": answerCode(77),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, answer)
			_, err := s.client.For(account).Get(t.Context(), "x", nil)
			_ = requireType[*media.Error](t, err)
			require.EqualValues(t, 1, s.requests.Load())
			require.NotContains(t, err.Error(), "access-1")
		})
	}
}

func TestGet_EndsACallThatHangs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hang := func(_ int32, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	s := connect(t, hang, func(o *client.Options) { o.Timeout = time.Second })
	_, err := s.client.For(account).Get(t.Context(), "x", nil)
	e := requireType[*media.Error](t, err)
	require.Equal(t, media.Transient, e.Class)
	require.Contains(t, e.Message, "no answer within 1s")
	require.EqualValues(t, 1, s.requests.Load())
	require.NotErrorIs(t, err, context.DeadlineExceeded, "it must differ from the subtask's own deadline")

	s = connect(t, hang)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = s.client.For(account).Get(ctx, "x", nil)
	require.ErrorIs(t, err, context.Canceled)
	require.NotContains(t, err.Error(), "access-1")
	require.InDelta(t, 1, s.calls(t, "none"), 0)
	close(release)
}

func TestGet_RefusesAnAnswerWithoutEnd(t *testing.T) {
	t.Parallel()
	s := connect(t, func(_ int32, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(make([]byte, 1<<20))
		_ = z.Close()
	}, func(o *client.Options) { o.Transport.SetBodyMax(1<<20 - 1) })
	_, err := s.client.For(account).Get(t.Context(), "x", nil)
	require.ErrorContains(t, err, "larger than we read: 1048575 bytes")
	require.Equal(t, media.Transient, requireType[*media.Error](t, err).Class)
	require.EqualValues(t, 1, s.requests.Load())
}

func TestGet_IsSafeForManyAtOnce(t *testing.T) {
	t.Parallel()
	s := connect(t, func(_ int32, w http.ResponseWriter, _ *http.Request) { ok(w) },
		func(o *client.Options) { o.Waiter = noWait{} })
	var all sync.WaitGroup
	errs := make([]error, 50)
	for i := range errs {
		all.Go(func() { _, errs[i] = s.client.For(account).Get(t.Context(), "x", nil) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.EqualValues(t, 50, s.requests.Load())
}

type noWait struct{}

func (noWait) Wait(context.Context, grant.Call) (g ratelimit.Grant, err error) { return g, nil }

func (noWait) Settle(grant.Call, ratelimit.Grant, int) {}

func (noWait) Pause(context.Context, grant.Call, grant.Scope, time.Duration) error {
	return nil
}

func (noWait) Used(context.Context, grant.Call, grant.Scope, []ratelimit.Usage) error {
	return nil
}

// A request that is written after the end of its grant would reach the platform outside of its granted time.
func TestGet_IsNotSentAfterTheEndOfItsGrant(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	defer close(held)
	var dials, grants atomic.Int32
	var s setup
	s = connect(t, func(_ int32, w http.ResponseWriter, _ *http.Request) { ok(w) }, func(o *client.Options) {
		inner := client.NewHTTP()
		t.Cleanup(inner.CloseIdleConnections)
		inner.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if dials.Add(1) == 1 {
				<-held
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		o.Transport = client.NewTransport(platform{}, o.Transport.BaseURL(), inner)
	})
	s.waiter.until = func() time.Time {
		if grants.Add(1) == 1 {
			return clock.Mark().Add(20 * time.Millisecond)
		}
		return clock.Mark().Add(time.Minute)
	}
	api := s.client.For(account)
	_, err := api.Get(t.Context(), "x", nil)
	require.NoError(t, err)
	require.Len(t, s.waiter.waited, 2, "it waited for another grant")
	require.EqualValues(t, 1, s.requests.Load())
	require.Equal(t, 1, api.Calls())

	// The answer may take longer than the grant.
	s = connect(t, func(_ int32, w http.ResponseWriter, _ *http.Request) {
		<-s.waiter.ended
		ok(w)
	})
	s.waiter.ended = make(chan struct{})
	end := sync.OnceFunc(func() { close(s.waiter.ended) })
	s.waiter.until = func() time.Time {
		time.AfterFunc(2100*time.Millisecond, end)
		return clock.Mark().Add(2 * time.Second)
	}
	_, err = s.client.For(account).Get(t.Context(), "x", nil)
	require.NoError(t, err)
	require.Len(t, s.waiter.waited, 1)
}

// heldConn is a connection to which a process without CPU time writes late.
type heldConn struct {
	net.Conn
	until *atomic.Pointer[time.Time] // writes wait until then; nil is no wait
}

func (c heldConn) Write(b []byte) (int, error) {
	if until := c.until.Swap(nil); until != nil {
		<-time.After(clock.Until(*until))
	}
	return c.Conn.Write(b)
}

// A request may have a connection and still not be written.
func TestGet_IsNotWrittenAfterTheEndOfItsGrant(t *testing.T) {
	t.Parallel()
	var hold atomic.Pointer[time.Time]
	s := connect(t, func(_ int32, w http.ResponseWriter, _ *http.Request) { ok(w) }, func(o *client.Options) {
		inner := client.NewHTTP()
		t.Cleanup(inner.CloseIdleConnections)
		inner.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return heldConn{conn, &hold}, err
		}
		o.Transport = client.NewTransport(platform{}, o.Transport.BaseURL(), inner)
	})
	api := s.client.For(account)
	for _, connection := range []string{"a new one", "one that was used before"} {
		s.requests.Store(0)
		s.waiter.waited = nil
		s.waiter.until = func() time.Time {
			if len(s.waiter.waited) > 1 {
				return clock.Mark().Add(time.Minute)
			}
			until := clock.Mark().Add(100 * time.Millisecond)
			later := until.Add(10 * time.Millisecond)
			hold.Store(&later)
			return until
		}
		_, err := api.Get(t.Context(), "x", nil)
		require.NoError(t, err, connection)
		require.Len(t, s.waiter.waited, 2, "it waited for another grant: %s", connection)
		require.EqualValues(t, 1, s.requests.Load(), connection)
	}
	require.Equal(t, 2, api.Calls())
}

// A platform whose grants always end too early is still called: all its calls have the same delay.
func TestGet_IsSentEvenIfGrantsAlwaysEnd(t *testing.T) {
	t.Parallel()
	var grants atomic.Int32
	s := connect(t, func(_ int32, w http.ResponseWriter, _ *http.Request) { ok(w) }, func(o *client.Options) {
		inner := client.NewHTTP()
		t.Cleanup(inner.CloseIdleConnections)
		inner.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if grants.Load() < 3 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		o.Transport = client.NewTransport(platform{}, o.Transport.BaseURL(), inner)
	})
	s.waiter.until = func() time.Time {
		grants.Add(1)
		return clock.Mark().Add(-time.Minute)
	}
	_, err := s.client.For(account).Get(t.Context(), "x", nil)
	require.NoError(t, err)
	require.Len(t, s.waiter.waited, 3)
	require.EqualValues(t, 1, s.requests.Load())
}

// Where others are in time, a late request waits for as many grants as it takes: sent without a bound it would arrive
// together with others.
func TestGet_IsNotSentLateWhileOthersAreInTime(t *testing.T) {
	t.Parallel()
	const late = 6
	s := connect(t, func(_ int32, w http.ResponseWriter, _ *http.Request) { ok(w) })
	grants, other := 0, false
	s.waiter.until = func() time.Time {
		if other {
			return clock.Mark().Add(time.Minute)
		}
		if grants++; grants > late {
			return clock.Mark().Add(time.Minute)
		}
		if grants > 1 { // Another request is written in time, after this one was late.
			other = true
			_, err := s.client.For(account).Get(t.Context(), "y", nil)
			require.NoError(t, err)
			other = false
		}
		return clock.Mark().Add(-time.Minute)
	}
	_, err := s.client.For(account).Get(t.Context(), "x", nil)
	require.NoError(t, err)
	require.Equal(t, late+1, grants)
}

// rowLimiter is a platform that limits rows.
type rowLimiter struct{ platform }

func (rowLimiter) Rows(endpoint string, _ url.Values) string {
	return map[string]string{"report": "ads"}[endpoint]
}

func (rowLimiter) Matched(payload json.RawMessage) (int, bool) { return len(payload), true }

func TestGet_ReportsHowManyRowsItHasMatched(t *testing.T) {
	t.Parallel()
	s := connect(t, func(_ int32, w http.ResponseWriter, _ *http.Request) { ok(w) },
		func(o *client.Options) { o.Platform = rowLimiter{} })
	data, err := s.client.For(account).Get(t.Context(), "report", nil)
	require.NoError(t, err)
	require.Equal(t, "ads", s.waiter.waited[0].Rows)
	require.Equal(t, []int{len(data)}, s.waiter.rows)
	_, err = s.client.For(account).Get(t.Context(), "list", nil)
	require.NoError(t, err)
	require.Len(t, s.waiter.rows, 1, "rows of lists are not limited")
}
