package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"adsync/base/openapi"
	"adsync/base/secret"
	"adsync/base/telemetry"
)

// syncBuffer is a log that a server may write while the test reads.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

type bundle struct {
	*Server
	log *syncBuffer
}

var (
	viewerToken   = strings.Repeat("v", 20)
	operatorToken = strings.Repeat("o", 20)
	adminToken    = strings.Repeat("a", 20)
)

func withTokens(c *Config) {
	c.Tokens = []Token{
		{Name: "vera", Token: secret.NewText(viewerToken), Role: Viewer},
		{Name: "otto", Token: secret.NewText(operatorToken), Role: Operator},
		{Name: "ada", Token: secret.NewText(adminToken), Role: Admin},
	}
}

// setup makes a server with a route for every kind of answer.
func setup(t *testing.T, change ...func(*Config)) *bundle {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Listen = "127.0.0.1:0"
	for _, f := range change {
		f(&cfg)
	}
	b := &bundle{log: &syncBuffer{}}
	logger := slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	b.Server, err = New(cfg, telemetry.NewRegistry(), logger)
	require.NoError(t, err)
	b.Mount("/mounted", Admin, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path)
	}))
	b.Register(
		Route{"GET", "/api/who", Viewer, func(c *gin.Context) error {
			c.JSON(http.StatusOK, CallerOf(c))
			return nil
		}},
		Route{"POST", "/api/run", Operator, func(c *gin.Context) error {
			var body order
			if err := Bind(c, orderSchema, &body); err != nil {
				return err
			}
			c.JSON(http.StatusOK, body)
			return nil
		}},
		Route{"PUT", "/api/settings", Admin, func(c *gin.Context) error {
			c.Status(http.StatusNoContent)
			return nil
		}},
		Route{"GET", "/api/fail", Viewer, func(*gin.Context) error { return errors.New("password hunter2 was refused") }},
		Route{"GET", "/api/panic", Viewer, func(*gin.Context) error { panic("hunter2") }},
		Route{"GET", "/api/half", Viewer, func(c *gin.Context) error {
			_, _ = io.WriteString(c.Writer, "half")
			c.Writer.Flush()
			return errors.New("cut off")
		}},
		Route{"GET", "/api/gone", Viewer, func(*gin.Context) error {
			return NewProblem(http.StatusGone, "Run %d is gone.", 7)
		}},
		Route{"GET", "/api/slow", Viewer, func(c *gin.Context) error {
			<-c.Request.Context().Done()
			return c.Request.Context().Err()
		}},
	)
	return b
}

// open starts the gate, as the manager does last.
func (b *bundle) open(t *testing.T) *bundle {
	t.Helper()
	require.NoError(t, b.Gate().Start(t.Context()))
	return b
}

// call sends a request without a network. Headers are given as name and value in turn.
func (b *bundle) call(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, r)
	return w
}

func problem(t *testing.T, w *httptest.ResponseRecorder) Problem {
	t.Helper()
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"), w.Body.String())
	var p Problem
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	require.Equal(t, w.Code, p.Status)
	require.Equal(t, "about:blank", p.Type)
	require.Equal(t, http.StatusText(w.Code), p.Title)
	require.Equal(t, "urn:adsync:request:"+w.Header().Get("X-Request-Id"), p.Instance)
	return p
}

func TestServer_AnswersEveryErrorAsAProblem(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.BodyLimit = 100 }).open(t)
	hasty := setup(t, func(c *Config) { c.RequestTimeout = time.Millisecond }).open(t)
	tests := []struct {
		name, method, path, body string
		status                   int
		detail                   string
	}{
		{"an unknown path", "GET", "/api/nothing", "", 404, "There is nothing at /api/nothing."},
		{"a path with a slash too many", "GET", "/api/who/", "", 404, "There is nothing at /api/who/."},
		{"a method that the path does not take", "DELETE", "/api/who", "", 405,
			"/api/who does not take DELETE: the Allow header lists its methods."},
		{"a handler's own problem", "GET", "/api/gone", "", 410, "Run 7 is gone."},
		{"a handler's unforeseen error", "GET", "/api/fail", "", 500,
			"An internal error occurred. The log has its text under the request id in instance."},
		{"a handler that panics", "GET", "/api/panic", "", 500,
			"An internal error occurred. The log has its text under the request id in instance."},
		{"a handler that takes too long", "GET", "/api/slow", "", 503,
			"The request took too long and was ended. Request less, or try again later."},
		{"a body that is too large", "POST", "/api/run", `{"task": "` + strings.Repeat("x", 200) + `"}`, 413,
			"The body may have at most 100 bytes."},
		{"a body that is no JSON", "POST", "/api/run", `{"task": }`, 400,
			"The body is not JSON: invalid character '}' looking for beginning of value at byte 10."},
		{"a body that ends early", "POST", "/api/run", `{"task": "x"`, 400, "The body cannot be read: unexpected EOF."},
		{"a body with text after its value", "POST", "/api/run", `{} {}`, 400,
			"The body cannot be used: it continues after its value: want one JSON value."},
		{"a body that is null", "POST", "/api/run", `null`, 400, "The body cannot be used: it is null: want an object."},
		{"a body that is a list", "POST", "/api/run", `[]`, 400,
			"The body cannot be used: it is of a wrong type: want an object, got array."},
		{"an empty body", "POST", "/api/run", " ", 400, "The body cannot be used: it is empty: want one JSON value."},
		{"a body that is not UTF-8", "POST", "/api/run", "{\"task\": \"\xff\"}", 400,
			"The body cannot be used: it is not UTF-8: want text in UTF-8."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := b
			if test.path == "/api/slow" {
				server = hasty
			}
			w := server.call(test.method, test.path, test.body)
			require.Equal(t, test.status, w.Code)
			require.Equal(t, test.detail, problem(t, w).Detail)
			require.NotContains(t, w.Body.String(), "hunter2")
		})
	}
	require.Equal(t, "GET", b.call("DELETE", "/api/who", "").Header().Get("Allow"))
}

func TestServer_LogsUnforeseenErrorsAndPanicsUnderTheRequestID(t *testing.T) {
	t.Parallel()
	b := setup(t).open(t)
	id := b.call("GET", "/api/fail", "").Header().Get("X-Request-Id")
	require.Contains(t, b.log.String(), `"msg":"request failed","route":"/api/fail","request_id":"`+id+`","err":"password`)
	id = b.call("GET", "/api/panic", "").Header().Get("X-Request-Id")
	require.Regexp(t, `"msg":"handler panicked","panic":"hunter2","path":"/api/panic","request_id":"`+id+
		`","stack":"goroutine`, b.log.String())
}

// order is a body with fields of several types.
type order struct {
	Task string    `json:"task"`
	Days []string  `json:"days"`
	Rate float64   `json:"rate"`
	At   time.Time `json:"at"`
	Who  struct {
		Account int64 `json:"account"`
	} `json:"who"`
}

// orderSchema is the schema of an order.
var orderSchema = func() *openapi.Schema {
	all, err := openapi.Operations([]byte(`
paths:
  /api/run:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [task]
              properties:
                task: {type: string, minLength: 1, x-want: the name of a task}
                at: {type: string, format: date-time}
`))
	if err != nil {
		panic(err)
	}
	return all[0].Body
}()

func TestBind_NamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	b := setup(t).open(t)
	require.Equal(t, http.StatusOK, b.call("POST", "/api/run",
		`{"task": "t", "days": ["2026-11-21"], "who": {"account": 7}}`).Code)
	tests := []struct {
		name, body string
		want       FieldError
	}{
		{"an unknown field", `{"tsak": "t"}`, FieldError{Field: "tsak",
			Detail: "there is no such field: want at, days, rate, task, who"}},
		{"a field in another case", `{"Task": "t"}`, FieldError{Field: "Task",
			Detail: `there is no such field: want "task", in this case`}},
		{"a field twice", `{"task": "t", "days": ["2026-11-21"], "days": []}`,
			FieldError{Field: "days", Detail: "is given twice: want it once"}},
		{"a field twice further down", `{"task": "t", "who": {"account": 7, "account": 8}}`,
			FieldError{Field: "who.account", Detail: "is given twice: want it once"}},
		{"null instead of a list", `{"task": "t", "days": null}`,
			FieldError{Field: "days", Detail: "is null: want a list, or leave the field out"}},
		{"null in a list", `{"task": "t", "days": ["2026-11-21", null]}`,
			FieldError{Field: "days[1]", Detail: "is null: want a string"}},
		{"a text for a number", `{"who": {"account": "7"}}`,
			FieldError{Field: "who.account", Detail: "want a number, got string"}},
		{"a number for a list", `{"days": 7}`, FieldError{Field: "days", Detail: "want a list, got number"}},
		{"a list for an object", `{"who": []}`, FieldError{Field: "who", Detail: "want an object, got array"}},
		{"a number for a text", `{"task": 7}`, FieldError{Field: "task", Detail: "want a string, got number"}},
		{"what the description refuses", `{"task": ""}`,
			FieldError{Field: "task", Detail: "is missing: want the name of a task"}},
		{"a field that the description requires", `{"rate": 1}`,
			FieldError{Field: "task", Detail: "is missing: want the name of a task"}},
		{"a text for a time", `{"task": "t", "at": "soon"}`,
			FieldError{Field: "at", Detail: `"soon" is refused: want a time such as 2026-11-21T10:30:00Z`}},
		{"a number for a time", `{"task": "t", "at": 7}`,
			FieldError{Field: "at", Detail: "is of a wrong type: want a string"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := b.call("POST", "/api/run", test.body)
			require.Equal(t, http.StatusUnprocessableEntity, w.Code)
			require.Equal(t, []FieldError{test.want}, problem(t, w).Errors)
		})
	}
	require.Equal(t, http.StatusUnsupportedMediaType,
		b.call("POST", "/api/run", "task=t", "Content-Type", "text/plain").Code)
	require.Equal(t, http.StatusUnsupportedMediaType, b.call("POST", "/api/run", "").Code)
	require.Equal(t, http.StatusBadRequest, b.call("POST", "/api/run", "", "Content-Type", "application/json").Code)
}

func TestServer_EachRouteRequiresItsRole(t *testing.T) {
	t.Parallel()
	b := setup(t, withTokens).open(t)
	routes := []struct {
		method, path, body string
		allowed            []string
	}{
		{"GET", "/api/who", "", []string{viewerToken, operatorToken, adminToken}},
		{"POST", "/api/run", `{"task": "t"}`, []string{operatorToken, adminToken}},
		{"PUT", "/api/settings", "", []string{adminToken}},
		{"GET", "/metrics", "", []string{viewerToken, operatorToken, adminToken}},
		{"POST", "/mounted/what/standalone/simulates", "{}", []string{adminToken}},
	}
	for _, r := range routes {
		allowed := map[string]bool{}
		for _, token := range r.allowed {
			allowed[token] = true
		}
		for _, token := range []string{viewerToken, operatorToken, adminToken} {
			w := b.call(r.method, r.path, r.body, "Authorization", "Bearer "+token)
			if allowed[token] {
				require.Less(t, w.Code, 300, "%s %s as %s", r.method, r.path, token)
				continue
			}
			require.Equal(t, http.StatusForbidden, w.Code, "%s %s as %s", r.method, r.path, token)
			require.Contains(t, problem(t, w).Detail, "This needs a token of the role ")
		}
		for _, header := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + adminToken, adminToken,
			"Bearer " + adminToken + "x"} {
			w := b.call(r.method, r.path, r.body, "Authorization", header)
			require.Equal(t, http.StatusUnauthorized, w.Code, "%s %s with %q", r.method, r.path, header)
			require.Equal(t, `Bearer realm="adsync"`, w.Header().Get("WWW-Authenticate"))
			require.NotContains(t, problem(t, w).Detail, adminToken)
		}
	}
	require.JSONEq(t, `{"Name":"vera","Role":"viewer"}`,
		b.call("GET", "/api/who", "", "Authorization", "bearer "+viewerToken).Body.String())
	require.Contains(t, b.log.String(), `"caller":"vera"`)
	for _, path := range []string{"/healthz", "/readyz", "/version"} {
		require.Equal(t, http.StatusOK, b.call("GET", path, "").Code, "%s needs no token", path)
	}
}

func TestServer_WithoutTokensOnlyThisMachineIsAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t).open(t)
	for _, host := range []string{"127.0.0.1:8080", "localhost:8080", "localhost", "[::1]:8080", "[::1]", "127.0.0.1"} {
		require.Equal(t, http.StatusOK, b.call("GET", "/api/who", "", "Host", host).Code, host)
	}
	for _, host := range []string{"evil.example:8080", "evil.example", "127.0.0.1.evil.example", "10.0.0.1", ""} {
		w := b.call("GET", "/api/who", "", "Host", host)
		require.Equal(t, http.StatusForbidden, w.Code, host)
		problem(t, w)
		for _, path := range []string{"/healthz", "/readyz", "/metrics", "/version", "/mounted/x"} {
			require.Equal(t, http.StatusForbidden, b.call("GET", path, "", "Host", host).Code, "%s of %s", path, host)
		}
	}
}

func TestServer_RefusesRequestsOfOtherSitesPages(t *testing.T) {
	t.Parallel()
	b := setup(t).open(t)
	w := b.call("PUT", "/api/settings", "", "Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, w.Code)
	require.Equal(t, "A page of another site sent this request.", problem(t, w).Detail)
	require.Equal(t, http.StatusForbidden, b.call("PUT", "/api/settings", "", "Origin", "http://evil.example").Code)
	require.Equal(t, http.StatusNoContent, b.call("PUT", "/api/settings", "", "Sec-Fetch-Site", "same-origin").Code)
	require.Equal(t, http.StatusNoContent, b.call("PUT", "/api/settings", "").Code, "a program, not a browser")
}

func TestServer_LogsRequestsWithoutTheirQueries(t *testing.T) {
	t.Parallel()
	b := setup(t).open(t)
	w := b.call("GET", "/api/who?token=hunter2", "", "X-Request-Id", "from-the-caller.1", "X-Forwarded-For", "6.6.6.6")
	require.Equal(t, "from-the-caller.1", w.Header().Get("X-Request-Id"))
	var record map[string]any
	require.NoError(t, json.Unmarshal([]byte(b.log.String()), &record))
	require.Subset(t, record, map[string]any{
		"level": "INFO", "msg": "request", "method": "GET", "path": "/api/who", "status": 200.0, "caller": "local",
		"client": "192.0.2.1", "request_id": "from-the-caller.1",
	})
	require.NotContains(t, b.log.String(), "hunter2")

	w = b.call("GET", "/healthz", "", "X-Request-Id", "line\nbreak")
	require.Regexp(t, `^[0-9a-f]{16}$`, w.Header().Get("X-Request-Id"), "an id that could forge log lines is replaced")
	require.Contains(t, b.log.String(), `"level":"DEBUG","msg":"request","method":"GET","path":"/healthz"`)
}

func TestServer_CountsRequestsByRoute(t *testing.T) {
	t.Parallel()
	b := setup(t).open(t)
	for range 3 {
		b.call("GET", "/api/who", "")
	}
	b.call("GET", "/some/random/path", "")
	metrics := b.call("GET", "/metrics", "").Body.String()
	require.Contains(t, metrics, `adsync_http_requests_total{route="/api/who",status="200"} 3`)
	require.Contains(t, metrics, `adsync_http_requests_total{route="none",status="404"} 1`)
	require.Contains(t, metrics, `adsync_build_info{`)
	require.NotContains(t, metrics, "random")
}

func TestServer_VersionReturnsTheBuild(t *testing.T) {
	t.Parallel()
	var got telemetry.Build
	require.NoError(t, json.Unmarshal(setup(t).call("GET", "/version", "").Body.Bytes(), &got))
	require.Equal(t, telemetry.ReadBuild(), got)
}

func TestServer_AbortsAnAnswerThatFailsHalfWay(t *testing.T) {
	t.Parallel()
	b := setup(t).open(t)
	require.NoError(t, b.Start(t.Context()))
	defer b.Stop()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.Addr()+"/api/half", http.NoBody)
	require.NoError(t, err)
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	_, err = io.ReadAll(response.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Contains(t, b.log.String(), `"path":"/api/half"`)
}

func TestServer_StartListensAndStopCloses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.Start(t.Context()))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.Addr()+"/healthz", http.NoBody)
	require.NoError(t, err)
	response, err := client.Do(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, response.Body.Close())

	other := setup(t, func(c *Config) { c.Listen = b.Addr() })
	require.ErrorContains(t, other.Start(t.Context()), "listen for the API: ")
	other.Stop()

	b.Stop()
	b.Stop()
	_, err = new(net.Dialer).DialContext(t.Context(), "tcp", b.Addr())
	require.Error(t, err)
	select {
	case err := <-b.Failed():
		t.Fatalf("a planned stop is no failure: %v", err)
	default:
	}
}

func TestServer_StopBeforeStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Gate().Stop()
	b.Stop()
	b.Stop()
	require.NoError(t, b.Gate().Start(t.Context()))
	require.Equal(t, http.StatusServiceUnavailable, b.call("GET", "/api/who", "").Code, "a stopped gate stays closed")
	require.Equal(t, http.StatusServiceUnavailable, b.call("GET", "/readyz", "").Code)
}

func TestGate_ClosesTheAPIWhileNotAllPartsWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, func(c *Config) { c.ShutdownDelay = 2 * time.Second })
		codes := func() []int {
			return []int{b.call("GET", "/healthz", "").Code, b.call("GET", "/readyz", "").Code,
				b.call("GET", "/api/who", "").Code}
		}
		require.Equal(t, []int{200, 503, 503}, codes(), "starting")
		require.Equal(t, "5", b.call("GET", "/api/who", "").Header().Get("Retry-After"))
		b.open(t)
		require.Equal(t, []int{200, 200, 200}, codes(), "serving")

		began := time.Now()
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			b.Gate().Stop()
		}()
		synctest.Wait()
		require.Equal(t, []int{200, 503, 200}, codes(), "load balancers get time to notice")
		<-stopped
		require.Equal(t, 2*time.Second, time.Since(began))
		require.Equal(t, []int{200, 503, 503}, codes(), "stopping")
		b.Gate().Stop()
	})
}

func TestGate_WaitsForRequestsUnderWay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		takes time.Duration
		want  time.Duration
	}{
		{"that end soon", time.Second, time.Second},
		{"but only for a time", time.Hour, drainTimeout},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup(t, func(c *Config) { c.RequestTimeout = test.takes }).open(t)
				done := make(chan struct{})
				go func() {
					defer close(done)
					b.call("GET", "/api/slow", "")
				}()
				synctest.Wait()
				began := time.Now()
				b.Gate().Stop()
				require.Equal(t, test.want, time.Since(began))
				<-done
			})
		})
	}
}

func TestReadiness_ListsEachCheckWithItsReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		broken, asked := errors.New("no route to host"), 0
		b.Check("store", func(context.Context) error { asked++; return broken })
		b.Check("broker", func(ctx context.Context) error {
			if broken == nil {
				return nil
			}
			<-ctx.Done()
			return errors.New("no answer")
		})
		require.JSONEq(t, `{"ready": false, "phase": "starting", "checks": [
			{"name": "store", "ok": false, "reason": "starting"}, {"name": "broker", "ok": false, "reason": "starting"}]}`,
			b.call("GET", "/readyz", "").Body.String())
		require.Zero(t, asked, "a part that has not started is not checked")

		b.open(t)
		began := time.Now()
		w := b.call("GET", "/readyz", "")
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.JSONEq(t, `{"ready": false, "phase": "serving", "checks": [
			{"name": "store", "ok": false, "reason": "no route to host"},
			{"name": "broker", "ok": false, "reason": "no answer"}]}`,
			w.Body.String())
		require.Equal(t, checkTimeout, time.Since(began))

		broken = nil
		require.Equal(t, http.StatusServiceUnavailable, b.call("GET", "/readyz", "").Code)
		require.Equal(t, 1, asked, "the verdict is reused for a moment")
		<-time.After(checkAge)
		w = b.call("GET", "/readyz", "")
		require.Equal(t, http.StatusOK, w.Code)
		require.JSONEq(t,
			`{"ready": true, "phase": "serving", "checks": [{"name": "store", "ok": true}, {"name": "broker", "ok": true}]}`,
			w.Body.String())
	})
}

func TestRegister_RefusesARouteWithoutARole(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "route GET /api/open has no role", func() {
		setup(t).Register(Route{Method: "GET", Path: "/api/open", Handler: func(*gin.Context) error { return nil }})
	})
}

func TestServer_EveryAnswerForbidsCachesAndGuesses(t *testing.T) {
	t.Parallel()
	b := setup(t).open(t)
	paths := []string{"/api/who", "/api/fail", "/api/panic", "/api/gone", "/api/nothing", "/healthz", "/readyz",
		"/version", "/metrics", "/mounted/x"}
	for _, path := range paths {
		for _, method := range []string{"GET", "DELETE"} {
			w := b.call(method, path, "")
			require.Equal(t, []string{"nosniff"}, w.Header().Values("X-Content-Type-Options"), "%s %s", method, path)
			require.Equal(t, []string{"no-store"}, w.Header().Values("Cache-Control"), "%s %s", method, path)
		}
	}
}
