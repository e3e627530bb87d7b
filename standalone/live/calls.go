package live

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"adsync/media"
	"adsync/media/client"
)

// EndpointCalls counts the calls of one endpoint of a platform.
type EndpointCalls struct {
	Endpoint string `json:"endpoint"`
	Calls    int    `json:"calls"`
	// QuotaLeft is the platform's last information about the remaining calls, as text; "" if it sent none.
	QuotaLeft string `json:"quota_left"`
}

// callBook is the transport to a real platform. It passes only calls that read, and counts them: GETs, and the POSTs
// that a media.PostReader knows to change nothing.
type callBook struct {
	platform media.Platform
	base     *url.URL
	inner    http.RoundTripper

	mu    sync.Mutex
	calls map[string]EndpointCalls
}

var _ http.RoundTripper = (*callBook)(nil)

func newCallBook(platform media.Platform, base *url.URL, inner http.RoundTripper) *callBook {
	return &callBook{platform: platform, base: base, inner: inner, calls: map[string]EndpointCalls{}}
}

// RoundTrip implements http.RoundTripper. It refuses, before sending, a request that could change something at the
// platform or send the token elsewhere. The error is a *media.Error of class Bug, which is never retried.
func (b *callBook) RoundTrip(req *http.Request) (*http.Response, error) {
	endpoint, below := strings.CutPrefix(req.URL.Path, strings.TrimSuffix(b.base.Path, "/")+"/")
	if !b.reads(req.Method, endpoint) || req.URL.Scheme != b.base.Scheme || req.URL.Host != b.base.Host || !below {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, &media.Error{
			Class: media.Bug,
			Message: fmt.Sprintf("%s %s://%s%s was not sent: a live account is only read, below %s", req.Method, req.URL.Scheme,
				req.URL.Host, req.URL.Path, b.base),
		}
	}
	endpoint = strings.TrimSuffix(endpoint, "/")
	// The trace reports a written request before its last byte is written.
	var written atomic.Bool
	trace := &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
		if info.Err == nil {
			written.Store(true)
		}
	}}
	resp, err := b.inner.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err == nil || written.Load() && !client.WasOvertaken(req.Context(), err) {
		b.note(endpoint, 1, "")
	}
	if teller, ok := b.platform.(media.QuotaReporter); ok && err == nil {
		b.note(endpoint, 0, teller.QuotaLeft(resp.Header))
	}
	return resp, err
}

// reads reports whether a request changes nothing at the platform.
func (b *callBook) reads(method, endpoint string) bool {
	reader, ok := b.platform.(media.PostReader)
	return method == http.MethodGet || ok && method == http.MethodPost && reader.Reads(endpoint)
}

func (b *callBook) note(endpoint string, calls int, quotaLeft string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	have := b.calls[endpoint]
	b.calls[endpoint] = EndpointCalls{Endpoint: endpoint, Calls: have.Calls + calls,
		QuotaLeft: cmp.Or(quotaLeft, have.QuotaLeft)}
}

// total returns how many calls were sent.
func (b *callBook) total() int {
	n := 0
	for _, c := range b.list() {
		n += c.Calls
	}
	return n
}

// list returns the calls by endpoint.
func (b *callBook) list() []EndpointCalls {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]EndpointCalls, 0, len(b.calls))
	for _, c := range b.calls {
		all = append(all, c)
	}
	slices.SortFunc(all, func(x, y EndpointCalls) int { return strings.Compare(x.Endpoint, y.Endpoint) })
	return all
}
