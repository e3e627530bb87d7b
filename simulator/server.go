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
)

var (
	bodies  = sync.Pool{New: func() any { return new(make([]byte, 0, 16<<10)) }}
	scratch = sync.Pool{New: func() any { return new([]row) }}
)

// bodyTimeout is how long a request's body may take to arrive.
const bodyTimeout = 5 * time.Second

// timedBody is a body that must arrive within bodyTimeout, read or not: a caller must not keep a connection with a body that does not come.
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
	// A page of another site that is open in a browser here must not steer the world; programs send neither Origin nor Sec-Fetch-Site.
	if s.sites.Check(r) != nil {
		writeProblem(w, http.StatusForbidden, "a page of another site sent this request")
		return
	}
	if p, path := s.route(r); p != nil {
		if path == p.spec().authorisePath {
			s.serveAuthorise(w, r, p.spec())
			return
		}
		s.serve(w, r, p, path)
		return
	}
	if strings.HasPrefix(r.URL.Path, controlPrefix) {
		if localhost.Rebound(r) {
			writeProblem(w, http.StatusForbidden, "control calls to this machine are answered under the names localhost and 127.0.0.1 alone")
			return
		}
		s.control.ServeHTTP(w, r)
		return
	}
	writeProblem(w, http.StatusNotFound, "no platform and no control call has this path; see /_sim/ for a list")
}

// Platform returns a handler of one platform alone, which serves it as its real host does, without the prefix, whatever
// host a request names; nil if there is no such platform.
func (s *Simulator) Platform(name string) http.Handler {
	for _, p := range s.platforms {
		if about := p.spec(); about.name == name {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				timeBody(w, r)
				if r.URL.Path == about.authorisePath {
					s.serveAuthorise(w, r, about)
					return
				}
				s.serve(w, r, p, r.URL.Path)
			})
		}
	}
	return nil
}

// Platforms returns the platforms' names, each with the path that a client of it is configured with, after the host,
// where Platform serves it.
func Platforms() map[string]string {
	paths := map[string]string{}
	for _, p := range platforms() {
		about := p.spec()
		paths[about.name] = strings.TrimPrefix(about.basePath, about.prefix)
	}
	return paths
}

// route finds the platform by the host that the request names, else by its path's prefix.
func (s *Simulator) route(r *http.Request) (platform, string) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	for _, p := range s.platforms {
		for _, h := range p.spec().hosts {
			if strings.EqualFold(h, host) {
				return p, r.URL.Path
			}
		}
	}
	for _, p := range s.platforms {
		if path, ok := strings.CutPrefix(r.URL.Path, p.spec().prefix); ok && strings.HasPrefix(path, "/") {
			return p, path
		}
	}
	return nil, ""
}

func (s *Simulator) serve(w http.ResponseWriter, r *http.Request, p platform, path string) {
	buffer := bodies.Get().(*[]byte)
	c := &call{
		sim: s.sim, platform: p, p: p.spec(), r: r, path: path, status: http.StatusOK, header: w.Header(), body: (*buffer)[:0],
		endpoint: p.endpoint(path),
	}
	defer func() { *buffer = c.body; bodies.Put(buffer) }()
	rows := scratch.Get().(*[]row)
	defer scratch.Put(rows)
	r.Body = http.MaxBytesReader(w, r.Body, bodyMax)
	c.query, _ = url.ParseQuery(r.URL.RawQuery) // a broken pair is a missing parameter
	if c.p.jsonBody {
		c.readBody()
	}
	c.now = s.sim.clock.Now().Unix()
	c.view = view{now: c.now, corrections: s.sim.world.corrections, alterations: s.faults.altered(), scratch: rows}

	met := s.faults.claimed(c)
	if len(met) == 0 || !s.faults.disturb(c, met) {
		c.overLimit = met[FaultOverLimit] != nil
		if !s.traps.beforeAnswer(c) {
			p.serve(c)
			s.traps.afterAnswer(c)
		}
		if met[FaultHalfBody] != nil {
			c.outcome, c.cut = outcomeInjected, cutHalf
		} else if met[FaultLatency] != nil && c.outcome == outcomeAnswered {
			c.outcome = outcomeInjected
		}
	}
	spoil(c, met)
	if f := met[FaultLatency]; f != nil {
		// Limits have counted the call when it came, however late its answer is and whoever still waits for it.
		s.faults.wait(c, f, time.Duration(f.MS)*time.Millisecond)
	}
	if c.cut != cutNothing {
		c.code = codeCut
	}
	// Counted before it is sent: who has an answer finds the call in the ledger.
	s.ledger.record(time.Now().Unix(), c.account, cell{c.p.name, c.app, c.endpoint, c.code, c.outcome})
	c.send(w)
}
