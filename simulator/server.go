package simulator

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"adsync/base/localhost"

	"adsync/simulator/control"
	"adsync/simulator/fault"
	"adsync/simulator/ledger"
	"adsync/simulator/night"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

var (
	bodies  = sync.Pool{New: func() any { return new(make([]byte, 0, 16<<10)) }}
	scratch = sync.Pool{New: func() any { return new([]world.Row) }}
)

// bodyTimeout is how long a request's body may take to arrive.
const bodyTimeout = 5 * time.Second

// timedBody is a body that must arrive within bodyTimeout, read or not: a caller must not occupy a connection with a
// body that does not arrive.
type timedBody struct {
	io.ReadCloser

	connection *http.ResponseController
}

func timeBody(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	body := timedBody{r.Body, http.NewResponseController(w)}
	_ = body.connection.SetReadDeadline(time.Now().Add(bodyTimeout))
	r.Body = body
}

func (b timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.connection.SetReadDeadline(time.Time{}) // An answer may take longer.
	}
	return n, err
}

// ServeHTTP answers platforms' calls and the control API.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	timeBody(w, r)
	// A page of another site in a browser on this machine must not change the world; programs send neither Origin nor
	// Sec-Fetch-Site.
	if s.sites.Check(r) != nil {
		control.WriteProblem(w, http.StatusForbidden, "a page of another site sent this request")
		return
	}
	if p, path := s.route(r); p != nil {
		if path == p.Spec().AuthorisePath {
			s.serveAuthorise(w, r, p.Spec())
			return
		}
		s.serve(w, r, p, path)
		return
	}
	if strings.HasPrefix(r.URL.Path, control.Prefix) {
		if localhost.Rebound(r) {
			control.WriteProblem(w, http.StatusForbidden,
				"control calls to this machine are answered only for the names localhost and 127.0.0.1")
			return
		}
		s.control.ServeHTTP(w, r)
		return
	}
	control.WriteProblem(w, http.StatusNotFound, "no platform and no control call has this path; see /_sim/ for a list")
}

// Platform returns a handler that serves one platform as its real host does, without the prefix and for any host
// name; nil if the platform is unknown.
func (s *Simulator) Platform(name string) http.Handler {
	for _, p := range s.platforms {
		if about := p.Spec(); about.Name == name {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				timeBody(w, r)
				if r.URL.Path == about.AuthorisePath {
					s.serveAuthorise(w, r, about)
					return
				}
				s.serve(w, r, p, r.URL.Path)
			})
		}
	}
	return nil
}

// Platforms returns, by platform name, the path of a client's base URL under which the handler of Platform serves it.
func Platforms() map[string]string {
	paths := map[string]string{}
	for _, p := range platforms() {
		about := p.Spec()
		paths[about.Name] = strings.TrimPrefix(about.BasePath, about.Prefix)
	}
	return paths
}

// Nights returns the parts that platforms have in the night of a demo, in their order; without any, those of all
// platforms of the list.
func Nights(some ...platform.Platform) []night.Platform {
	if len(some) == 0 {
		some = platforms()
	}
	var nights []night.Platform
	for _, p := range some {
		nights = append(nights, p.Night())
	}
	return nights
}

// First returns the first platform of the list, for programs that need any platform.
func First() platform.Platform { return platforms()[0] }

// route finds the platform by the request's host, or otherwise by its path's prefix.
func (s *Simulator) route(r *http.Request) (platform.Platform, string) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	for _, p := range s.platforms {
		for _, h := range p.Spec().Hosts {
			if strings.EqualFold(h, host) {
				return p, r.URL.Path
			}
		}
	}
	for _, p := range s.platforms {
		if path, ok := strings.CutPrefix(r.URL.Path, p.Spec().Prefix); ok && strings.HasPrefix(path, "/") {
			return p, path
		}
	}
	return nil, ""
}

func (s *Simulator) serve(w http.ResponseWriter, r *http.Request, p platform.Platform, path string) {
	buffer := bodies.Get().(*[]byte)
	c := &platform.Call{
		Sim: s.sim, Platform: p, Spec: p.Spec(), Request: r, Path: path, Status: http.StatusOK, Header: w.Header(),
		Body:     (*buffer)[:0],
		Endpoint: p.Endpoint(path),
	}
	defer func() { *buffer = c.Body; bodies.Put(buffer) }()
	rows := scratch.Get().(*[]world.Row)
	defer scratch.Put(rows)
	r.Body = http.MaxBytesReader(w, r.Body, platform.BodyMax)
	c.Query, _ = url.ParseQuery(r.URL.RawQuery) // a broken pair is a missing parameter
	if c.Spec.JSONBody {
		c.ReadBody()
	}
	if u, ok := p.(platform.Unwrapper); ok {
		u.Unwrap(c)
	}
	c.Now = s.sim.Clock.Now().Unix()
	c.View = world.View{Now: c.Now, Corrections: s.sim.World.Corrections, Alterations: s.faults.Altered(), Scratch: rows}

	met := s.faults.Claimed(c)
	if len(met) == 0 || !s.faults.Disturb(c, met) {
		c.OverLimit = met[fault.OverLimit] != nil
		if !s.traps.BeforeAnswer(c) {
			p.Serve(c)
			s.traps.AfterAnswer(c)
		}
		if met[fault.HalfBody] != nil {
			c.Outcome, c.Cut = ledger.Injected, platform.CutHalf
		} else if met[fault.Latency] != nil && c.Outcome == ledger.Answered {
			c.Outcome = ledger.Injected
		}
	}
	fault.Spoil(c, met)
	if f := met[fault.Latency]; f != nil {
		// Limits have counted the call on arrival, even if its answer is late or its caller has gone.
		s.faults.Wait(c, f, time.Duration(f.MS)*time.Millisecond)
	}
	if c.Cut != platform.CutNothing {
		c.Code = platform.CodeCut
	}
	// Counted before the answer is sent: a caller with an answer finds the call in the ledger.
	s.ledger.Record(time.Now().Unix(), c.Account, ledger.Cell{Media: c.Spec.Name, App: c.App, Endpoint: c.Endpoint,
		Code: c.Code, Outcome: c.Outcome})
	c.Send(w)
}
