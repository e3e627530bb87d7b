// Package token keeps the tokens of logins. It returns access tokens and refreshes them. One process at a time
// refreshes a login, and no pair of tokens that a platform issued is lost.
//
// The table media_token is the truth; its tokens are sealed. Redis holds the newest sealed access token of each
// login, so that a process that uses a login for the first time, or whose token was replaced, needs no query. Memory
// holds the tokens that this process uses.
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

// Times of a refresh. An intent must outlast everything that its holder may still do: if another process took the
// holder for dead, both would use the same refresh token.
const (
	// answerTimeout is how long a refresh waits for the platform's answer. It is long: some platforms kill the old pair
	// with the call, and a lost answer means that a person must authorise the login again. With a short time, a platform
	// that is slow for an hour would cost all logins.
	answerTimeout = 30 * time.Second
	// stopPatience is how much of that is left after a stop. It is shorter than a consumer's drain, which runs at the
	// same time.
	stopPatience = 8 * time.Second
	// intentMargin is how much time the holder may take before it calls. If more has passed, the holder or the database
	// was paused. It then makes no call: another process may hold the intent by the time that the platform answers.
	intentMargin = 10 * time.Second
	// storeTime is how long storing the new pair takes at most, unless the database is away.
	storeTime   = 20 * time.Second
	intentLasts = intentMargin + answerTimeout + storeTime
	// tableTimeout bounds one statement after the platform has answered, and tableTries is how often it is tried. Both
	// may exceed the time of the flight, as the answer must not be lost. Storing a new pair is tried as long as the
	// process lives.
	tableTimeout = 10 * time.Second
	tableTries   = 5
)

const (
	// renewBefore is how long before its end an access token is no longer used: it must not expire during a call.
	renewBefore = time.Minute
	// lifeMin replaces a shorter or missing life of a new access token: otherwise every call would refresh it. If the
	// token does end sooner, the platform refuses it, and it is refreshed then.
	lifeMin = 10 * time.Minute
	// intentPoll is how often a call looks for the result of another process's refresh, and intentPatience how long,
	// before its subtask releases its slot.
	intentPoll     = 200 * time.Millisecond
	intentPatience = 3 * time.Second
	// refusedHold is how long the calls of a login rest after the platform has refused its newest token. Platforms block
	// callers that keep trying wrong tokens.
	refusedHold = time.Minute
	// parkedHold is how long a parked login is held as parked without a query. A new authorisation is used after that.
	parkedHold = 10 * time.Second
	// parkedWait is how long the subtasks of a parked login wait before they check it again. A login may have thousands
	// of accounts: more frequent checks would keep the consumers busy.
	parkedWait = 2 * time.Minute
	// pauseMax caps the growing pauses between refreshes that fail.
	pauseMax = 5 * time.Minute
)

// Login holds what a call needs. Its secrets must not be kept: each call gets its login from the Keeper.
type Login struct {
	ID         int64
	App        media.App // the secret is set only while refreshing
	Who        media.Login
	Access     secret.Text
	Expires    time.Time
	Generation int64
}

// Options holds what a Keeper uses.
type Options struct {
	Platform  media.Platform
	Transport media.Transport
	Store     *store.Store
	Box       *secret.Box
	Clock     clock.Clock
	// Redis may be nil: then each process needs a query for every login.
	Redis goredis.UniversalClient
	Keys  redis.Keys
	// PauseMax caps the pause that the answer to a refresh may demand; 0 means media.PauseMaxDefault.
	PauseMax   time.Duration
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Keeper keeps the tokens of one platform's logins. It is safe for concurrent use.
type Keeper struct {
	Options
	metrics *metrics
	causes  *telemetry.CauseLog // logs a failure that all logins share once

	// redisTimeout is how long a call waits for Redis before it reads the table. After a timeout Redis is not used for
	// redisRest: when Redis is lost, every login has to be looked up.
	redisTimeout time.Duration
	redisAway    atomic.Int64 // until when Redis is not used, by clock.Mark in nanoseconds

	mu      sync.Mutex
	closed  bool
	held    chan struct{} // closed by Hold
	flying  sync.WaitGroup
	flights map[int64]*flight
	logins  map[int64]*entry
}

// entry holds what this process knows of a login.
type entry struct {
	login Login
	// heldUntil is until when, by this process's clock, calls fail: with refused, or with parked when a person must act.
	heldUntil time.Time
	refused   *media.Error
	parked    *parkedError
}

// parkedError reports a login that a person must authorise again. Its subtasks wait, at no attempt, and continue
// automatically after that.
type parkedError struct {
	login  int64
	reason string
}

func (e *parkedError) Error() string {
	return fmt.Sprintf("login %d must be authorised again: %s", e.login, e.reason)
}

// Unwrap returns a *media.DeferError, which makes the consumer wait.
func (e *parkedError) Unwrap() error {
	return &media.DeferError{After: parkedWait, Reason: e.Error()}
}

// flight is a renewal that runs in this process.
type flight struct {
	done  chan struct{}
	login Login
	err   error
}

// New returns a Keeper. It starts no goroutine.
func New(o Options) *Keeper {
	return &Keeper{
		Options: o, metrics: newMetrics(o.Registerer), causes: telemetry.NewCauseLog(o.Logger),
		redisTimeout: redisTimeout, held: make(chan struct{}), flights: map[int64]*flight{}, logins: map[int64]*entry{},
	}
}

// Hold prevents new refreshes. Those under way have stopPatience left for the platform's answer. A stop calls it
// first, so that they end during the drain.
func (k *Keeper) Hold() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed {
		k.closed = true
		close(k.held)
	}
}

// Close prevents new refreshes and waits for those under way: a pair of tokens on its way from the platform to the
// table must arrive. It waits at most stopPatience, and longer only while the database does not store the pair. It
// may be called more than once.
func (k *Keeper) Close() {
	k.Hold()
	k.flying.Wait()
}

// Login returns a login with its current token. It waits while this process refreshes the token, and refreshes it
// when it is about to end. The error wraps a *media.DeferError when the subtask must wait: another process is
// refreshing the token, the refresh failed and rests, or the login is parked until a person authorises it again. It
// is a *media.Error of class Auth while calls rest because the platform refused the newest token.
func (k *Keeper) Login(ctx context.Context, id int64) (Login, error) {
	login, flying, err := k.known(id)
	if flying != nil {
		// The next look shows the result of the refresh. If it failed, the old token may still be valid.
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
	// The token may have ended during the refresh.
	if _, parked := errors.AsType[*parkedError](err); err != nil && !parked && k.Clock.Now().Before(login.Expires) {
		return login, nil
	}
	return next, err
}

// known returns what this process knows of a login: a refresh under way, a token, or the reason why calls must rest.
// The zero Login means that it knows nothing.
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

// Renew replaces the token of a generation and returns the new one. why is the platform's refusal of the old token,
// or nil if that is only about to end. Any number of concurrent calls share one refresh.
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
		// A flight that began before the refused token was stored returns that token.
		if own || err != nil || login.Generation != generation {
			return login, err
		}
	}
}

// launch starts a renewal or joins the one under way. It returns nil after Hold and Close.
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

// fly runs a renewal. The caller's end does not cancel it: a refresh that has started is completed.
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

// Refused records that the platform refuses a login's newest token: the login's calls rest for refusedHold. A newer
// token ends the rest.
func (k *Keeper) Refused(id, generation int64, err *media.Error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.logins[id]; known != nil && known.login.Generation == generation {
		known.refused, known.heldUntil = err, clock.Mark().Add(refusedHold)
	}
}

// remember keeps a login that is newer than the one this process knows.
func (k *Keeper) remember(login Login) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.logins[login.ID]; known == nil || known.login.Generation < login.Generation {
		k.set(login.ID, &entry{login: login})
	}
}

// replace keeps the login of the table, even if it is older: generations of a newly created database start at 1.
func (k *Keeper) replace(login Login) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.set(login.ID, &entry{login: login})
}

// park holds a login as parked for parkedHold, and removes its dead token from Redis, for processes that have not
// used the login yet.
func (k *Keeper) park(ctx context.Context, id int64, reason string) *parkedError {
	err := &parkedError{login: id, reason: reason}
	k.unshare(ctx, id)
	k.mu.Lock()
	defer k.mu.Unlock()
	// Generation 0: after the rest the login is looked up again.
	k.set(id, &entry{parked: err, heldUntil: clock.Mark().Add(parkedHold)})
	return err
}

// set is the only place that stores entries, so that the gauge matches them.
func (k *Keeper) set(id int64, e *entry) {
	if was := k.logins[id]; was != nil && was.parked != nil {
		k.metrics.parked.WithLabelValues(k.Platform.Name()).Dec()
	}
	if e.parked != nil {
		k.metrics.parked.WithLabelValues(k.Platform.Name()).Inc()
	}
	k.logins[id] = e
}

// Reload reads a login from the table, for one that has just been authorised. It replaces what this process knows.
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

// load returns a login's token from Redis, or otherwise from the table.
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

// read returns a login from the table. A login that waits for a person is a *parkedError.
func (k *Keeper) read(ctx context.Context, id int64) (Login, settings.Token, error) {
	row, err := k.Store.Token(ctx, id)
	if err != nil {
		return Login{}, row, err
	}
	if row.Media != k.Platform.Name() {
		return Login{}, row, &media.Error{Class: media.Bug,
			Message: fmt.Sprintf("login %d belongs to %s, not to %s", id, row.Media, k.Platform.Name())}
	}
	if row.State != settings.TokenOK {
		return Login{}, row, k.park(ctx, id, row.StateReason)
	}
	access, err := k.Box.Open(row.Access, accessPlace(id))
	if err != nil {
		return Login{}, row, fmt.Errorf("open the access token of login %d: %w", id, err)
	}
	login := Login{
		ID: id, App: media.App{ID: row.AppID}, Who: who(row), Access: secret.NewText(access),
		Expires: row.AccessExpires, Generation: row.Generation,
	}
	k.remember(login)
	return login, row, nil
}

// who returns whose tokens a row has.
func who(row settings.Token) media.Login { return media.Login{ID: row.Login, Name: row.Name} }
