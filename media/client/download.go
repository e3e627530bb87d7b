package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"adsync/media"
)

// errSilent reports that a server sent nothing for the time that a call may take.
var errSilent = errors.New("the server sent nothing for too long")

// Open implements media.API.
func (a *api) Open(ctx context.Context, endpoint string, query url.Values) (media.Download, error) {
	var file io.ReadCloser
	payload, err := a.call(ctx, request{method: http.MethodGet, endpoint: endpoint, query: query, file: &file})
	return media.Download{Body: file, Payload: payload}, err
}

// OpenAddress implements media.API.
func (a *api) OpenAddress(ctx context.Context, address string) (io.ReadCloser, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "https" && !a.client.Transport.allowsHTTP(parsed.Scheme) {
		return nil, &media.Error{Class: media.Transient, Message: "the address of the file is not an https address"}
	}
	ctx, guard := guarded(ctx, a.client.Timeout)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		guard.stop()
		return nil, &media.Error{Class: media.Transient, Message: "the address of the file is not an address"}
	}
	status, _, file, _, err := a.client.Transport.open(req, guard)
	if err != nil {
		return nil, err
	}
	if file == nil {
		return nil, &media.Error{Class: media.Transient, Code: fmt.Sprintf("http %d", status),
			Message: "the file storage does not return the file", Err: goneBy(status)}
	}
	return file, nil
}

// goneBy returns media.ErrJobGone for the answers of a file storage to an address that has expired, otherwise nil.
func goneBy(status int) error {
	switch status {
	case http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		return media.ErrJobGone
	default:
		return nil
	}
}

// allowsHTTP reports whether files may come from addresses of a scheme without encryption: where the platform itself is
// called without it, as in tests.
func (t *Transport) allowsHTTP(scheme string) bool {
	return scheme == "http" && strings.HasPrefix(t.baseURL, "http://")
}

// open sends a request for a file. It returns the file as a stream if the answer is one: a status of 200 and a type
// other than JSON. Otherwise it returns the body, at most bodyMax bytes.
func (t *Transport) open(req *http.Request, g *guard) (status int, header http.Header, file io.ReadCloser, body []byte,
	err error) {
	resp, err := t.http.Do(req)
	if err != nil {
		defer g.stop()
		return 0, nil, nil, nil, g.explain(req.Context(), err)
	}
	t.learn(resp.Header)
	g.more()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind != "application/json" {
		return resp.StatusCode, resp.Header, &stream{body: resp.Body, guard: g, ctx: req.Context()}, nil, nil
	}
	defer g.stop()
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, t.bodyMax))
	if err != nil {
		return 0, nil, nil, nil, g.explain(req.Context(), err)
	}
	return resp.StatusCode, resp.Header, nil, body, nil
}

// guard cancels a request whose server sends nothing for a time.
type guard struct {
	timer *time.Timer
	idle  time.Duration
	end   context.CancelCauseFunc
	then  func() // called at the end; may be nil
}

func guarded(ctx context.Context, idle time.Duration) (context.Context, *guard) {
	ctx, end := context.WithCancelCause(ctx)
	return ctx, &guard{timer: time.AfterFunc(idle, func() { end(errSilent) }), idle: idle, end: end}
}

// more says that the server has sent something.
func (g *guard) more() { g.timer.Reset(g.idle) }

func (g *guard) stop() {
	g.timer.Stop()
	g.end(nil)
	if g.then != nil {
		g.then()
	}
}

// explain returns the error of a request or a read.
func (g *guard) explain(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return &media.Error{Class: media.Transient, Message: fmt.Sprintf("no answer within %s", g.idle)}
	}
	return transportError(ctx, err)
}

// stream is a file that is being read.
type stream struct {
	body  io.ReadCloser
	guard *guard
	ctx   context.Context //nolint:containedctx // of the request, for the reason of its end
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if n > 0 {
		s.guard.more()
	}
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = s.guard.explain(s.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.guard.stop()
	return s.body.Close()
}
