package live

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/media"
	"adsync/media/client"
	"adsync/media/mediatest/invented"
	"adsync/media/token"
)

// quotaTeller is a platform whose answers tell how many calls are left.
type quotaTeller struct{ invented.Platform }

func (quotaTeller) QuotaLeft(header http.Header) string { return header.Get("X-Left") }

func TestCallBook_LetsNothingThroughButGETsOfThePlatform(t *testing.T) {
	t.Parallel()
	sent := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent++
		w.Header().Set("X-Left", "90% of the day")
	}))
	defer server.Close()
	base, err := url.Parse(server.URL + "/v3.0")
	require.NoError(t, err)
	book := newCallBook(quotaTeller{}, base, http.DefaultTransport)
	do := func(ctx context.Context, method, address string) error {
		req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader("{}"))
		require.NoError(t, err)
		resp, err := (&http.Client{Transport: book}).Do(req)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	for _, c := range [][2]string{
		{http.MethodPost, "/v3.0/adgroups/update"}, {http.MethodPut, "/v3.0/adgroups/get"},
		{http.MethodDelete, "/v3.0/adgroups/get"},
		{http.MethodGet, "/oauth/token"}, {http.MethodGet, "/v3.0x/adgroups/get"},
	} {
		err := do(t.Context(), c[0], server.URL+c[1])
		e, ok := errors.AsType[*media.Error](err)
		require.True(t, ok, "%s %s: %v", c[0], c[1], err)
		require.Equal(t, media.Bug, e.Class)
	}
	require.Error(t, do(t.Context(), http.MethodGet, "http://127.0.0.1:1/v3.0/adgroups/get"), "another host")
	require.Zero(t, sent)
	require.Empty(t, book.list())

	require.NoError(t, do(t.Context(), http.MethodGet, server.URL+"/v3.0/adgroups/get"))
	require.NoError(t, do(t.Context(), http.MethodGet, server.URL+"/v3.0/adgroups/get/"))
	late, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, do(late, http.MethodGet, server.URL+"/v3.0/adgroups/get"), context.Canceled)
	// As when a grant ends after the request was given to its connection, which has not sent it yet.
	overtaken := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) { _ = got.Conn.SetWriteDeadline(time.Unix(1, 0)) },
	})
	require.ErrorIs(t, do(overtaken, http.MethodGet, server.URL+"/v3.0/adgroups/get"), os.ErrDeadlineExceeded)
	require.Equal(t, 2, sent)
	require.Equal(t, []EndpointCalls{{Endpoint: "adgroups/get", Calls: 2, QuotaLeft: "90% of the day"}}, book.list(),
		"what was never written is no call")
}

// grants ends the grant of the first call before it can be written.
type grants struct{ given int }

func (g *grants) Wait(context.Context, grant.Call) (ratelimit.Grant, error) {
	if g.given++; g.given == 1 {
		return ratelimit.Grant{Until: time.Now()}, nil
	}
	return ratelimit.Grant{}, nil
}

func (*grants) Settle(grant.Call, ratelimit.Grant, int) {}

func (*grants) Pause(context.Context, grant.Call, grant.Scope, time.Duration) error {
	return nil
}

func (*grants) Used(context.Context, grant.Call, grant.Scope, []ratelimit.Usage) error {
	return nil
}

// oneToken has the token of one login.
type oneToken struct{ client.Tokens }

func (oneToken) Login(context.Context, int64) (token.Login, error) { return token.Login{ID: 1}, nil }

// The HTTP client reports that a request is written before it sends the last of it: one whose grant ends in that moment
// was never sent, and is sent again. Under load this was counted as a call that the platform had not seen.
func TestCallBook_ARequestThatItsGrantsEndOvertookIsNoCall(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("http://platform.test/v3.0")
	require.NoError(t, err)
	tries := 0
	book := newCallBook(invented.New(), base, roundTripper(func(req *http.Request) (*http.Response, error) {
		tries++
		httptrace.ContextClientTrace(req.Context()).WroteRequest(httptrace.WroteRequestInfo{})
		if tries == 1 {
			<-req.Context().Done()
			return nil, context.Cause(req.Context())
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{},
			Body: io.NopCloser(strings.NewReader(`{"code":0,"data":{}}`)), Request: req}, nil
	}))
	c := client.New(client.Options{
		Platform: invented.New(), Transport: client.NewTransport(invented.New(), base.String(),
			&http.Client{Transport: book}),
		Waiter: &grants{}, Tokens: oneToken{}, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	api := c.For(media.Account{})
	_, err = api.Get(t.Context(), "adgroups/get", nil)
	require.NoError(t, err)
	require.Equal(t, 2, tries)
	require.Equal(t, 1, api.Calls())
	require.Equal(t, 1, book.total())
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
