package token

import (
	"context"
	"fmt"

	"adsync/base/secret"
	"adsync/base/store"
)

// PutApp writes a developer app of a platform, its secret sealed, and enables it.
func PutApp(ctx context.Context, s *store.Store, box *secret.Box, mediaName, id string, appSecret secret.Text) error {
	sealed, err := box.Seal(appSecret.Reveal(), appPlace(mediaName, id))
	if err != nil {
		return fmt.Errorf("seal the secret of app %s of %s: %w", id, mediaName, err)
	}
	return s.PutApp(ctx, store.App{Media: mediaName, ID: id, Secret: sealed, Enabled: true})
}

// PutLogin writes a login that has just been authorised, its tokens sealed, and returns its id. Of the row it takes
// Media, AppID, Login and the two times. A login that is there already goes on with the new tokens, also when it was
// parked.
func PutLogin(ctx context.Context, s *store.Store, box *secret.Box, row store.Token, access, refresh secret.Text) (int64, error) {
	return s.PutLogin(ctx, row, func(id int64) (sealedAccess, sealedRefresh string, err error) {
		if sealedAccess, err = box.Seal(access.Reveal(), accessPlace(id)); err != nil {
			return "", "", err
		}
		sealedRefresh, err = box.Seal(refresh.Reveal(), refreshPlace(id))
		return sealedAccess, sealedRefresh, err
	})
}
