package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"adsync/base/clock"
	"adsync/base/failpoint"
	"adsync/base/ratelimit/grant"
	"adsync/base/secret"
	"adsync/base/trace"
	"adsync/media"
	"adsync/media/token"
)

// redialsMax is how often a reading request without an answer is sent again, each time after about redialPause. More
// would hold the subtask's slot, and the subtask's own retries come later and serve better.
const (
	redialsMax  = 2
	redialPause = 100 * time.Millisecond
)

// api calls for one account or login. It implements media.CountingAPI.
type api struct {
	client  *Client
	account media.Account
	tokenID int64
	calls   atomic.Int64
}

var _ media.CountingAPI = (*api)(nil)

// Account implements media.API.
func (a *api) Account() media.Account { return a.account }

// Calls implements media.CountingAPI. It counts every request that was sent, as the platform does.
func (a *api) Calls() int { return int(a.calls.Load()) }

// Get implements media.API.
func (a *api) Get(ctx context.Context, endpoint string, query url.Values) (json.RawMessage, error) {
	return a.call(ctx, request{method: http.MethodGet, endpoint: endpoint, query: query})
}

// Post implements media.API.
func (a *api) Post(ctx context.Context, endpoint string, body any) (json.RawMessage, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, &media.Error{Class: media.Bug, Message: "the body of a call of " + endpoint + " cannot be encoded",
			Err: err}
	}
	return a.call(ctx, request{method: http.MethodPost, endpoint: endpoint, body: data})
}

type request struct {
	method   string
	endpoint string
	query    url.Values
	body     []byte
	app      secret.Text // the app's secret, if the query or the body holds it
	// file is set to the file that the answer is; nil for a request whose answer is in the platform's own format.
	file *io.ReadCloser
}

// call sends a request and repeats it where that may help: once with a newer token, once when the answer has removed
// the cause, and up to redialsMax times when a reading request got no answer.
func (a *api) call(ctx context.Context, r request) (json.RawMessage, error) {
	login, err := a.client.Tokens.Login(ctx, a.tokenID)
	if err != nil {
		return nil, err
	}
	renewed, mended, redials := false, false, 0
	for {
		data, err := a.once(ctx, r, login)
		e, ok := errors.AsType[*media.Error](err)
		if !ok {
			return data, err
		}
		e.RetryAfter = a.client.capped(e.RetryAfter)
		switch {
		case e.Class == media.Quota:
			return nil, a.client.pause(ctx, a.limited(r, login), e)
		case e.Class == media.Auth && e.Expired && !renewed:
			renewed = true
			if login, err = a.client.Tokens.Renew(ctx, a.tokenID, login.Generation, e); err != nil {
				return nil, err
			}
			continue
		case e.Class == media.Auth:
			a.client.Tokens.Refused(a.tokenID, login.Generation, e)
		case e.Again && !mended:
			mended = true
			continue
		case unanswered(e) && a.reads(r) && redials < redialsMax:
			redials++
			about := redialPause * time.Duration(redials)
			if err := clock.Sleep(ctx, about/2+rand.N(about)); err != nil {
				return nil, err
			}
			continue
		}
		return nil, fmt.Errorf("call %s: %w", r.endpoint, err)
	}
}

// reads reports whether a request changes nothing at the platform, so that it may be repeated.
func (a *api) reads(r request) bool {
	if r.method == http.MethodGet {
		return true
	}
	reader, ok := a.client.Platform.(media.PostReader)
	return ok && reader.Reads(r.endpoint)
}

// unanswered reports whether a request failed with its connection and may succeed on a new one. A call that timed out
// wraps no error and is not repeated, and an answer that is too large stays too large.
func unanswered(e *media.Error) bool {
	return e.Class == media.Transient && e.Err != nil && e.Code == "" && !errors.Is(e.Err, errTooLarge)
}

// limited returns the call in the form that the limits take.
func (a *api) limited(r request, login token.Login) grant.Call {
	call := grant.Call{Media: a.client.Platform.Name(), Endpoint: r.endpoint, App: login.App.ID,
		Account: a.account.ExternalID}
	if limiter, ok := a.client.Platform.(media.RowLimiter); ok {
		call.Rows = limiter.Rows(r.endpoint, r.query)
	}
	return call
}

// grantTries is how many grants may end before a request is written. After that the request is sent without a bound if
// no other was written in time meanwhile, so that connections that are always slow to open do not prevent it forever.
// If only some requests are late, a late one would arrive together with others.
const grantTries = 3

// errGrantEnded reports that a request was not written by the end of its grant and was not sent.
var errGrantEnded = errors.New("the request was not written by the end of its grant")

// WasOvertaken reports whether a request failed with err because its grant ended before it was written. Nothing of it
// reached the platform, even if the HTTP client reported it as written: the client does so before it sends the last
// bytes.
func WasOvertaken(ctx context.Context, err error) bool {
	return errors.Is(context.Cause(ctx), errGrantEnded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// once waits for the limits and sends the request once.
func (a *api) once(ctx context.Context, r request, login token.Login) (json.RawMessage, error) {
	call := a.limited(r, login)
	r, err := a.withApp(ctx, r, login)
	if err != nil {
		return nil, err
	}
	var inTime int64 // how many requests had been, when this one was late first
	for try := 1; ; try++ {
		waiting, span := trace.Start(ctx, "wait for", "limits")
		grant, err := a.client.wait(waiting, call)
		span.End(err)
		if err != nil {
			return nil, err
		}
		if try >= grantTries && a.client.inTime.Load() == inTime {
			grant.Until = time.Time{}
		}
		began := clock.Mark()
		calling, span := trace.Call(ctx, r.method, r.endpoint)
		span.Text("adsync.media", call.Media)
		data, err := a.send(calling, r, login, grant.Until)
		span.End(err)
		if errors.Is(err, errGrantEnded) {
			a.client.metrics.late.WithLabelValues(call.Media).Inc()
			if try == 1 {
				inTime = a.client.inTime.Load()
			}
			continue
		}
		if !grant.Until.IsZero() {
			a.client.inTime.Add(1)
		}
		failpoint.Hit("client.answered")
		took := clock.Since(began)
		a.client.metrics.observe(call.Media, r.endpoint, err, took)
		a.client.slowness.observe(r.endpoint, a.account.ID, took)
		if limiter, ok := a.client.Platform.(media.RowLimiter); ok && err == nil && call.Rows != "" {
			if rows, ok := limiter.Matched(data); ok {
				a.client.Waiter.Settle(call, grant, rows)
			}
		}
		return data, err
	}
}

// withApp returns the request with the app's secret added, if the platform requires it.
func (a *api) withApp(ctx context.Context, r request, login token.Login) (request, error) {
	signer, ok := a.client.Platform.(media.AppSigner)
	if !ok || !signer.AppSigned(r.endpoint) {
		return r, nil
	}
	app, err := a.client.Tokens.App(ctx, login.App.ID)
	if err != nil {
		return r, err
	}
	r.app = app.Secret
	query := url.Values{}
	maps.Copy(query, r.query) // The caller's query never holds the secret.
	r.query = query
	r.body, err = signer.SignApp(r.query, r.body, app, login.Access.Reveal())
	return r, err
}

// writtenBy makes a request fail if it is not written by until; a zero until sets no bound. After until the request
// waits for no connection, and its connection refuses writes. The time after the write is not bounded.
func writtenBy(ctx context.Context, until time.Time) (bounded context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var timer *time.Timer
	if !until.IsZero() {
		timer = time.AfterFunc(clock.Until(until), func() { cancel(errGrantEnded) })
	}
	var conn net.Conn
	trace := &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) {
			conn = got.Conn
			_ = conn.SetWriteDeadline(until) // On a broken connection the write fails.
			if timer != nil {
				timer.Stop()
			}
		},
		// Not in WroteRequest, which is called before the last bytes are written.
		GotFirstResponseByte: func() { _ = conn.SetWriteDeadline(time.Time{}) },
	}
	if timer != nil {
		// A request whose connection turns out to be closed is written again on another one.
		trace.GetConn = func(string) { timer.Reset(max(0, clock.Until(until))) }
	}
	return httptrace.WithClientTrace(ctx, trace), func() {
		if timer != nil {
			timer.Stop()
		}
		cancel(nil)
	}
}

// send sends the request once, and bounds the time until the answer is complete; for a file, the time without a byte.
func (a *api) send(ctx context.Context, r request, login token.Login, until time.Time) (json.RawMessage, error) {
	if r.file == nil {
		sendCtx, cancel := context.WithTimeout(ctx, a.client.Timeout)
		defer cancel()
		sendCtx, stop := writtenBy(sendCtx, until)
		defer stop()
		return a.exchange(ctx, sendCtx, r, login, a.client.Transport.Do)
	}
	sendCtx, guard := guarded(ctx, a.client.Timeout)
	sendCtx, guard.then = writtenBy(sendCtx, until)
	payload, err := a.exchange(ctx, sendCtx, r, login,
		func(req *http.Request) (status int, header http.Header, body []byte, err error) {
			status, header, *r.file, body, err = a.client.Transport.open(req, guard)
			return status, header, body, err
		})
	if *r.file == nil {
		guard.stop()
	}
	return payload, err
}

// exchange sends the request with do and returns the answer's payload; nil for a file. ctx is the caller's context.
func (a *api) exchange(ctx, sendCtx context.Context, r request, login token.Login,
	do func(*http.Request) (int, http.Header, []byte, error)) (json.RawMessage, error) {
	address := strings.TrimSuffix(a.client.Transport.BaseURL(), "/") + "/" + r.endpoint
	var body io.Reader = http.NoBody
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(media.WithLogin(sendCtx, login.Who), r.method, address, body)
	if err != nil {
		return nil, &media.Error{Class: media.Bug, Message: fmt.Sprintf("%q is not a URL", address)}
	}
	req.URL.RawQuery = r.query.Encode()
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	a.client.Platform.Sign(req, login.Access.Reveal(), a.client.Transport.Now())
	a.calls.Add(1)
	status, header, answer, err := do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && WasOvertaken(sendCtx, err):
		a.calls.Add(-1)
		return nil, errGrantEnded
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &media.Error{Class: media.Transient, Message: fmt.Sprintf("no answer within %s", a.client.Timeout)}
	case err != nil:
		return nil, err
	}
	if reporter, ok := a.client.Platform.(media.UsageReporter); ok {
		if err := a.client.Waiter.Used(ctx, a.limited(r, login), grant.ScopeApp, reporter.Usage(header)); err != nil {
			a.client.Logger.Warn("cannot share the usage of a limit with other processes", "media", a.client.Platform.Name(),
				"endpoint", r.endpoint, "err", err)
		}
	}
	if r.file != nil && *r.file != nil {
		return nil, nil
	}
	data, err := a.client.Platform.Decode(status, header, answer)
	if e, ok := errors.AsType[*media.Error](err); ok {
		e.Redact(login.Access, r.app)
	}
	return data, err
}
