package token

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"adsync/base/clock"
	"adsync/base/failpoint"
	"adsync/base/secret"
	"adsync/base/store/settings"
	"adsync/media"
)

// renew returns a token newer than that of a generation: one that another process has stored, or a new one.
func (k *Keeper) renew(ctx context.Context, id, generation int64, why *media.Error) (Login, error) {
	if login, ok := k.shared(ctx, id); ok && login.Generation > generation {
		k.remember(login)
		return login, nil
	}
	patience := clock.Mark().Add(intentPatience)
	for {
		login, row, err := k.read(ctx, id)
		if err != nil {
			return Login{}, err
		}
		if login.Generation != generation {
			k.replace(login)
			k.share(ctx, login)
			return login, nil
		}
		own := intent{holder: uuid.NewString(), since: clock.Mark()}
		mine, err := k.Store.ClaimRefresh(ctx, id, generation, own.holder, intentLasts)
		if err != nil {
			return Login{}, err
		}
		switch {
		case mine && row.Refresh == "":
			return Login{}, k.failed(ctx, row, own.holder, unrenewable(why))
		case mine:
			return k.refresh(ctx, row, own)
		}
		left, err := k.Store.IntentLeft(ctx, row)
		if err != nil {
			return Login{}, err
		}
		switch resting := row.IntentHolder == ""; {
		case resting && left > 0:
			return Login{}, &media.DeferError{After: left,
				Reason: fmt.Sprintf("the refresh of login %d rests after a failed try", id)}
		case clock.Mark().After(patience):
			// The other process may finish long before its intent ends. If it is dead, the subtasks of thousands of accounts
			// must not check every two seconds until then.
			return Login{}, &media.DeferError{After: max(left/3, 2*time.Second),
				Reason: fmt.Sprintf("another process is refreshing the token of login %d", id)}
		}
		if err := clock.Sleep(ctx, intentPoll); err != nil {
			return Login{}, err
		}
	}
}

// unrenewable returns the reason for parking a login without a refresh token: the platform's refusal of its access
// token, or that the token ends.
func unrenewable(why *media.Error) *media.Error {
	if why == nil {
		return &media.Error{Class: media.Auth, Message: "its access token ends, and it has no refresh token"}
	}
	end := *why
	end.Class = media.Auth
	return &end
}

// intent is this process's exclusive right to refresh a login.
type intent struct {
	holder string
	since  time.Time // a mark taken before the claim
}

// errLate reports that too much of an intent's time had passed before the call.
var errLate = errors.New("the process or the database was paused before the call to the platform")

// refresh requests new tokens as the holder of the intent. It always tries the refresh token of the table. If an
// earlier holder had used that token up, the platform refuses it now, and the login is parked.
func (k *Keeper) refresh(ctx context.Context, row settings.Token, own intent) (Login, error) {
	asked := k.Clock.Now()
	tokens, err := k.ask(ctx, row, own)
	// The answer must not be lost if the flight takes long.
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		return Login{}, k.failed(ctx, row, own.holder, err)
	}
	next := Login{
		ID: row.ID, App: media.App{ID: row.AppID}, Who: who(row), Access: tokens.Access,
		Expires: asked.Add(max(Life(tokens.AccessExpires), lifeMin)), Generation: row.Generation + 1,
	}
	if err := usablePair(tokens.Access, tokens.Refresh); err != nil {
		return Login{}, k.unkept(ctx, row, own.holder, err)
	}
	stored, err := k.keep(ctx, row, next, tokens, asked)
	if IsUnusable(err) {
		return Login{}, k.unkept(ctx, row, own.holder, err)
	}
	if err != nil {
		return Login{}, err
	}
	failpoint.Hit("token.stored")
	if !stored {
		// Another holder has stored a newer pair.
		login, _, err := k.read(ctx, row.ID)
		return login, err
	}
	k.metrics.refreshes.WithLabelValues(k.Platform.Name(), "renewed").Inc()
	k.remember(next)
	k.share(ctx, next)
	return next, nil
}

// ask sends the refresh. Its error holds no secrets.
func (k *Keeper) ask(ctx context.Context, row settings.Token, own intent) (media.Tokens, error) {
	refresh, err := k.Box.Open(row.Refresh, refreshPlace(row.ID))
	if err != nil {
		return media.Tokens{}, fmt.Errorf("open the refresh token of login %d: %w", row.ID, err)
	}
	app, err := OpenApp(ctx, k.Store, k.Box, row.Media, row.AppID)
	if err != nil {
		return media.Tokens{}, err
	}
	ctx, cancel := k.patience(ctx)
	defer cancel()
	failpoint.Hit("token.before_call")
	if clock.Since(own.since) > intentMargin {
		return media.Tokens{}, errLate
	}
	tokens, err := k.Platform.Refresh(media.WithLogin(ctx, who(row)), k.Transport, app, refresh)
	if err == nil {
		failpoint.Hit("token.answered")
	}
	if e, ok := errors.AsType[*media.Error](err); ok {
		e.Redact(app.Secret, secret.NewText(refresh))
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = &media.Error{Class: media.Transient, Message: fmt.Sprintf("no answer to a token refresh within %s",
			answerTimeout)}
		if k.isClosed() {
			err = &media.Error{Class: media.Transient, Message: "the process stopped before the answer to a token refresh came"}
		}
	}
	return tokens, err
}

// patience returns a context that bounds the wait for an answer.
func (k *Keeper) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	go func() {
		select {
		case <-k.held:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(stopPatience):
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (k *Keeper) isClosed() bool {
	select {
	case <-k.held:
		return true
	default:
		return false
	}
}

// keepPauseMax is the longest pause between tries to store a new pair: until it is stored, the login makes no calls.
const keepPauseMax = time.Second

// keep writes the new pair to the table before it is used, and reports whether it did; it does not when the table has
// a newer one. The pair exists nowhere else, so keep retries as long as this process lives while the database is
// away. It returns an error when the database refuses the pair, since a retry would be refused too.
func (k *Keeper) keep(ctx context.Context, row settings.Token, login Login, tokens media.Tokens, asked time.Time) (bool,
	error) {
	next := settings.Token{AccessExpires: login.Expires}
	var err error
	if next.Access, err = k.Box.Seal(tokens.Access.Reveal(), accessPlace(row.ID)); err != nil {
		return false, err
	}
	if !tokens.Refresh.IsZero() {
		if next.Refresh, err = k.Box.Seal(tokens.Refresh.Reveal(), refreshPlace(row.ID)); err != nil {
			return false, err
		}
	}
	if tokens.RefreshExpires > 0 {
		next.RefreshExpires = asked.Add(Life(tokens.RefreshExpires))
	}
	failing := false
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, keepPauseMax) {
		stored, err := k.store(ctx, row, next)
		if err == nil {
			if failing {
				k.Logger.Info("new tokens stored", "media", row.Media, "login_id", row.ID)
			}
			return stored, nil
		}
		if IsUnusable(err) {
			return false, err
		}
		if !failing {
			k.Logger.Error("new tokens cannot be stored, retrying", "media", row.Media,
				"login_id", row.ID, "err", err)
		}
		failing = true
		<-time.After(pause)
	}
}

func (k *Keeper) store(ctx context.Context, row settings.Token, next settings.Token) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	// After a try whose commit was not seen it finds the pair in the table and returns false, which is right too.
	return k.Store.StoreTokens(ctx, row.ID, row.Generation, next)
}

// lifeMax caps the life of a token. No platform's is as long, and dates far in the future do not fit the tables.
const lifeMax = 10 * 365 * 24 * time.Hour

// Life limits a token's life, as a platform reports it, to 0 up to lifeMax.
func Life(reported time.Duration) time.Duration { return min(max(reported, 0), lifeMax) }

// failed handles a failed refresh. A refused refresh token parks the login, with one alert. After any other error the
// refresh rests, longer with each try, and waiting subtasks continue to wait, at no attempt.
func (k *Keeper) failed(ctx context.Context, row settings.Token, holder string, err error) error {
	e, ok := errors.AsType[*media.Error](err)
	if ok && e.Class == media.Auth {
		return k.refused(ctx, row, holder, e)
	}
	k.metrics.refreshes.WithLabelValues(row.Media, "failed").Inc()
	pause := min(time.Second<<min(row.IntentTries, 10), pauseMax)
	if ok {
		pause = max(pause, min(e.RetryAfter, cmp.Or(k.PauseMax, media.PauseMaxDefault)))
	}
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	if err := k.Store.PostponeRefresh(ctx, row.ID, holder, pause, err.Error()); err != nil {
		// The intent expires.
		k.causes.Report(slog.LevelWarn, "postpone", "cannot release the intent of a failed refresh", err, "media", row.Media,
			"login_id", row.ID)
	}
	k.causes.Report(slog.LevelWarn, "refresh", "token refresh failed", err,
		"media", row.Media, "login_id", row.ID, "tries", row.IntentTries+1, "next_in", pause.String())
	return &media.DeferError{After: pause, Reason: fmt.Sprintf("the refresh of login %d failed: %s", row.ID, err)}
}

// refused parks a login whose refresh token the platform refuses.
func (k *Keeper) refused(ctx context.Context, row settings.Token, holder string, e *media.Error) error {
	return k.parkFor(ctx, row, holder, e, "refused", func(attrs ...any) {
		if row.Refresh == "" {
			k.Logger.Error("login needs a new access token: it has no refresh token", attrs...)
		} else {
			k.Logger.Error("login must be authorised again: the platform refused its refresh token", attrs...)
		}
	})
}

// unkept parks a login whose new tokens cannot be kept: the platform has killed the old pair, or would issue such
// tokens again.
func (k *Keeper) unkept(ctx context.Context, row settings.Token, holder string, why error) error {
	e := &media.Error{Class: media.Auth, Message: "the platform renewed its tokens, and they cannot be kept: " +
		why.Error()}
	return k.parkFor(ctx, row, holder, e, "unusable", func(attrs ...any) {
		k.Logger.Error("login must be authorised again: its new tokens cannot be kept", attrs...)
	})
}

// parkFor parks a login, counts the outcome of its refresh, and calls log if this call parked it.
func (k *Keeper) parkFor(ctx context.Context, row settings.Token, holder string, e *media.Error, outcome string,
	log func(attrs ...any)) error {
	parked, err := k.parkRow(ctx, row, holder, e.Error())
	if err != nil {
		// The intent expires, and then the platform is called again.
		k.causes.Report(slog.LevelError, "park", "cannot park a login that needs a person", err, "media", row.Media,
			"login_id", row.ID)
		return &media.DeferError{After: intentLasts, Reason: fmt.Sprintf("login %d: %s", row.ID, e)}
	}
	if !parked {
		// A newer pair was stored meanwhile: by a person, or by a holder that seemed dead.
		return &media.DeferError{After: time.Second, Reason: fmt.Sprintf("login %d has just been changed", row.ID)}
	}
	if err := k.route(ctx, row.ID); err != nil {
		// The next token_refresh of another login that reaches the accounts moves them.
		k.causes.Report(slog.LevelWarn, "route", "cannot move the accounts of a parked login", err, "media",
			row.Media, "login_id", row.ID)
	}
	k.metrics.refreshes.WithLabelValues(row.Media, outcome).Inc()
	log("media", row.Media, "login_id", row.ID, "login", row.Login, "tries", row.IntentTries+1, "err", e)
	return k.park(ctx, row.ID, e.Error())
}

// route moves the accounts of a parked login to other logins that reach them.
func (k *Keeper) route(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	return k.Store.RouteLogin(ctx, id)
}

// parkRow marks the row. If an earlier try committed without being seen, the row already has the mark, which only the
// holder can have written.
func (k *Keeper) parkRow(ctx context.Context, row settings.Token, holder, reason string) (parked bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	for try := 1; ; try++ {
		unseen := err != nil
		parked, err = k.Store.ParkLogin(ctx, row.ID, row.Generation, holder, reason)
		if err == nil && !parked && unseen {
			var now settings.Token
			now, err = k.Store.Token(ctx, row.ID)
			parked = now.State == settings.TokenReauthorise && now.Generation == row.Generation
		}
		if err == nil || try == tableTries || ctx.Err() != nil {
			return parked, err
		}
		<-time.After(time.Duration(try) * 200 * time.Millisecond)
	}
}
