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

// PutApp writes a platform's developer app with its secret sealed, and enables it.
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

// OpenApp returns an app with its secret. The error wraps sql.ErrNoRows for an app that does not exist. A disabled
// app is an error too.
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

// PutLogin writes a login that has just been authorised, with its tokens sealed, and returns its id. It uses Media,
// AppID, Login, Name, Choose and the two times of row. An existing login gets the new tokens, and is no longer
// parked. A login without a refresh token is parked, with the platform's words, when its access token is refused; its
// RefreshExpires is EndUnknown. IsUnusable reports whether the error means that the tokens or the login cannot be kept.
func PutLogin(ctx context.Context, s *store.Store, box *secret.Box, row settings.Token, access,
	refresh secret.Text) (int64, error) {
	err := usablePair(access, refresh)
	if length := utf8.RuneCountInString(row.Login); err == nil && length > loginMax {
		err = &UnusableError{fmt.Sprintf("the id of the login has %d characters: want at most %d", length, loginMax)}
	}
	if err != nil {
		return 0, fmt.Errorf("put login %.40q of %s: %w", row.Login, row.Media, err)
	}
	if refresh.IsZero() {
		row.RefreshExpires = EndUnknown // so that nobody is warned of the end of a token that does not exist
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

// EndUnknown is the end of a token whose end is unknown: the platform will refuse the token when it has ended.
var EndUnknown = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// PutAccess writes a login that has only an access token, copied by a person from a platform's console: it has no
// app, no refresh token and no known end. Its name at the platform is "" if the person did not give it. Its calls count
// as those of an app that has login as its id.
func PutAccess(ctx context.Context, s *store.Store, box *secret.Box, mediaName, login, name string,
	access secret.Text) (int64, error) {
	row := settings.Token{Media: mediaName, AppID: login, Login: login, Name: name, AccessExpires: EndUnknown}
	return PutLogin(ctx, s, box, row, access, secret.Text{})
}
