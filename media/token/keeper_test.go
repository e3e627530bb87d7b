package token

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adsync/base/clock"
	"adsync/base/redis"
	"adsync/base/redis/redistest"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/media"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// platform counts refreshes and answers them with a function of the test.
type platform struct {
	media.Platform
	refreshes atomic.Int32
	answer    func(n int32, refresh string) (media.Tokens, error)
}

func (*platform) Name() string { return "fake" }

func (p *platform) Refresh(_ context.Context, _ media.Transport, app media.App, refresh string) (media.Tokens, error) {
	if app.Secret.Reveal() != "app-secret" {
		return media.Tokens{}, errors.New("wrong secret")
	}
	return p.answer(p.refreshes.Add(1), refresh)
}

// rotate returns a new pair, as a platform does whose refresh kills the old pair.
func rotate(n int32, refresh string) (media.Tokens, error) {
	if refresh != fmt.Sprintf("refresh-%d", n) {
		return media.Tokens{}, &media.Error{Class: media.Auth, Code: "40107", Message: "used before: " + refresh}
	}
	return pair(n + 1), nil
}

func pair(n int32) media.Tokens {
	return media.Tokens{
		Access: secret.NewText(fmt.Sprintf("access-%d", n)), Refresh: secret.NewText(fmt.Sprintf("refresh-%d", n)),
		AccessExpires: 24 * time.Hour, RefreshExpires: 30 * 24 * time.Hour,
	}
}

// world is a table with one login and what the keepers share.
type world struct {
	platform *platform
	store    *store.Store
	box      *secret.Box
	redis    goredis.UniversalClient
	keys     redis.Keys
	log      *buffer
	id       int64
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newWorld(t *testing.T, life time.Duration) *world {
	t.Helper()
	box, err := secret.NewBox(secret.NewKey("k1"))
	require.NoError(t, err)
	w := &world{platform: &platform{answer: rotate}, store: storetest.New(t), box: box, log: &buffer{}}
	require.NoError(t, PutApp(t.Context(), w.store, box, "fake", "17", secret.NewText("app-secret")))
	w.authorise(t, 1, life)
	return w
}

// authorise writes the pair of tokens number n.
func (w *world) authorise(t *testing.T, n int32, life time.Duration) {
	t.Helper()
	now := time.Now()
	var err error
	w.id, err = PutLogin(t.Context(), w.store, w.box, settings.Token{
		Media: "fake", AppID: "17", Login: "somebody", AccessExpires: now.Add(life),
		RefreshExpires: now.Add(30 * 24 * time.Hour),
	}, pair(n).Access, pair(n).Refresh)
	require.NoError(t, err)
}

// keeper returns the keeper of another process.
func (w *world) keeper(t *testing.T) *Keeper {
	t.Helper()
	k := New(Options{
		Platform: w.platform, Store: w.store, Box: w.box, Clock: clock.System{}, Redis: w.redis, Keys: w.keys,
		Logger: slog.New(slog.NewTextHandler(w.log, nil)), Registerer: prometheus.NewRegistry(),
	})
	k.redisTimeout = time.Minute // A busy machine must not look like a Redis that is away.
	t.Cleanup(k.Close)
	return k
}

func (w *world) row(t *testing.T) settings.Token {
	t.Helper()
	row, err := w.store.Token(t.Context(), w.id)
	require.NoError(t, err)
	return row
}

// requireDeferred checks that an error defers, and returns the time.
func requireDeferred(t *testing.T, err error) time.Duration {
	t.Helper()
	deferred, ok := errors.AsType[*media.DeferError](err)
	require.True(t, ok, "%v", err)
	return deferred.After
}

// requireParked checks that an error makes a subtask wait for a person.
func requireParked(t *testing.T, err error) {
	t.Helper()
	_, ok := errors.AsType[*parkedError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, parkedWait, requireDeferred(t, err))
}

// requireAuth checks that an error is of class auth, and returns its RetryAfter.
func requireAuth(t *testing.T, err error) time.Duration {
	t.Helper()
	e, ok := errors.AsType[*media.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, media.Auth, e.Class)
	return e.RetryAfter
}

func TestLogin_ReturnsTheTokenOfTheTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	login, err := w.keeper(t).Login(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, "access-1", login.Access.Reveal())
	require.Equal(t, "17", login.App.ID)
	require.EqualValues(t, 1, login.Generation)
	require.Zero(t, w.platform.refreshes.Load())
	row := w.row(t)
	require.NotContains(t, row.Access+row.Refresh, "access-1")
	require.NotContains(t, row.Access+row.Refresh, "refresh-1")
}

func TestRenew_OneOfManyProcessesCallsThePlatform(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	keepers := []*Keeper{w.keeper(t), w.keeper(t), w.keeper(t)}
	type result struct {
		login Login
		err   error
	}
	results := make([]result, 30)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			login, err := keepers[i%3].Renew(t.Context(), w.id, 1, nil)
			results[i] = result{login, err}
		})
	}
	all.Wait()
	for _, r := range results {
		require.NoError(t, r.err)
		require.Equal(t, "access-2", r.login.Access.Reveal())
		require.EqualValues(t, 2, r.login.Generation)
	}
	require.EqualValues(t, 1, w.platform.refreshes.Load())
	row := w.row(t)
	require.EqualValues(t, 2, row.Generation)
	require.Zero(t, row.IntentTries)
	require.Greater(t, time.Until(row.AccessExpires), 23*time.Hour)
}

func TestRenew_KeepsTheRefreshTokenIfTheAnswerHasNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	w.platform.answer = func(n int32, refresh string) (media.Tokens, error) {
		require.Equal(t, "refresh-1", refresh)
		tokens := pair(n + 1)
		tokens.Refresh, tokens.RefreshExpires = secret.Text{}, 0
		return tokens, nil
	}
	k := w.keeper(t)
	before := w.row(t)
	for generation := range int64(3) {
		_, err := k.Renew(t.Context(), w.id, generation+1, nil)
		require.NoError(t, err)
	}
	require.EqualValues(t, 4, w.row(t).Generation)
	require.Equal(t, before.Refresh, w.row(t).Refresh)
	require.Equal(t, before.RefreshExpires, w.row(t).RefreshExpires)
}

func TestLogin_RefreshesATokenThatIsAboutToEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, renewBefore/2)
	login, err := w.keeper(t).Login(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, "access-2", login.Access.Reveal())
}

func TestLogin_RefreshesOnceIfTheAnswerHasNoLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.platform.answer = func(n int32, _ string) (media.Tokens, error) {
		return media.Tokens{Access: pair(n + 1).Access, Refresh: pair(n + 1).Refresh}, nil
	}
	k := w.keeper(t)
	for range 3 {
		_, err := k.Login(t.Context(), w.id)
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, w.platform.refreshes.Load())
}

func TestLogin_UsesTheOldTokenWhenARefreshFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, renewBefore/2)
	w.platform.answer = func(int32, string) (media.Tokens, error) {
		return media.Tokens{}, &media.Error{Class: media.Transient, Message: "busy"}
	}
	k := w.keeper(t)
	for range 3 {
		login, err := k.Login(t.Context(), w.id)
		require.NoError(t, err)
		require.Equal(t, "access-1", login.Access.Reveal())
	}
	require.EqualValues(t, 1, w.platform.refreshes.Load(), "a failed refresh rests")
}

func TestRenew_ParksALoginWhoseRefreshTokenIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	w.platform.answer = func(_ int32, refresh string) (media.Tokens, error) {
		return media.Tokens{}, &media.Error{Class: media.Auth, Code: "40107", Message: "no such token: " + refresh}
	}
	first, second := w.keeper(t), w.keeper(t)
	for _, k := range []*Keeper{first, second, first} {
		_, err := k.Renew(t.Context(), w.id, 1, nil)
		requireParked(t, err)
		_, err = k.Login(t.Context(), w.id)
		requireParked(t, err)
		require.NotContains(t, err.Error(), "refresh-1")
	}
	require.EqualValues(t, 1, w.platform.refreshes.Load(), "the platform is not called again")
	require.Equal(t, settings.TokenReauthorise, w.row(t).State)
	require.NotContains(t, w.row(t).StateReason, "refresh-1")
	require.Equal(t, 1, strings.Count(w.log.String(), "level=ERROR"), w.log.String())
	require.NotContains(t, w.log.String(), "refresh-1")
	require.InDelta(t, 1, testutil.ToFloat64(first.metrics.refreshes.WithLabelValues("fake", "refused")), 0)

	w.authorise(t, 5, time.Hour)
	_, err := first.Login(t.Context(), w.id)
	requireParked(t, err)
	first.logins[w.id].heldUntil = time.Now()
	login, err := first.Login(t.Context(), w.id)
	require.NoError(t, err, "a minute later the new authorisation is used")
	require.Equal(t, "access-5", login.Access.Reveal())
}

func TestRenew_ParksALoginWithoutARefreshTokenWithThePlatformsWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	var err error
	w.id, err = PutAccess(t.Context(), w.store, w.box, "fake", "by hand", "", secret.NewText("access-9"))
	require.NoError(t, err)
	k := w.keeper(t)
	login, err := k.Login(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, "access-9", login.Access.Reveal())
	require.NoError(t, k.refreshWithin(t.Context(), w.id, WithinDefault), "its end is unknown")

	why := &media.Error{Class: media.Auth, Expired: true, Code: "11002", Message: "the access token is invalid"}
	_, err = k.Renew(t.Context(), w.id, login.Generation, why)
	requireParked(t, err)
	require.Zero(t, w.platform.refreshes.Load(), "there is no refresh token to call with")
	row := w.row(t)
	require.Equal(t, settings.TokenReauthorise, row.State)
	require.Equal(t, "auth error 11002: the access token is invalid", row.StateReason)
	require.Equal(t, 1, strings.Count(w.log.String(), "level=ERROR"), w.log.String())
	require.NotContains(t, w.log.String()+fmt.Sprint(row), "access-9")

	_, err = PutAccess(t.Context(), w.store, w.box, "fake", "by hand", "", secret.NewText("access-10"))
	require.NoError(t, err)
	login, err = w.keeper(t).Login(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, "access-10", login.Access.Reveal())
}

func TestRenew_RetriesAfterACrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	// The process died before its call, and its intent has expired.
	claimed, err := w.store.ClaimRefresh(t.Context(), w.id, 1, "dead", -time.Second)
	require.NoError(t, err)
	require.True(t, claimed)
	login, err := w.keeper(t).Renew(t.Context(), w.id, 1, nil)
	require.NoError(t, err)
	require.Equal(t, "access-2", login.Access.Reveal())
}

func TestRenew_WaitsForAnotherProcessAtNoAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	claimed, err := w.store.ClaimRefresh(t.Context(), w.id, 1, "other", time.Minute)
	require.NoError(t, err)
	require.True(t, claimed)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	k := w.keeper(t)
	_, err = k.Renew(ctx, w.id, 1, nil)
	requireDeferred(t, err)

	sealedAccess, err := w.box.Seal("access-9", accessPlace(w.id))
	require.NoError(t, err)
	_, err = w.store.StoreTokens(t.Context(), w.id, 1,
		settings.Token{Access: sealedAccess, AccessExpires: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	login, err := k.Renew(t.Context(), w.id, 1, nil)
	require.NoError(t, err)
	require.Equal(t, "access-9", login.Access.Reveal())
	require.Zero(t, w.platform.refreshes.Load())
}

func TestClose_WaitsForARefreshWhoseCallerIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	asked, answer := make(chan struct{}), make(chan struct{})
	w.platform.answer = func(n int32, refresh string) (media.Tokens, error) {
		close(asked)
		<-answer
		return rotate(n, refresh)
	}
	k := w.keeper(t)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := k.Renew(ctx, w.id, 1, nil)
		gone <- err
	}()
	<-asked
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)

	closed := make(chan struct{})
	go func() {
		k.Close()
		close(closed)
	}()
	require.Eventually(t, func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.closed
	}, 10*time.Second, 5*time.Millisecond)
	select {
	case <-closed:
		require.Fail(t, "Close did not wait for the refresh")
	default:
	}
	close(answer)
	<-closed
	require.EqualValues(t, 2, w.row(t).Generation, "the new pair is in the table")
	k.Close()
	_, err := k.Renew(t.Context(), w.id, 2, nil)
	requireDeferred(t, err)
}

func TestRenew_WaitsForATableThatRefusesWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	if w.store.Config.Dialect() != sqldb.SQLiteDialect {
		t.Skip("the fault is made with a trigger of SQLite")
	}
	require.NoError(t,
		w.store.Config.Writer(t.Context()).Exec(
			"CREATE TRIGGER stuck BEFORE UPDATE OF access_token ON media_token "+
				"BEGIN SELECT RAISE(FAIL, 'disk full'); END").Error)
	w.redis, w.keys = redistest.New(t)
	k := w.keeper(t)
	renewed := make(chan error)
	go func() {
		_, err := k.Renew(t.Context(), w.id, 1, nil)
		renewed <- err
	}()
	require.Eventually(t, func() bool { return strings.Contains(w.log.String(), "cannot be stored") }, 10*time.Second,
		5*time.Millisecond)
	login, known := k.shared(t.Context(), w.id)
	require.False(t, known && login.Generation > 1, "a pair that is not in the table is not used")
	k.mu.Lock()
	require.LessOrEqual(t, k.logins[w.id].login.Generation, int64(1))
	k.mu.Unlock()
	require.NoError(t, w.store.Config.Writer(t.Context()).Exec("DROP TRIGGER stuck").Error)
	require.NoError(t, <-renewed)
	require.EqualValues(t, 2, w.row(t).Generation)
	require.EqualValues(t, 1, w.platform.refreshes.Load())
	require.Equal(t, 1, strings.Count(w.log.String(), "cannot be stored"), "one line, not one a try")
}

func TestRedis_SavesTheQueryAndIsOptional(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	w.redis, w.keys = redistest.New(t)
	_, err := w.keeper(t).Renew(t.Context(), w.id, 1, nil)
	require.NoError(t, err)
	value, err := w.redis.Get(t.Context(), w.keys.Of("fake", "token", fmt.Sprint(w.id))).Result()
	require.NoError(t, err)
	require.NotContains(t, value, "access-2", "sealed in Redis too")

	require.NoError(t, w.store.Config.Writer(t.Context()).Exec("UPDATE media_token SET access_token = 'unreadable'").Error)
	login, err := w.keeper(t).Login(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, "access-2", login.Access.Reveal())
	login, err = w.keeper(t).Renew(t.Context(), w.id, 1, nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, login.Generation)

	w.authorise(t, 7, time.Hour)
	require.NoError(t, w.redis.Close())
	k := w.keeper(t)
	login, err = k.Login(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, "access-7", login.Access.Reveal())
	require.Positive(t, testutil.ToFloat64(k.metrics.redisErrors.WithLabelValues("fake")))
}

func TestRenew_TakesALowerGenerationFromTheTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	w.redis, w.keys = redistest.New(t)
	k := w.keeper(t)
	// Redis still holds a login of an earlier database.
	k.share(t.Context(), Login{ID: w.id, App: media.App{ID: "17"}, Access: secret.NewText("of-old"),
		Expires: time.Now().Add(time.Hour), Generation: 40})
	login, err := k.Login(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, "of-old", login.Access.Reveal())
	login, err = k.Renew(t.Context(), w.id, login.Generation, nil)
	require.NoError(t, err)
	require.Equal(t, "access-1", login.Access.Reveal())
	require.Zero(t, w.platform.refreshes.Load())
	login, err = w.keeper(t).Login(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, "access-1", login.Access.Reveal(), "Redis holds it now")
	login, err = k.Login(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, "access-1", login.Access.Reveal(), "memory too")
}

func TestRefused_HoldsTheLoginUntilANewerToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	k := w.keeper(t)
	_, err := k.Login(t.Context(), w.id)
	require.NoError(t, err)
	k.Refused(w.id, 7, &media.Error{Class: media.Auth})
	_, err = k.Login(t.Context(), w.id)
	require.NoError(t, err, "a refusal of another generation does not count")
	k.Refused(w.id, 1, &media.Error{Class: media.Auth, Message: "revoked"})
	_, err = k.Login(t.Context(), w.id)
	require.Positive(t, requireAuth(t, err))
	k.logins[w.id].heldUntil = time.Now()
	_, err = k.Renew(t.Context(), w.id, 1, nil)
	require.NoError(t, err)
	_, err = k.Login(t.Context(), w.id)
	require.NoError(t, err)
}

func TestLogin_NamesALoginOfAnotherMedia(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Hour)
	require.NoError(t, w.store.Config.Writer(t.Context()).Exec("UPDATE media_token SET media = 'other'").Error)
	_, err := w.keeper(t).Login(t.Context(), w.id)
	require.ErrorContains(t, err, "belongs to other, not to fake")
}
