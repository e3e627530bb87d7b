package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"adsync/base/clock"
	"adsync/media"
)

// bodyMaxDefault is the largest size of an answer in bytes, decompressed.
const bodyMaxDefault = 64 << 20

// NewHTTP returns an HTTP client for very many calls to few hosts. It does not follow redirects: the next host would
// get the token in the address. It uses only HTTP/1.1: a request with its own connection can be stopped from being
// written too late.
func NewHTTP() *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			Protocols:             &protocols,
			MaxIdleConns:          1024,
			MaxIdleConnsPerHost:   512,
			IdleConnTimeout:       90 * time.Second,
			TLSHandshakeTimeout:   10 * time.Second,
			ExpectContinueTimeout: time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Transport sends requests to one platform and learns its time. It implements media.Transport.
type Transport struct {
	baseURL string
	http    *http.Client
	bodyMax int64

	mu sync.Mutex
	// The platform's clock showed seen when ours showed at.
	seen, at time.Time
}

var _ media.Transport = (*Transport)(nil)

// NewTransport returns a Transport for a platform. An empty baseURL means the platform's own; a nil client means
// NewHTTP().
func NewTransport(platform media.Platform, baseURL string, client *http.Client) *Transport {
	if baseURL == "" {
		baseURL = platform.BaseURL()
	}
	if client == nil {
		client = NewHTTP()
	}
	now := clock.Mark()
	return &Transport{baseURL: baseURL, http: client, bodyMax: bodyMaxDefault, seen: now, at: now}
}

// BaseURL implements media.Transport.
func (t *Transport) BaseURL() string { return t.baseURL }

// Now implements media.Transport: it returns the platform's time by its last answers, or ours before the first.
func (t *Transport) Now() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now()
}

func (t *Transport) now() time.Time { return t.seen.Add(clock.Since(t.at)).UTC() }

// driftMax is how far the header's time may be from Now before Now is corrected. The header has whole seconds, of
// some time during the call.
const driftMax = 3 * time.Second

// learn reads the platform's time from an answer. An answer without a Date gets the time of its arrival as its Date,
// by RFC 9110 (6.6.1): a Retry-After then counts from the platform's clock.
func (t *Transport) learn(header http.Header) {
	theirs, err := http.ParseTime(header.Get("Date"))
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		header.Set("Date", t.now().Format(http.TimeFormat))
		return
	}
	if drift := theirs.Sub(t.now()); drift > driftMax || drift < -driftMax {
		t.seen, t.at = theirs, clock.Mark()
	}
}

// errTooLarge reports an answer that is larger than the limit.
var errTooLarge = errors.New("the answer is larger than we read")

// Do implements media.Transport. Its errors are the context's, *media.Error of class Transient without the request's
// address, which may hold secrets, or the *media.Error that the HTTP client's own transport returned.
func (t *Transport) Do(req *http.Request) (status int, header http.Header, body []byte, err error) {
	resp, err := t.http.Do(req) //nolint:gosec // of the platform's configured address
	if err != nil {
		return 0, nil, nil, transportError(req.Context(), err)
	}
	defer resp.Body.Close()
	t.learn(resp.Header)
	body, err = io.ReadAll(io.LimitReader(resp.Body, t.bodyMax+1))
	if err == nil && int64(len(body)) > t.bodyMax {
		err = fmt.Errorf("%w: %d bytes", errTooLarge, t.bodyMax)
	}
	if err != nil {
		return 0, nil, nil, transportError(req.Context(), err)
	}
	return resp.StatusCode, resp.Header, body, nil
}

func transportError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*media.Error](err); ok {
		return e
	}
	return &media.Error{Class: media.Transient, Message: "no answer", Err: err}
}
