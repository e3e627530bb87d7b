package mediatest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/media"
	"adsync/media/client"
)

// anyCall makes a call for an account.
func (h *harness) anyCall(ctx context.Context, api media.API) error {
	report := h.platform.Reports()[0]
	_, err := report.Page(ctx, api, media.ReportQuery{From: h.server.Today, To: h.server.Today}, "")
	return err
}

// refreshing returns the context of a refresh of the login.
func (h *harness) refreshing(t *testing.T) context.Context {
	t.Helper()
	return media.WithLogin(t.Context(), h.server.Login)
}

func classOf(err error) media.Class {
	e, ok := errors.AsType[*media.Error](err)
	if !ok {
		return ""
	}
	return e.Class
}

func testExpired(t *testing.T, h *harness) {
	t.Helper()
	require.NoError(t, h.anyCall(t.Context(), h.first()),
		"the first call may only learn the platform's time")
	h.server.Expire(t)
	api := h.first()
	if h.server.Refresh.IsZero() { // The keeper of tokens parks the login.
		require.Equal(t, media.Auth, classOf(h.anyCall(t.Context(), api)))
		require.EqualValues(t, 1, h.tokens.renewed.Load())
		return
	}
	require.NoError(t, h.anyCall(t.Context(), api))
	require.EqualValues(t, 1, h.tokens.renewed.Load())
	require.Zero(t, h.tokens.refused.Load())
	require.Equal(t, 2, api.Calls(), "the refused call counts too")
	require.NotEqual(t, h.server.Access.Reveal(), h.tokens.login.Access.Reveal())
}

func testRefreshRefused(t *testing.T, h *harness) {
	t.Helper()
	_, err := h.platform.Refresh(h.refreshing(t), h.transport, h.server.App, "1234567890abcdef1234567890abcdef12345678")
	require.Equal(t, media.Auth, classOf(err), "%v", err)

	if h.server.Refresh.IsZero() {
		return // The platform has no refresh tokens.
	}
	wrong := media.App{ID: h.server.App.ID, Secret: secret.NewText("not-the-secret")}
	_, err = h.platform.Refresh(h.refreshing(t), h.transport, wrong, h.server.Refresh.Reveal())
	require.Error(t, err)
	require.NotEqual(t, media.Auth, classOf(err), "a wrong app must not park its logins: %v", err)
}

func testOverLimit(t *testing.T, h *harness) {
	t.Helper()
	// The first call may only learn the platform's time.
	require.NoError(t, h.anyCall(t.Context(), h.first()))
	h.server.OverLimit(t)
	err := h.anyCall(t.Context(), h.first())
	deferred, ok := errors.AsType[*media.DeferError](err)
	require.True(t, ok, "%v", err)
	require.GreaterOrEqual(t, deferred.After, time.Second)
	require.Len(t, h.waiter.pauses, 1)
	require.Equal(t, h.platform.Name(), h.waiter.pauses[0].Media)
	require.Equal(t, h.server.App.ID, h.waiter.pauses[0].App)
}

func testFailing(t *testing.T, h *harness) {
	t.Helper()
	h.server.Fail(t, 1)
	err := h.anyCall(t.Context(), h.first())
	require.Equal(t, media.Transient, classOf(err), "%v", err)
	require.NoError(t, h.anyCall(t.Context(), h.first()))
}

func testCut(t *testing.T, h *harness) {
	t.Helper()
	require.NoError(t, h.anyCall(t.Context(), h.first()),
		"the first call may only learn the platform's time")
	h.server.Cut(t, 1)
	api := h.first()
	require.NoError(t, h.anyCall(t.Context(), api))
	require.Equal(t, 2, api.Calls())

	h.server.Cut(t, 100)
	err := h.anyCall(t.Context(), h.first())
	require.Equal(t, media.Transient, classOf(err), "%v", err)
}

// testSecrets calls a server that fails in every way and echoes the request.
func testSecrets(t *testing.T, h *harness) {
	t.Helper()
	secrets := map[string]string{
		"access token": h.server.Access.Reveal(), "refresh token": h.server.Refresh.Reveal(),
		"app secret": h.server.App.Secret.Reveal(),
	}
	echo := func(answer func(w http.ResponseWriter, sent string)) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			answer(w, r.URL.String()+" "+fmt.Sprint(r.Header)+" "+string(body))
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	code := func(code int) func(w http.ResponseWriter, sent string) {
		return func(w http.ResponseWriter, sent string) {
			message, _ := json.Marshal(sent)
			fmt.Fprintf(w, `{"code":%d,"message":%s}`, code, message)
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, address := range map[string]string{
		"a closed port":   gone.URL,
		"a page":          echo(func(w http.ResponseWriter, sent string) { fmt.Fprintf(w, "<html>%s</html>", sent) }),
		"a broken body":   echo(func(w http.ResponseWriter, sent string) { fmt.Fprintf(w, `{"code":0,"data":%q`, sent) }),
		"an unknown code": echo(code(987654)),
		"a redirect": echo(func(w http.ResponseWriter, sent string) {
			w.Header().Set("Location", "http://127.0.0.1:1/?"+sent)
			w.WriteHeader(http.StatusFound)
		}),
		"a cut connection": echo(func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Length", strconv.Itoa(1000))
			_, _ = w.Write([]byte("{"))
		}),
		"another payload": echo(func(w http.ResponseWriter, sent string) { fmt.Fprintf(w, `{"code":0,"data":[%q]}`, sent) }),
	} {
		h.server.BaseURL = address
		h.connect(t, client.NewHTTP())
		errs := map[string]error{"call": h.anyCall(t.Context(), h.first())}
		_, errs["refresh"] = h.platform.Refresh(h.refreshing(t), h.transport, h.server.App, h.server.Refresh.Reveal())
		for what, err := range errs {
			require.Error(t, err, "%s: %s", name, what)
			if e, ok := errors.AsType[*media.Error](err); ok && what == "refresh" {
				// The keeper of tokens does this with every error of a refresh.
				e.Redact(h.server.App.Secret, h.server.Refresh)
			}
			text := fmt.Sprintf("%v %+v %#v", err, err, err)
			for kind, value := range secrets {
				if value != "" { // Some platforms have no refresh tokens.
					require.NotContains(t, text, value, "%s: the error of a %s shows the %s", name, what, kind)
				}
			}
		}
	}
}

func testFormats(t *testing.T, h *harness) {
	t.Helper()
	for _, body := range []string{
		"", "null", "[]", "{}", `""`, "0", "<html><body>Bad Gateway</body></html>", `{"code":0,"data":{"list":[`,
		`{"code":"x"}`,
		`{"data":{}}`, "\xff\xfe", strings.Repeat("[", 20_000),
	} {
		for _, status := range []int{200, 400, 404, 502, 503} {
			_, err := h.platform.Decode(status, http.Header{}, []byte(body))
			require.Equal(t, media.Transient, classOf(err), "status %d, body %.40q: %v", status, body, err)
		}
	}
	_, err := h.platform.Decode(http.StatusServiceUnavailable, http.Header{"Retry-After": {"7"}}, nil)
	e, ok := errors.AsType[*media.Error](err)
	require.True(t, ok)
	require.Equal(t, 7*time.Second, e.RetryAfter)

	_, err = h.platform.Decode(http.StatusTooManyRequests, http.Header{}, []byte("slow down"))
	require.Equal(t, media.Quota, classOf(err))

	// A valid envelope around wrong data.
	today := media.ReportQuery{From: h.server.Today, To: h.server.Today}
	for _, data := range []string{"null", "[]", "{}", `{"list":{}}`} {
		h.server.BaseURL = answering(t, enveloped(data))
		h.connect(t, client.NewHTTP())
		for _, list := range h.platform.Lists() {
			page, err := list.Page(t.Context(), h.first(), media.ListQuery{}, "")
			requireRefused(t, data, page, err)
		}
		for _, report := range h.platform.Reports() {
			page, err := report.Page(t.Context(), h.first(), today, "")
			requireRefused(t, data, page, err)
		}
		if balance := h.platform.Funds().Balance; balance.Fetch != nil {
			_, err := balance.Fetch(t.Context(), h.first())
			require.Equal(t, media.Transient, classOf(err), "%s: %v", data, err)
		}
		if daily := h.platform.Funds().Daily; daily.Page != nil {
			page, err := daily.Page(t.Context(), h.first(), today, "")
			requireRefused(t, data, page, err)
		}
	}
}

// requireRefused checks that data of another format is transient. An array is a page of a list that has only rows.
func requireRefused(t *testing.T, data string, page media.Page, err error) {
	t.Helper()
	if data == "[]" && err == nil {
		require.Equal(t, media.Page{Proof: media.ByRepeat}, page)
		return
	}
	require.Equal(t, media.Transient, classOf(err), "%s: %v", data, err)
}

// testEmptyRows returns rows without fields, one in each answer: each of them is counted and lost.
func testEmptyRows(t *testing.T, h *harness) {
	t.Helper()
	const row = `{"list":[{}],"rows":[{}],"details":[{}],"total_count":1,"page_info":{"total_number":1},` +
		`"cursor_page_info":{"total_number":1},"isEnd":true,"has_more":false,"totalRowCount":1}`
	var answers []string
	for _, data := range []string{row, "[{}]"} { // Some lists have only rows.
		answers = append(answers, answering(t, enveloped(data)))
	}
	check := func(what string, get func(api media.API) (media.Page, error)) {
		var page media.Page
		var api media.CountingAPI
		var err error
		for _, h.server.BaseURL = range answers {
			h.connect(t, client.NewHTTP())
			_, _ = get(h.first()) // Some packages first ask for what they then keep.
			api = h.first()
			if page, err = get(api); err == nil {
				break
			}
		}
		require.NoError(t, err, what)
		require.Equal(t, api.Calls(), counted(page), what)
		for _, row := range page.Rows {
			require.True(t, row.Lost, what)
			require.NotEmpty(t, row.Faults, what)
		}
		require.False(t, len(page.Rows) == 0 && len(page.Faults) == 0, what)
	}
	for _, list := range h.platform.Lists() {
		check(list.Name, func(api media.API) (media.Page, error) {
			return list.Page(t.Context(), api, media.ListQuery{}, "")
		})
	}
	for _, report := range h.platform.Reports() {
		check(report.Name, func(api media.API) (media.Page, error) {
			return report.Page(t.Context(), api, media.ReportQuery{From: h.server.Today, To: h.server.Today}, "")
		})
	}
}

// enveloped returns an answer with data that any platform takes for a success: it has the fields of all envelopes.
func enveloped(data string) string {
	return `{"code":0,"message":"OK","status":"success","data":` + data + `,"header":{"status":0},"body":{"data":` + data +
		`}}`
}

func answering(t *testing.T, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const addedField = "a_field_of_tomorrow"

// addFields adds fields to every object of an answer.
func addFields(body []byte) []byte {
	more := `{"` + addedField + `":{"deep":[1,2.5,null]},`
	return []byte(strings.ReplaceAll(strings.ReplaceAll(string(body), "{}", `{"`+addedField+`":1}`), "{\"", more+"\""))
}

// altering returns an HTTP client that alters the body of every answer.
func altering(alter func(body []byte) []byte) *http.Client {
	inner := client.NewHTTP()
	inner.Timeout = time.Minute
	transport := inner.Transport
	inner.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		body = alter(body)
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		resp.Header.Del("Content-Length")
		return resp, nil
	})
	return inner
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
