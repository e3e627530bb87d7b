package outside

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/httpapi"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/client"
	"adsync/media"
)

const (
	// waitMost is the longest time for which a request waits for its first grant.
	waitMost = time.Second
	// collectFor is how long the other grants of a request are awaited after the first one, whose validity runs.
	collectFor = 5 * time.Millisecond
	// validLeast is the validity below which a grant is of no use to a caller.
	validLeast = 5 * time.Millisecond
	// validWithout is the validity of a grant without an end.
	validWithout = time.Second
	// againMin and againMax bound the time after which a caller requests again, and againUnknown is the time where the
	// limits do not give one.
	againMin     = 20 * time.Millisecond
	againMax     = 10 * time.Minute
	againUnknown = time.Second
	// pauseMin is the shortest pause after a refusal, as after one that adsync's own calls receive.
	pauseMin = time.Second
	// endpointsMax is how many endpoints of a platform have their own counters.
	endpointsMax = 100
)

// Limits grants calls and pauses them. Its methods may be called concurrently.
type Limits interface {
	// Wait returns when a call may be made, or a *ratelimit.WaitError if that would be after the context's deadline.
	Wait(ctx context.Context, call grant.Call) (ratelimit.Grant, error)
	// Covers reports whether any rule covers a call.
	Covers(call grant.Call) bool
	// Pause lets no process make such calls for d. On an error only this process pauses them.
	Pause(ctx context.Context, call grant.Call, scope grant.Scope, d time.Duration) error
}

// Grants grants calls to outside workers.
type Grants struct {
	finder
	limits  Limits
	clock   clock.Clock
	granted *prometheus.CounterVec
	refused *prometheus.CounterVec

	mu        sync.Mutex
	endpoints map[string]map[string]bool // by media: those that have their own counters
}

// NewGrants returns the routes of grants. The clock orders calls that wait for one limit. reg takes the metrics; nil
// for none.
func NewGrants(store Store, limits Limits, platforms []media.Platform, c clock.Clock,
	reg prometheus.Registerer) *Grants {
	g := &Grants{
		finder: finder{store, platforms}, limits: limits, clock: c, endpoints: map[string]map[string]bool{},
		granted: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_outside_calls_total",
			Help: "Calls that outside workers requested, by result: granted, or wait."},
			[]string{"media", "endpoint", "result"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "adsync_outside_refusals_total",
			Help: "Calls of outside workers that platforms refused because a limit was exceeded."},
			[]string{"media", "endpoint"}),
	}
	if reg != nil {
		g.granted, g.refused = media.Register(reg, g.granted), media.Register(reg, g.refused)
	}
	return g
}

// Grant answers with the number of calls that the caller may send at once, or with the time to wait.
func (g *Grants) Grant(c *gin.Context, request *client.GrantRequest) (any, error) {
	ctx := c.Request.Context()
	call, err := g.call(ctx, request.Media, request.Endpoint, request.Account)
	if err != nil {
		return nil, err
	}
	n := int(request.N)
	granted, valid, again, err := g.wait(ctx, call, n)
	if err != nil {
		return nil, err
	}
	label := g.label(call)
	g.granted.WithLabelValues(call.Media, label, "granted").Add(float64(granted))
	g.granted.WithLabelValues(call.Media, label, "wait").Add(float64(n - granted))
	if granted == 0 {
		return client.GrantAnswer{WaitMs: max(1, again.Milliseconds())}, nil
	}
	return client.GrantAnswer{Granted: int64(granted), ValidMs: valid.Milliseconds()}, nil
}

// call returns the call that a request names, for the limits.
func (g *Grants) call(ctx context.Context, mediaName, endpoint, externalID string) (grant.Call, error) {
	_, account, err := g.account(ctx, mediaName, externalID)
	if err != nil {
		return grant.Call{}, err
	}
	app, err := g.appOf(ctx, account)
	if err != nil {
		return grant.Call{}, err
	}
	call := grant.Call{Media: mediaName, Endpoint: grant.PlainEndpoint(endpoint), App: app, Account: externalID}
	if call.Endpoint == "" || !g.limits.Covers(call) {
		return grant.Call{}, httpapi.Refused("endpoint",
			"%q is refused: no limit of %s covers it: want an endpoint of GET /api/v1/limits/rules, or add a rule for it",
			endpoint, mediaName)
	}
	return call, nil
}

// wait requests n calls and returns how many were granted and for how long they are valid, or otherwise after what time
// the caller should request again.
func (g *Grants) wait(ctx context.Context, call grant.Call, n int) (granted int, valid, again time.Duration,
	err error) {
	type answer struct {
		ratelimit.Grant
		err error
	}
	// Calls that have waited for longer go first.
	waiting, stop := context.WithTimeout(ratelimit.With(ctx, ratelimit.Terms{
		Importance: ratelimit.ImportanceUsual, Rank: ratelimit.Rank{At: g.clock.Now()},
	}), waitMost)
	defer stop()
	answers := make(chan answer, n)
	for range n {
		go func() {
			got, err := g.limits.Wait(waiting, call)
			answers <- answer{got, err}
		}()
	}
	again = againMax
	var unused error
	until := make([]time.Time, 0, n)
	for range n {
		a := <-answers
		late, isLate := errors.AsType[*ratelimit.WaitError](a.err)
		switch {
		case a.err == nil:
			if len(until) == 0 {
				defer time.AfterFunc(collectFor, stop).Stop()
			}
			until = append(until, a.Until)
		case !isLate:
			unused = a.err
		case late.After > 0:
			again = min(again, max(late.After, againMin))
		default:
			again = min(again, againUnknown)
		}
	}
	if len(until) == 0 && unused != nil {
		return 0, 0, 0, unused
	}
	valid = validWithout
	for _, end := range until {
		left := validWithout
		if !end.IsZero() {
			left = clock.Until(end)
		}
		if left >= validLeast {
			granted++
			valid = min(valid, left)
		}
	}
	if granted == 0 && len(until) > 0 {
		again = againMin
	}
	return granted, valid, again, nil
}

// Refuse pauses the calls that a platform has refused, as after a refusal of adsync's own calls.
func (g *Grants) Refuse(c *gin.Context, request *client.RefusalRequest) (any, error) {
	ctx := c.Request.Context()
	call, err := g.call(ctx, request.Media, request.Endpoint, request.Account)
	if err != nil {
		return nil, err
	}
	pause := min(max(time.Duration(request.RetryAfterMs)*time.Millisecond, pauseMin), media.PauseMaxDefault)
	g.refused.WithLabelValues(call.Media, g.label(call)).Inc()
	scope := cmp.Or(grant.Scope(request.Scope), grant.ScopeApp)
	if err := g.limits.Pause(ctx, call, scope, pause); err != nil {
		return nil, httpapi.NewProblem(http.StatusServiceUnavailable,
			"Only this process pauses the calls, since the others cannot be reached: %v.", err)
	}
	return client.RefusalAnswer{PausedMs: pause.Milliseconds()}, nil
}

// label returns the endpoint of a call for a metric; "others" once there are many.
func (g *Grants) label(call grant.Call) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.endpoints[call.Media]
	if known == nil {
		known = map[string]bool{}
		g.endpoints[call.Media] = known
	}
	if !known[call.Endpoint] && len(known) >= endpointsMax {
		return "others"
	}
	known[call.Endpoint] = true
	return call.Endpoint
}
