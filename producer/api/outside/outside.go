// Package outside has the routes of outside workers: programs in other languages that call platforms under the limits
// of adsync and write rows under its fence. Package api mounts them. docs/outside-workers.md describes them.
package outside

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"adsync/base/httpapi"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/media"
	"adsync/media/pull"
)

// Store is what the routes need of the store.
type Store interface {
	pull.Store
	AccountsByID(ctx context.Context, ids []int64) (map[int64]settings.Account, error)
	AddOutsidePull(ctx context.Context, p results.OutsidePull) (version int64, err error)
	OutsidePull(ctx context.Context, accountID int64, id string) (results.OutsidePull, error)
	PutOutsidePart(ctx context.Context, accountID int64, id string, part results.OutsidePart) error
	OutsideParts(ctx context.Context, accountID int64, id string) ([]results.OutsidePart, error)
	EndOutsidePull(ctx context.Context, accountID int64, id, answer string) (stored string, err error)
	ClaimedVersion(ctx context.Context, scope results.Scope) (int64, error)
	WriteNames(ctx context.Context, media string, accountID int64, level string, names map[string]string) error
	FindAccounts(ctx context.Context, media string, externalIDs []string) (map[string]settings.Account, error)
	Token(ctx context.Context, id int64) (settings.Token, error)
}

// appOfNone is the app of accounts without a login: their platform's limits of an app cover all of them together.
const appOfNone = "external"

// finder finds what requests name.
type finder struct {
	store     Store
	platforms []media.Platform
}

// account returns an account that may be pulled, by its platform and the platform's id.
func (f *finder) account(ctx context.Context, mediaName, externalID string) (media.Platform, settings.Account, error) {
	var platform media.Platform
	names := make([]string, len(f.platforms))
	for i, p := range f.platforms {
		if names[i] = p.Name(); names[i] == mediaName {
			platform = p
		}
	}
	if platform == nil {
		return nil, settings.Account{}, httpapi.Refused("media", "%q is refused: want %s", mediaName,
			strings.Join(names, " or "))
	}
	found, err := f.store.FindAccounts(ctx, mediaName, []string{externalID})
	if err != nil {
		return nil, settings.Account{}, err
	}
	account, known := found[externalID]
	switch {
	case !known:
		return nil, settings.Account{}, httpapi.Refused("account",
			"%q is refused: %s has no such account: want the platform's id of one in the list of accounts", externalID,
			mediaName)
	case !account.Bound:
		return nil, settings.Account{}, httpapi.Refused("account",
			"%q is refused: it is not pulled until an operator binds it", externalID)
	case account.Parked != "":
		return nil, settings.Account{}, httpapi.Refused("account", "%q is refused: it is parked: %s", externalID,
			account.Parked)
	}
	return platform, account, nil
}

// appOf returns the id of the developer app with which an account is pulled.
func (f *finder) appOf(ctx context.Context, account settings.Account) (string, error) {
	if account.TokenID == 0 {
		return appOfNone, nil
	}
	login, err := f.store.Token(ctx, account.TokenID)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return appOfNone, nil
	case err != nil:
		return "", err
	}
	return login.AppID, nil
}
