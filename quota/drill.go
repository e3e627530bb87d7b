package quota

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"adsync/base/clock"
	"adsync/simulator"

	"adsync/simulator/control"
	"adsync/simulator/ledger"
	"adsync/simulator/limit"
)

// Drill plays scenarios for real: each process of a scenario is a process of the operating system. They share a Redis
// that the drill has started, and call a simulated platform that counts sliding windows strictly.
type Drill struct {
	// Self is the program, and SelfArgs are the arguments that make it a caller (see Call).
	Self     string
	SelfArgs []string
	// RedisServer is the program of Redis.
	RedisServer string
	// Spread is ratelimit.Config's ArrivalSpread.
	Spread time.Duration
	// Limiter is what callers wait for: LimiterOurs or a peer.
	Limiter string
	// Log receives the logs of the processes.
	Log io.Writer
}

// These headers describe a call, in addition to what the platform needs.
const (
	callerHeader  = "X-Drill"
	accountHeader = "X-Drill-Account"
)

// Play plays a scenario. It returns when everything that it started has ended.
func (d Drill) Play(ctx context.Context, s Scenario) (f Figures, err error) {
	dir, err := os.MkdirTemp("", "adsync-drill-")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &drilled{drill: d, ctx: ctx, fail: cancel, scenario: s, dir: dir, began: clock.Mark()}
	defer w.end()
	if err := errors.Join(w.startRedis(), w.startPlatform()); err != nil {
		return f, fmt.Errorf("%s: %w", s.Name, err)
	}
	f = s.Play(w, d.Spread)
	w.endCallers()
	w.check(w.server.Shutdown(ctx), "close the platform") // It answers the calls that have come.
	f.Refused = int(w.refused())
	if err := context.Cause(ctx); err != nil {
		return f, fmt.Errorf("%s: %w", s.Name, err)
	}
	return f, nil
}

// drilled is the World of a drill. A failure ends its context.
type drilled struct {
	drill    Drill
	ctx      context.Context
	fail     context.CancelCauseFunc
	scenario Scenario
	dir      string
	began    time.Time

	port    int // of Redis
	redis   *exec.Cmd
	client  *goredis.Client
	earlier int64 // requests to earlier Redis processes
	sim     *simulator.Simulator
	media   string // the simulated platform that is called
	server  *http.Server
	address string
	tokens  []string // of the logins of the one app, each of which reaches a hundred accounts
	callers []*exec.Cmd

	mu       sync.Mutex
	calls    []Arrival
	min, max time.Duration // from sending to arrival of a call
}

func (w *drilled) check(err error, doing string) {
	if err != nil && w.ctx.Err() == nil {
		w.fail(fmt.Errorf("%s: %w", doing, err))
	}
}

// startRedis starts Redis on its earlier port, or on a free one.
func (w *drilled) startRedis() error {
	if w.port == 0 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		w.port = l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return err
		}
		w.client = goredis.NewClient(&goredis.Options{Addr: w.redisAddr(), DisableIdentity: true})
	}
	w.redis = exec.Command(w.drill.RedisServer, "--port", strconv.Itoa(w.port), "--bind", "127.0.0.1", "--save", "",
		"--appendonly", "no", "--dir", w.dir)
	w.redis.Stderr = w.drill.Log
	if err := w.redis.Start(); err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	for range 100 {
		if w.client.Ping(w.ctx).Err() == nil {
			return nil
		}
		w.Run(20 * time.Millisecond)
	}
	return fmt.Errorf("%s does not answer on port %d", w.drill.RedisServer, w.port)
}

func (w *drilled) redisAddr() string { return "127.0.0.1:" + strconv.Itoa(w.port) }

// startPlatform serves the simulated platform with the scenario's limits.
func (w *drilled) startPlatform() (err error) {
	all := len(simulator.Platforms())
	if w.sim, err = simulator.New(simulator.Config{Accounts: all * Accounts, AppAccounts: Accounts, Seed: 1}); err != nil {
		return err
	}
	w.media = simulator.First().Spec().Name
	var credentials map[string]control.Credentials
	if err := w.control(http.MethodGet, "/_sim/credentials", nil, &credentials); err != nil {
		return err
	}
	for _, l := range credentials[w.media].Apps[0].Logins {
		w.tokens = append(w.tokens, l.AccessToken)
	}
	var now struct {
		Rules []limit.Rule `json:"rules"`
	}
	if err := w.control(http.MethodGet, "/_sim/limits", nil, &now); err != nil {
		return err
	}
	for i := range now.Rules {
		now.Rules[i].Limit = 0
	}
	for _, l := range w.scenario.Limits {
		rule := limit.Rule{Media: w.media, Endpoint: "*", Scope: limit.ScopeApp, Seconds: int(l.Period.Seconds()),
			Limit: l.Calls}
		now.Rules = slices.DeleteFunc(now.Rules, func(r limit.Rule) bool {
			return r.Media == rule.Media && r.Endpoint == rule.Endpoint && r.Scope == rule.Scope && r.Seconds == rule.Seconds
		})
		now.Rules = append(now.Rules, rule)
	}
	if err := w.control(http.MethodPost, "/_sim/limits", now, nil); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	w.address = listener.Addr().String()
	w.server = &http.Server{Handler: w, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := w.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			w.check(err, "serve the platform")
		}
	}()
	return nil
}

// control sends an order to the simulator.
func (w *drilled) control(method, path string, order, answer any) error {
	body, err := json.Marshal(order)
	if err != nil {
		return err
	}
	recorder := httptest.NewRecorder()
	w.sim.ServeHTTP(recorder, httptest.NewRequest(method, path, bytes.NewReader(body)))
	if recorder.Code != http.StatusOK {
		return fmt.Errorf("simulator: %s %s: %d %.300s", method, path, recorder.Code, recorder.Body)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(recorder.Body.Bytes(), answer)
}

// longestWay is the part of the spread that the longest way to the platform takes. The rest is for callers that wake
// up late.
const longestWay = 0.9

// ServeHTTP delays a call by a short or long way, records it, and has the simulator answer it.
func (w *drilled) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.Run(time.Duration(rand.Float64() * longestWay * float64(w.drill.Spread)))
	arrived := clock.Mark()
	var sent int64
	c := Arrival{At: arrived.Sub(w.began)}
	c.Account = r.Header.Get(accountHeader)
	if _, err := fmt.Sscanf(r.Header.Get(callerHeader), "%d %d %d", &c.Process, &c.Importance, &sent); err != nil {
		w.check(err, "read a call's header")
	}
	way := arrived.Sub(time.Unix(0, sent))
	w.mu.Lock()
	if len(w.calls) == 0 {
		w.min, w.max = way, way
	}
	w.min, w.max = min(w.min, way), max(w.max, way)
	w.calls = append(w.calls, c)
	w.mu.Unlock()
	w.sim.ServeHTTP(rw, r)
}

// refused returns how many calls a limit refused, by the simulator's ledger.
func (w *drilled) refused() int64 {
	var ledger struct {
		Totals ledger.Counts `json:"totals"`
	}
	w.check(w.control(http.MethodGet, "/_sim/ledger?media="+w.media, nil, &ledger), "read the ledger")
	w.mu.Lock()
	defer w.mu.Unlock()
	if ledger.Totals.Calls != int64(len(w.calls)) {
		w.check(fmt.Errorf("it has %d calls, of %d", ledger.Totals.Calls, len(w.calls)), "read the ledger")
	}
	return ledger.Totals.Refused
}

// Spread returns the largest difference between calls in the time from their sending to their arrival.
func (w *drilled) Spread() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.max - w.min
}

// Order is what a caller receives.
type Order struct {
	Process  int           `json:"process"`
	Limiter  string        `json:"limiter"`
	Redis    string        `json:"redis"`
	Platform string        `json:"platform"` // host:port
	Tokens   []string      `json:"tokens"`
	Spread   time.Duration `json:"spread"`
	Members  int           `json:"members"`
	Limits   []Limit       `json:"limits"`
	Demands  []Demand      `json:"demands"`
}

func (w *drilled) Join(demands ...Demand) int {
	number := len(w.callers)
	order, err := json.Marshal(Order{
		Process: number, Limiter: w.drill.Limiter, Redis: w.redisAddr(), Platform: w.address, Tokens: w.tokens,
		Spread: w.drill.Spread, Members: w.scenario.Members,
		Limits: w.scenario.Limits, Demands: demands,
	})
	w.check(err, "order")
	cmd := exec.Command(w.drill.Self, w.drill.SelfArgs...)
	cmd.Stderr = w.drill.Log
	// The end of this pipe ends the caller when the drill is over, however that ends.
	in, err := cmd.StdinPipe()
	w.check(err, "start a caller")
	out, err := cmd.StdoutPipe()
	w.check(err, "start a caller")
	w.callers = append(w.callers, cmd)
	if err := cmd.Start(); err != nil {
		w.check(err, "start a caller")
		return number
	}
	_, err = in.Write(order)
	w.check(err, "order")
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != ready {
		w.check(fmt.Errorf("unexpected answer %q: %w", line, err), "start a caller")
	}
	return number
}

func (w *drilled) Kill(process int) {
	w.check(w.callers[process].Process.Kill(), "kill a caller")
	_ = w.callers[process].Wait() // The error of a killed process.
}

func (w *drilled) LoseRedis() {
	w.earlier += w.evals()
	w.check(w.redis.Process.Kill(), "kill Redis")
	_ = w.redis.Wait() // The error of a killed process.
	w.redis = nil
}

func (w *drilled) ReturnRedis() { w.check(w.startRedis(), "start Redis again") }

func (w *drilled) Flush() { w.check(w.client.FlushAll(w.ctx).Err(), "empty Redis") }

func (w *drilled) Run(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.ctx.Done():
	}
}

func (w *drilled) Now() time.Duration { return clock.Since(w.began) }

func (w *drilled) Calls() []Arrival {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Clone(w.calls)
	slices.SortStableFunc(all, func(a, b Arrival) int { return int(a.At - b.At) })
	return all
}

func (w *drilled) RoundTrips() int {
	if w.redis == nil {
		return int(w.earlier)
	}
	return int(w.earlier + w.evals())
}

// evals returns how many scripts Redis has run.
func (w *drilled) evals() (n int64) {
	text, err := w.client.Info(w.ctx, "commandstats").Result()
	w.check(err, "read Redis's statistics")
	for line := range strings.SplitSeq(text, "\r\n") {
		name, rest, _ := strings.Cut(line, ":calls=")
		if name == "cmdstat_evalsha" || name == "cmdstat_eval" {
			calls, _, _ := strings.Cut(rest, ",")
			one, err := strconv.ParseInt(calls, 10, 64)
			w.check(err, "read Redis's statistics")
			n += one
		}
	}
	return n
}

func (w *drilled) endCallers() {
	for _, c := range w.callers {
		if c.Process != nil && c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait() // The error of a killed process.
		}
	}
}

// end ends everything that was started.
func (w *drilled) end() {
	w.endCallers()
	if w.redis != nil && w.redis.Process != nil {
		_ = w.redis.Process.Kill()
		_ = w.redis.Wait()
	}
	if w.client != nil {
		_ = w.client.Close()
	}
	if w.server != nil {
		_ = w.server.Close()
	}
	if w.sim != nil {
		_ = w.sim.Close()
	}
}

// token returns that of the login which reaches an account, given as its number. Calls of a scenario without accounts
// have none.
func (o Order) token(account string) string {
	n, _ := strconv.Atoi(account)
	return o.Tokens[n*len(o.Tokens)/Accounts]
}

// request returns a call of a caller, to an endpoint that is cheap to answer.
func (c *caller) request(ctx context.Context, d Demand, account string) (*http.Request, error) {
	req, err := c.platform.CheapCall(ctx, "http://"+c.Platform, c.token(account))
	if err != nil {
		return nil, err
	}
	req.Header.Set(callerHeader, fmt.Sprintf("%d %d %d", c.Process, d.Importance, clock.Mark().UnixNano()))
	req.Header.Set(accountHeader, account)
	return req, nil
}
