package token

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/redis"
	"adsync/base/redis/redistest"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
	"adsync/media"
)

// issuer is a platform that accepts only its current refresh token. With each refresh it issues a new one, as some
// platforms do, or keeps the old one, as others do.
type issuer struct {
	rotates bool

	mu      sync.Mutex
	n       int32
	refresh string
}

func (i *issuer) answer(refresh string) (media.Tokens, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if refresh != i.refresh {
		return media.Tokens{}, &media.Error{Class: media.Auth, Code: "40107", Message: "used before"}
	}
	i.n++
	tokens := pair(i.n)
	if i.rotates {
		i.refresh = tokens.Refresh.Reveal()
	} else {
		tokens.Refresh = secret.Text{}
	}
	return tokens, nil
}

// newIssued returns a world whose platform is an issuer.
func newIssued(t *testing.T, rotates bool) (*world, *issuer) {
	t.Helper()
	w := newWorld(t, time.Hour)
	i := &issuer{rotates: rotates, n: 1, refresh: "refresh-1"}
	w.platform.answer = func(_ int32, refresh string) (media.Tokens, error) { return i.answer(refresh) }
	return w, i
}

// eachIssuer runs a test with both kinds of platforms.
func eachIssuer(t *testing.T, test func(t *testing.T, w *world, i *issuer)) {
	t.Helper()
	for name, rotates := range map[string]bool{"the refresh token stays": false, "the old pair dies": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, i := newIssued(t, rotates)
			test(t, w, i)
		})
	}
}

// die starts a refresh in a process that step ends: none of its code runs afterwards.
func (w *world) die(t *testing.T, step func(refresh string)) {
	t.Helper()
	k := w.keeper(t)
	before := w.platform.answer
	w.platform.answer = func(_ int32, refresh string) (media.Tokens, error) {
		step(refresh)
		runtime.Goexit()
		return media.Tokens{}, nil
	}
	f, own := k.launch(t.Context(), w.id, 1, nil)
	require.True(t, own)
	k.flying.Wait()
	select {
	case <-f.done:
		require.Fail(t, "the process did not end", "%v", f.err)
	default:
	}
	w.platform.answer = before
}

// lapse makes the open intent expire.
func (w *world) lapse(t *testing.T) {
	t.Helper()
	require.NoError(t,
		w.store.Config.Writer(t.Context()).Exec(
			"UPDATE media_token SET intent_until = '2000-01-01 00:00:00.000' WHERE id = ?", w.id).Error)
}

// renewAll renews a token in ten subtasks of each keeper at the same time, and returns all results.
func (w *world) renewAll(ctx context.Context, keepers ...*Keeper) (logins []Login, errs []error) {
	logins, errs = make([]Login, 10*len(keepers)), make([]error, 10*len(keepers))
	var all sync.WaitGroup
	for i := range logins {
		all.Go(func() { logins[i], errs[i] = keepers[i%len(keepers)].Renew(ctx, w.id, 1, nil) })
	}
	all.Wait()
	return logins, errs
}

func (w *world) errorLines() int { return strings.Count(w.log.String(), "level=ERROR") }

func TestCrash_BeforeTheCallDelaysTheRefresh(t *testing.T) {
	t.Parallel()
	eachIssuer(t, func(t *testing.T, w *world, _ *issuer) {
		t.Helper()
		claimed, err := w.store.ClaimRefresh(t.Context(), w.id, 1, "dead", intentLasts)
		require.NoError(t, err)
		require.True(t, claimed)
		living := []*Keeper{w.keeper(t), w.keeper(t), w.keeper(t)}
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, errs := w.renewAll(short, living...)
		for _, err := range errs {
			requireDeferred(t, err)
		}
		require.Zero(t, w.platform.refreshes.Load(), "no call is made while the dead process may still be calling")

		// All of them: one that began to wait before the intent ended may stop after it.
		_, errs = w.renewAll(t.Context(), living...)
		for _, err := range errs {
			require.Greater(t, requireDeferred(t, err), 10*time.Second, "they do not poll all the time")
		}

		w.lapse(t)
		logins, errs := w.renewAll(t.Context(), living...)
		for i := range logins {
			require.NoError(t, errs[i])
			require.Equal(t, "access-2", logins[i].Access.Reveal())
		}
		require.EqualValues(t, 1, w.platform.refreshes.Load())
		require.Zero(t, w.errorLines(), w.log.String())
	})
}

func TestCrash_AfterTheAnswerParksOnlyWhereThePairDied(t *testing.T) {
	t.Parallel()
	eachIssuer(t, func(t *testing.T, w *world, i *issuer) {
		t.Helper()
		w.redis, w.keys = redistest.New(t)
		other, err := PutLogin(t.Context(), w.store, w.box, settings.Token{
			Media: "fake", AppID: "17", Login: "somebody else", AccessExpires: time.Now().Add(time.Hour),
			RefreshExpires: time.Now().Add(time.Hour),
		}, secret.NewText("access-of-another"), secret.NewText("refresh-of-another"))
		require.NoError(t, err)
		living := []*Keeper{w.keeper(t), w.keeper(t), w.keeper(t)}
		for _, k := range living {
			_, err := k.Login(t.Context(), w.id)
			require.NoError(t, err)
		}
		w.die(t, func(refresh string) {
			_, err := i.answer(refresh)
			require.NoError(t, err)
		})
		w.lapse(t)

		logins, errs := w.renewAll(t.Context(), living...)
		require.EqualValues(t, 2, w.platform.refreshes.Load(), "the dead process's call, and one for thirty subtasks")
		for _, k := range living {
			login, err := k.Login(t.Context(), other)
			require.NoError(t, err, "other logins continue")
			require.Equal(t, "access-of-another", login.Access.Reveal())
		}
		if !i.rotates {
			for n := range logins {
				require.NoError(t, errs[n])
				require.Equal(t, "access-3", logins[n].Access.Reveal())
			}
			require.Equal(t, settings.TokenOK, w.row(t).State)
			require.Zero(t, w.errorLines(), w.log.String())
			return
		}
		late := w.keeper(t)
		for range 3 {
			_, again := w.renewAll(t.Context(), append(living, late)...)
			for _, err := range append(errs, again...) {
				requireParked(t, err)
			}
		}
		_, err = w.keeper(t).Login(t.Context(), w.id)
		requireParked(t, err) // Redis does not return the dead token either.
		require.EqualValues(t, 2, w.platform.refreshes.Load(), "the platform is not called again")
		require.Equal(t, 1, w.errorLines(), "one alert: %s", w.log.String())
		refusals := 0.0
		for _, k := range living {
			refusals += testutil.ToFloat64(k.metrics.refreshes.WithLabelValues("fake", "refused"))
			require.InDelta(t, 1, testutil.ToFloat64(k.metrics.parked.WithLabelValues("fake")), 0)
		}
		require.InDelta(t, 1, refusals, 0)

		w.authorise(t, 9, time.Hour)
		for _, k := range append(living, late) {
			k.logins[w.id].heldUntil = time.Now()
			login, err := k.Login(t.Context(), w.id)
			require.NoError(t, err, "authorised again, it continues without an operator")
			require.Equal(t, "access-9", login.Access.Reveal())
			require.Zero(t, testutil.ToFloat64(k.metrics.parked.WithLabelValues("fake")))
		}
		require.EqualValues(t, 2, w.platform.refreshes.Load())
	})
}

func TestCrash_AfterTheStoreCostsNothing(t *testing.T) {
	t.Parallel()
	eachIssuer(t, func(t *testing.T, w *world, i *issuer) {
		t.Helper()
		w.redis, w.keys = redistest.New(t)
		living := []*Keeper{w.keeper(t), w.keeper(t)}
		_, err := living[0].Login(t.Context(), w.id) // Redis still has the old token.
		require.NoError(t, err)
		w.die(t, func(refresh string) {
			tokens, err := i.answer(refresh)
			require.NoError(t, err)
			next := Login{ID: w.id, Access: tokens.Access, Expires: time.Now().Add(time.Hour), Generation: 2}
			stored, err := w.keeper(t).keep(t.Context(), w.row(t), next, tokens, time.Now())
			require.NoError(t, err)
			require.True(t, stored)
		})
		logins, errs := w.renewAll(t.Context(), living...)
		for n := range logins {
			require.NoError(t, errs[n])
			require.Equal(t, "access-2", logins[n].Access.Reveal())
		}
		require.EqualValues(t, 1, w.platform.refreshes.Load(), "the dead process's call is the only one")
		require.Zero(t, w.errorLines())
	})
}

func TestPause_BeforeTheCallReleasesTheIntent(t *testing.T) {
	t.Parallel()
	w, _ := newIssued(t, true)
	claimed, err := w.store.ClaimRefresh(t.Context(), w.id, 1, "paused", intentLasts)
	require.NoError(t, err)
	require.True(t, claimed)
	k := w.keeper(t)
	_, err = k.refresh(t.Context(), w.row(t), intent{holder: "paused", since: clock.Mark().Add(-2 * intentMargin)})
	requireDeferred(t, err)
	require.Zero(t, w.platform.refreshes.Load(), "another process may be using the refresh token by now")
}

func TestPause_AfterTheAnswerUnparksWhatTheSuccessorParked(t *testing.T) {
	t.Parallel()
	w, i := newIssued(t, true)
	answered, goOn := make(chan struct{}), make(chan struct{})
	w.platform.answer = func(n int32, refresh string) (media.Tokens, error) {
		tokens, err := i.answer(refresh)
		if n == 1 {
			close(answered)
			<-goOn
		}
		return tokens, err
	}
	paused, successor := w.keeper(t), w.keeper(t)
	done := make(chan error)
	go func() {
		_, err := paused.Renew(t.Context(), w.id, 1, nil)
		done <- err
	}()
	<-answered
	w.lapse(t)
	_, err := successor.Renew(t.Context(), w.id, 1, nil)
	requireParked(t, err)

	close(goOn)
	require.NoError(t, <-done)
	require.Equal(t, settings.TokenOK, w.row(t).State, "the paused process held the valid pair")
	successor.logins[w.id].heldUntil = time.Now()
	login, err := successor.Login(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, "access-2", login.Access.Reveal())
	require.EqualValues(t, 2, w.platform.refreshes.Load())
}

func TestPause_AnAnswerIsStoredAfterItsFlightTimedOut(t *testing.T) {
	t.Parallel()
	w, i := newIssued(t, true)
	claimed, err := w.store.ClaimRefresh(t.Context(), w.id, 1, "slow", intentLasts)
	require.NoError(t, err)
	require.True(t, claimed)
	flight, end := context.WithCancel(t.Context())
	w.platform.answer = func(_ int32, refresh string) (media.Tokens, error) {
		end()
		return i.answer(refresh)
	}
	login, err := w.keeper(t).refresh(flight, w.row(t), intent{holder: "slow", since: clock.Mark()})
	require.NoError(t, err)
	require.Equal(t, "access-2", login.Access.Reveal())
	require.EqualValues(t, 2, w.row(t).Generation)
}

func TestStop_LeavesAnAnswerSomeTime(t *testing.T) {
	t.Parallel()
	w, _ := newIssued(t, true)
	k := w.keeper(t)
	ctx, cancel := k.patience(t.Context())
	defer cancel()
	k.Hold()
	k.Hold()
	require.NoError(t, ctx.Err(), "a stop does not cancel a call at once")
	require.True(t, k.isClosed())
}

func TestRefused_AnUnseenCommitStillAlertsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	if w.store.Config.Dialect() != sqldb.SQLiteDialect {
		t.Skip("the fault is made with a trigger of SQLite")
	}
	w.platform.answer = func(int32, string) (media.Tokens, error) {
		return media.Tokens{}, &media.Error{Class: media.Auth, Message: "dead"}
	}
	// FAIL returns an error and keeps the statement's changes.
	require.NoError(t, w.store.Config.Writer(t.Context()).Exec(
		"CREATE TRIGGER unseen AFTER UPDATE OF state ON media_token WHEN NEW.state = 'reauthorise' BEGIN SELECT "+
			"RAISE(FAIL, 'connection lost'); END").Error)
	k := w.keeper(t)
	_, err := k.Renew(t.Context(), w.id, 1, nil)
	requireParked(t, err)
	require.Equal(t, settings.TokenReauthorise, w.row(t).State)
	require.Equal(t, 1, w.errorLines(), w.log.String())
	require.InDelta(t, 1, testutil.ToFloat64(k.metrics.refreshes.WithLabelValues("fake", "refused")), 0)
}

func TestRedis_AHangingOneIsCalledOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	listener, err := net.Listen("tcp", "127.0.0.1:0") // The kernel accepts connections, and no answer ever comes.
	require.NoError(t, err)
	defer listener.Close()
	cfg := redis.DefaultConfig()
	cfg.Addrs = []string{listener.Addr().String()}
	w.redis, err = redis.Open(cfg)
	require.NoError(t, err)
	defer w.redis.Close()
	w.keys = redis.NewKeys("test")
	k := w.keeper(t)
	for range 20 {
		k.logins = map[int64]*entry{} // This process has not used the login yet.
		_, err := k.Login(t.Context(), w.id)
		require.NoError(t, err)
	}
	require.Less(t, testutil.ToFloat64(k.metrics.redisErrors.WithLabelValues("fake")), 10.0,
		"it costs its timeout once in a while, not twice a login")
}

func TestFailed_ManyLoginsOfOnePlatformMakeOneLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	w.platform.answer = func(int32, string) (media.Tokens, error) {
		return media.Tokens{}, &media.Error{Class: media.Transient, Message: "busy"}
	}
	k := w.keeper(t)
	for n := range 5 {
		id, err := PutLogin(t.Context(), w.store, w.box, settings.Token{
			Media: "fake", AppID: "17", Login: fmt.Sprint(n), AccessExpires: time.Now().Add(time.Hour),
			RefreshExpires: time.Now().Add(time.Hour),
		}, pair(1).Access, pair(1).Refresh)
		require.NoError(t, err)
		_, err = k.Renew(t.Context(), id, 1, nil)
		requireDeferred(t, err)
	}
	require.Equal(t, 1, strings.Count(w.log.String(), "token refresh failed"), w.log.String())
	require.InDelta(t, 5, testutil.ToFloat64(k.metrics.refreshes.WithLabelValues("fake", "failed")), 0)
}
