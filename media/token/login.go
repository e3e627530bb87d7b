package token

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"adsync/base/secret"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/media"
)

// PutApp writes a developer app of a platform, its secret sealed, and enables it.
func PutApp(ctx context.Context, s *store.Store, box *secret.Box, mediaName, id string, appSecret secret.Text) error {
	if err := usable("secret", appSecret, secretMax); err != nil {
		return fmt.Errorf("put app %s of %s: %w", id, mediaName, err)
	}
	sealed, err := box.Seal(appSecret.Reveal(), appPlace(mediaName, id))
	if err != nil {
		return fmt.Errorf("seal the secret of app %s of %s: %w", id, mediaName, err)
	}
	return s.PutApp(ctx, settings.App{Media: mediaName, ID: id, Secret: sealed, Enabled: true})
}

// OpenApp returns an app with its secret. An app that is not there is sql.ErrNoRows; one that is disabled is an error
// too.
func OpenApp(ctx context.Context, s *store.Store, box *secret.Box, mediaName, id string) (media.App, error) {
	app, err := s.App(ctx, mediaName, id)
	if err != nil {
		return media.App{}, err
	}
	if !app.Enabled {
		return media.App{}, &media.Error{Class: media.Invalid,
			Message: fmt.Sprintf("app %s of %s is disabled", id, mediaName)}
	}
	plain, err := box.Open(app.Secret, appPlace(mediaName, id))
	if err != nil {
		return media.App{}, fmt.Errorf("open the secret of app %s of %s: %w", id, mediaName, err)
	}
	return media.App{ID: id, Secret: secret.NewText(plain)}, nil
}

// PutLogin writes a login that has just been authorised, its tokens sealed, and returns its id. Of the row it takes
// Media, AppID, Login, Name, Choose and the two times. A login that is there already goes on with the new tokens,
// also when it was parked. Without a refresh token the login is parked, with the platform's words, when its access
// token is refused. What cannot be kept is an error of which IsUnusable says so.
func PutLogin(ctx context.Context, s *store.Store, box *secret.Box, row settings.Token, access,
	refresh secret.Text) (int64, error) {
	err := usablePair(access, refresh)
	if length := utf8.RuneCountInString(row.Login); err == nil && length > loginMax {
		err = &UnusableError{fmt.Sprintf("the id of the login has %d characters: want at most %d", length, loginMax)}
	}
	if err != nil {
		return 0, fmt.Errorf("put login %.40q of %s: %w", row.Login, row.Media, err)
	}
	return s.PutLogin(ctx, row, func(id int64) (sealedAccess, sealedRefresh string, err error) {
		if sealedAccess, err = box.Seal(access.Reveal(), accessPlace(id)); err != nil {
			return "", "", err
		}
		if !refresh.IsZero() {
			sealedRefresh, err = box.Seal(refresh.Reveal(), refreshPlace(id))
		}
		return sealedAccess, sealedRefresh, err
	})
}

// EndUntold is when a token ends whose end nobody has told us: the platform's refusal will.
var EndUntold = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// PutAccess writes a login of which an access token is all that is known, as a person copies one from a platform's
// console: no app, no refresh token, no time at which it ends. Its calls count as those of an app of the login's name.
func PutAccess(ctx context.Context, s *store.Store, box *secret.Box, mediaName, login string,
	access secret.Text) (int64, error) {
	row := settings.Token{Media: mediaName, AppID: login, Login: login, AccessExpires: EndUntold,
		RefreshExpires: EndUntold}
	return PutLogin(ctx, s, box, row, access, secret.Text{})
}
