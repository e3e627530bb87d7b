// Package token keeps the tokens of logins: it hands out access tokens, and refreshes them so that of all processes one
// asks the platform, and no pair that a platform gave out is lost.
//
// The table media_token is the truth, sealed; Redis holds the newest sealed access token of each login, so that a
// process that meets a login, or finds its token replaced, needs no query; memory holds what this process uses.
package token

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	goredis "github.com/redis/go-redis/v9"

	"adsync/base/clock"
	"adsync/base/redis"
	"adsync/base/secret"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/telemetry"
	"adsync/media"
)

// Times of a refresh. An intent must outlive everything that its holder may still do: if another process took it for
// dead, two of them would use up one refresh token.
const (
	// answerTimeout is how long the platform's answer is waited for. It is long: where a platform kills the old pair with
	// the call, an answer that nobody waits for any more is a login that a person must authorise again, and a platform
	// that is slow for an hour would cost all of them.
	answerTimeout = 30 * time.Second
	// stopPatience is what a stop leaves of that; it is below a consumer's drain, beside which it passes.
	stopPatience = 8 * time.Second
	// intentMargin is what the holder may take before it asks. If more has passed it was paused, or the database was, and
	// it no longer asks: another may hold the intent by the time that the platform answers.
	intentMargin = 10 * time.Second
	// storeTime is what putting the new pair into the table takes at the most, unless the database is away.
	storeTime   = 20 * time.Second
	intentLasts = intentMargin + answerTimeout + storeTime
	// tableTimeout bounds one statement after the platform has answered, and tableTries how often it is tried: an answer
	// is worth more than the time of the flight that asked for it. A new pair is tried for as long as the process lives.
	tableTimeout = 10 * time.Second
	tableTries   = 5
)

const (
	// renewBefore is how long before its end an access token is no longer used: it must not end on its way.
	renewBefore = time.Minute
	// lifeMin is the shortest life of a new access token that is believed: with a shorter one, or none told, every call
	// would refresh it. If it does end sooner the platform's refusal tells.
	lifeMin = 10 * time.Minute
	// intentPoll is how often, and intentPatience how long, a call waits for a refresh of another process before its
	// subtask gives its place to others.
	intentPoll     = 200 * time.Millisecond
	intentPatience = 3 * time.Second
	// refusedHold is how long the calls of a login rest after the platform has refused its newest token, and how long a
	// parked login is believed parked: platforms block callers that keep trying wrong tokens.
	refusedHold = time.Minute
	// parkedWait is how long the subtasks of a parked login wait before they look again. A login may have thousands of
	// accounts: more often would keep the consumers busy with nothing.
	parkedWait = 2 * time.Minute
	// pauseMax caps the growing pauses between refreshes that fail.
	pauseMax = 5 * time.Minute
)

// Login is what a call is made with. Its secrets must not be kept: the next call asks again.
type Login struct {
	ID         int64
	App        media.App // the secret is set only while refreshing
	Access     secret.Text
	Expires    time.Time
	Generation int64
}

// Options are what a Keeper works with.
type Options struct {
	Platform  media.Platform
	Transport media.Transport
	Store     *store.Store
	Box       *secret.Box
	Clock     clock.Clock
	// Redis may be nil: then every login costs each process a query.
	Redis goredis.UniversalClient
	Keys  redis.Keys
	// PauseMax caps the pause that the answer to a refresh may ask for; 0 means media.PauseMaxDefault.
	PauseMax   time.Duration
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Keeper keeps the tokens of one platform's logins. Its methods may be called at the same time.
type Keeper struct {
	Options
	metrics *metrics
	causes  *telemetry.CauseLog // of failures that a platform or a database makes all logins share

	// redisTimeout bounds what Redis may cost a call: without it there is the table. Once it has cost that it is left
	// alone for redisRest, since after a loss of Redis every login is looked for anew.
	redisTimeout time.Duration
	redisAway    atomic.Int64 // until when Redis is left alone, by clock.Mark in nanoseconds

	mu      sync.Mutex
	closed  bool
	held    chan struct{} // closed by Hold
	flying  sync.WaitGroup
	flights map[int64]*flight
	logins  map[int64]*entry
}

// entry is what this process knows of a login.
type entry struct {
	login Login
	// Until then, on this process's clock, calls fail: with refused, or with parked when a person must act.
	heldUntil time.Time
	refused   *media.Error
	parked    *parkedError
}

// parkedError says that only a person can help a login. Its subtasks wait, at no attempt: when the login is authorised
// again they go on by themselves.
type parkedError struct {
	login  int64
	reason string
}

func (e *parkedError) Error() string {
	return fmt.Sprintf("login %d must be authorised again: %s", e.login, e.reason)
}

// Unwrap tells the consumer to wait.
func (e *parkedError) Unwrap() error {
	return &media.DeferError{After: parkedWait, Reason: e.Error()}
}

// flight is a renewal under way in this process.
type flight struct {
	done  chan struct{}
	login Login
	err   error
}

// New returns a Keeper. It starts nothing.
func New(o Options) *Keeper {
	return &Keeper{
		Options: o, metrics: newMetrics(o.Registerer), causes: telemetry.NewCauseLog(o.Logger),
		redisTimeout: redisTimeout, held: make(chan struct{}), flights: map[int64]*flight{}, logins: map[int64]*entry{},
	}
}

// Hold lets no refresh begin any more, and those under way have stopPatience left for the platform's answer. A stop
// calls it first, so that they end beside the drain.
func (k *Keeper) Hold() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed {
		k.closed = true
		close(k.held)
	}
}

// Close lets no refresh begin any more and waits for those under way: a pair of tokens on its way from the platform to
// the table must arrive. That is stopPatience at the most, and longer only while the database does not take the pair.
// It may be called more than once.
func (k *Keeper) Close() {
	k.Hold()
	k.flying.Wait()
}

// Login returns a login's present token. It waits while this process refreshes it, and refreshes it when it is about
// to end. The error holds an *media.DeferError when the subtask must wait: another process is refreshing the token, the
// refresh failed and rests, or the login is parked until a person authorises it again. It is an *media.Error of class
// Auth while calls rest because the platform refused the newest token.
func (k *Keeper) Login(ctx context.Context, id int64) (Login, error) {
	login, flying, err := k.known(id)
	if flying != nil {
		// What came of the refresh shows in what is known afterwards; if it failed, the old token may still do.
		if _, err := k.await(ctx, flying); ctx.Err() != nil {
			return Login{}, err
		}
		login, _, err = k.known(id)
	}
	if err == nil && login.Generation == 0 {
		login, err = k.load(ctx, id)
	}
	if err != nil {
		return Login{}, err
	}
	if k.Clock.Now().Add(renewBefore).Before(login.Expires) {
		return login, nil
	}
	next, err := k.Renew(ctx, id, login.Generation, nil)
	// It may have ended while the refresh was under way.
	if _, parked := errors.AsType[*parkedError](err); err != nil && !parked && k.Clock.Now().Before(login.Expires) {
		return login, nil
	}
	return next, err
}

// known returns what this process knows of a login: a refresh under way, a token, or why calls must rest. The zero
// Login means that it knows nothing.
func (k *Keeper) known(id int64) (Login, *flight, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.flights[id]; f != nil {
		return Login{}, f, nil
	}
	e := k.logins[id]
	if e == nil {
		return Login{}, nil, nil
	}
	if held := e.hold(); held != nil {
		return Login{}, nil, held
	}
	return e.login, nil, nil
}

func (e *entry) hold() error {
	left := clock.Until(e.heldUntil)
	switch {
	case left <= 0:
		return nil
	case e.parked != nil:
		return e.parked
	case e.refused != nil:
		held := *e.refused
		held.RetryAfter = left
		return &held
	}
	return nil
}

// Renew returns another token than the one of a generation that the platform has refused, with the words of why, or
// that is about to end, when why is nil. Any number of calls at the same time make one refresh.
func (k *Keeper) Renew(ctx context.Context, id, generation int64, why *media.Error) (Login, error) {
	for {
		login, f, err := k.known(id)
		if err != nil {
			return Login{}, err
		}
		own := false
		if f == nil {
			if login.Generation != 0 && login.Generation != generation {
				return login, nil
			}
			if f, own = k.launch(ctx, id, generation, why); f == nil {
				return Login{}, &media.DeferError{After: time.Second,
					Reason: "this process is stopping and refreshes no more tokens"}
			}
		}
		login, err = k.await(ctx, f)
		// A flight that began before the refused token was new brings that one.
		if own || err != nil || login.Generation != generation {
			return login, err
		}
	}
}

// launch begins a renewal, or joins the one that has just begun. It returns nil after Close.
func (k *Keeper) launch(ctx context.Context, id, generation int64, why *media.Error) (f *flight, own bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.flights[id]; f != nil {
		return f, false
	}
	if k.closed {
		return nil, false
	}
	f = &flight{done: make(chan struct{})}
	k.flights[id] = f
	k.flying.Add(1)
	go k.fly(context.WithoutCancel(ctx), f, id, generation, why)
	return f, true
}

func (k *Keeper) await(ctx context.Context, f *flight) (Login, error) {
	select {
	case <-f.done:
		return f.login, f.err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return Login{}, &media.DeferError{After: time.Second, Reason: "the login's token is being refreshed"}
		}
		return Login{}, ctx.Err()
	}
}

// fly runs a renewal. Its context is not the caller's: a refresh that has begun is finished, whoever goes away.
func (k *Keeper) fly(ctx context.Context, f *flight, id, generation int64, why *media.Error) {
	defer k.flying.Done()
	ctx, cancel := context.WithTimeout(ctx, intentLasts)
	defer cancel()
	f.login, f.err = k.renew(ctx, id, generation, why)
	k.mu.Lock()
	delete(k.flights, id)
	k.mu.Unlock()
	close(f.done)
}

// Refused tells that the platform does not take a login's token though it is the newest: calls of the login rest for a
// while. A newer token ends the rest.
func (k *Keeper) Refused(id, generation int64, err *media.Error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.logins[id]; known != nil && known.login.Generation == generation {
		known.refused, known.heldUntil = err, clock.Mark().Add(refusedHold)
	}
}

// remember takes over what is newer than what this process knows.
func (k *Keeper) remember(login Login) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.logins[login.ID]; known == nil || known.login.Generation < login.Generation {
		k.set(login.ID, &entry{login: login})
	}
}

// replace takes over what the table says, also when it is older: a database that was set up anew counts from 1.
func (k *Keeper) replace(login Login) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.set(login.ID, &entry{login: login})
}

// park remembers for a while that a login waits for a person, and takes its dead token away from the processes that
// have not met it yet.
func (k *Keeper) park(ctx context.Context, id int64, reason string) *parkedError {
	err := &parkedError{login: id, reason: reason}
	k.unshare(ctx, id)
	k.mu.Lock()
	defer k.mu.Unlock()
	// Generation 0: after the rest the login is looked up anew.
	k.set(id, &entry{parked: err, heldUntil: clock.Mark().Add(refusedHold)})
	return err
}

// set is the one place where entries are put, so that the gauge tells what they say.
func (k *Keeper) set(id int64, e *entry) {
	if was := k.logins[id]; was != nil && was.parked != nil {
		k.metrics.parked.WithLabelValues(k.Platform.Name()).Dec()
	}
	if e.parked != nil {
		k.metrics.parked.WithLabelValues(k.Platform.Name()).Inc()
	}
	k.logins[id] = e
}

// Reload takes a login from the table, whatever this process knows of it: it has just been authorised.
func (k *Keeper) Reload(ctx context.Context, id int64) error {
	login, _, err := k.read(ctx, id)
	if err != nil {
		return err
	}
	k.replace(login)
	k.share(ctx, login)
	return nil
}

// App returns an app of the platform with its secret, which must not be kept.
func (k *Keeper) App(ctx context.Context, id string) (media.App, error) {
	return OpenApp(ctx, k.Store, k.Box, k.Platform.Name(), id)
}

// load finds a login's token in Redis, else in the table.
func (k *Keeper) load(ctx context.Context, id int64) (Login, error) {
	if login, ok := k.shared(ctx, id); ok {
		k.remember(login)
		return login, nil
	}
	login, _, err := k.read(ctx, id)
	if err != nil {
		return Login{}, err
	}
	k.share(ctx, login)
	return login, nil
}

// read takes a login from the table. A login that waits for a person is an error.
func (k *Keeper) read(ctx context.Context, id int64) (Login, settings.Token, error) {
	row, err := k.Store.Token(ctx, id)
	if err != nil {
		return Login{}, row, err
	}
	if row.Media != k.Platform.Name() {
		return Login{}, row, &media.Error{Class: media.Bug,
			Message: fmt.Sprintf("login %d is of %s, not of %s", id, row.Media, k.Platform.Name())}
	}
	if row.State != settings.TokenOK {
		return Login{}, row, k.park(ctx, id, row.StateReason)
	}
	access, err := k.Box.Open(row.Access, accessPlace(id))
	if err != nil {
		return Login{}, row, fmt.Errorf("open the access token of login %d: %w", id, err)
	}
	login := Login{
		ID: id, App: media.App{ID: row.AppID}, Access: secret.NewText(access),
		Expires: row.AccessExpires, Generation: row.Generation,
	}
	k.remember(login)
	return login, row, nil
}
