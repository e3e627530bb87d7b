package token

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"adsync/base/secret"
	"adsync/base/store"
	"adsync/media"

	"adsync/base/clock"
)

// renew brings another token than that of a generation: the one that somebody else has fetched, or a new one.
func (k *Keeper) renew(ctx context.Context, id, generation int64) (Login, error) {
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
		holder := uuid.NewString()
		mine, err := k.Store.ClaimRefresh(ctx, id, generation, holder, intentLasts)
		if err != nil {
			return Login{}, err
		}
		if mine {
			return k.refresh(ctx, row, holder)
		}
		left, err := k.Store.IntentLeft(ctx, row)
		if err != nil {
			return Login{}, err
		}
		switch resting := row.IntentHolder == ""; {
		case resting && left > 0:
			return Login{}, &media.DeferError{After: left, Reason: fmt.Sprintf("the refresh of login %d rests after a failed try", id)}
		case clock.Mark().After(patience):
			// The other process may be done long before its intent ends.
			return Login{}, &media.DeferError{After: 2 * time.Second, Reason: fmt.Sprintf("another process is refreshing the token of login %d", id)}
		}
		select {
		case <-time.After(intentPoll):
		case <-ctx.Done():
			return Login{}, ctx.Err()
		}
	}
}

// refresh asks the platform for new tokens, as the holder of the intent. Whatever happened to an earlier holder, the
// refresh token in the table is tried: if that one had used it up, the platform refuses it now, and the login is parked.
func (k *Keeper) refresh(ctx context.Context, row store.Token, holder string) (Login, error) {
	asked := k.Clock.Now()
	tokens, err := k.ask(ctx, row)
	if err != nil {
		return Login{}, k.failed(ctx, row, holder, err)
	}
	next := Login{
		ID: row.ID, App: media.App{ID: row.AppID}, Access: tokens.Access,
		Expires: asked.Add(max(tokens.AccessExpires, lifeMin)), Generation: row.Generation + 1,
	}
	stored, err := k.keep(ctx, row, next, tokens, asked)
	if err != nil {
		k.metrics.refreshes.WithLabelValues(k.Platform.Name(), "lost").Inc()
		k.Logger.Error("new tokens could not be stored", "media", k.Platform.Name(), "login_id", row.ID, "err", err)
		return Login{}, err
	}
	if !stored {
		// Another holder was faster, and its pair is in the table.
		login, _, err := k.read(ctx, row.ID)
		return login, err
	}
	k.metrics.refreshes.WithLabelValues(k.Platform.Name(), "renewed").Inc()
	k.remember(next)
	k.share(ctx, next)
	return next, nil
}

// ask sends the refresh. Its error is free of secrets.
func (k *Keeper) ask(ctx context.Context, row store.Token) (media.Tokens, error) {
	refresh, err := k.Box.Open(row.Refresh, refreshPlace(row.ID))
	if err != nil {
		return media.Tokens{}, fmt.Errorf("open the refresh token of login %d: %w", row.ID, err)
	}
	app, err := k.Store.App(ctx, row.Media, row.AppID)
	if err != nil {
		return media.Tokens{}, err
	}
	if !app.Enabled {
		return media.Tokens{}, &media.Error{Class: media.Invalid, Message: fmt.Sprintf("app %s of %s is disabled", row.AppID, row.Media)}
	}
	appSecret, err := k.Box.Open(app.Secret, appPlace(row.Media, row.AppID))
	if err != nil {
		return media.Tokens{}, fmt.Errorf("open the secret of app %s of %s: %w", row.AppID, row.Media, err)
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	secrets := media.App{ID: row.AppID, Secret: secret.NewText(appSecret)}
	tokens, err := k.Platform.Refresh(ctx, k.Transport, secrets, refresh)
	if e, ok := errors.AsType[*media.Error](err); ok {
		e.Redact(secrets.Secret, secret.NewText(refresh))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		// Ours, and not that of the subtasks that wait for the token.
		err = &media.Error{Class: media.Transient, Message: fmt.Sprintf("no answer to a token refresh within %s", refreshTimeout)}
	}
	return tokens, err
}

// keep writes the new pair to the table before anybody uses it. The pair exists nowhere else, so a database that is
// away for a moment is waited for.
func (k *Keeper) keep(ctx context.Context, row store.Token, login Login, tokens media.Tokens, asked time.Time) (bool, error) {
	next := store.Token{AccessExpires: login.Expires}
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
		next.RefreshExpires = asked.Add(tokens.RefreshExpires)
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause *= 2 {
		stored, err := k.Store.StoreTokens(ctx, row.ID, row.Generation, next)
		if err == nil {
			return stored, nil
		}
		k.Logger.Warn("storing new tokens failed, trying again", "media", row.Media, "login_id", row.ID, "err", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false, err
		}
	}
}

// failed decides what a failed refresh means: a refused refresh token parks the login, with one alert; anything else
// lets it rest, longer with each try.
func (k *Keeper) failed(ctx context.Context, row store.Token, holder string, err error) error {
	e, ok := errors.AsType[*media.Error](err)
	if ok && e.Class == media.Auth {
		parked, parkErr := k.Store.ParkLogin(ctx, row.ID, row.Generation, holder, e.Error())
		if parkErr != nil {
			return errors.Join(err, parkErr)
		}
		if !parked {
			// A newer pair came meanwhile: from a person, or from a holder that was thought dead.
			return &media.DeferError{After: time.Second, Reason: fmt.Sprintf("login %d has just been changed", row.ID)}
		}
		k.metrics.refreshes.WithLabelValues(row.Media, "refused").Inc()
		k.Logger.Error("login must be authorised again: the platform refused its refresh token",
			"media", row.Media, "login_id", row.ID, "login", row.Login, "tries", row.IntentTries+1, "err", err)
		k.park(row.ID, e)
		return fmt.Errorf("refresh the token of login %d: %w", row.ID, e)
	}
	k.metrics.refreshes.WithLabelValues(row.Media, "failed").Inc()
	pause := min(time.Second<<min(row.IntentTries, 10), pauseMax)
	if ok {
		pause = max(pause, e.RetryAfter)
	}
	if err := k.Store.PostponeRefresh(ctx, row.ID, holder, pause); err != nil {
		// The intent then ends by itself.
		k.Logger.Warn("the intent of a failed refresh stays open", "media", row.Media, "login_id", row.ID, "err", err)
	}
	k.Logger.Warn("token refresh failed", "media", row.Media, "login_id", row.ID, "tries", row.IntentTries+1, "next_in", pause.String(), "err", err)
	return fmt.Errorf("refresh the token of login %d: %w", row.ID, err)
}
