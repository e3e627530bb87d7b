package settings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/plural"
	"adsync/base/sqldb"
)

// NewAccount is an account whose past has not been pulled yet.
type NewAccount struct {
	ID       int64
	Timezone string
	// At is the moment whose orders pull its past; zero until one is chosen.
	At time.Time `gorm:"column:initialise_at;serializer:time"`
}

// NewAccounts returns accounts of a media that have no moment of initialisation yet, with an id above after, by id.
// Accounts that cannot be pulled now are left out until they can be.
func (s Accounts) NewAccounts(ctx context.Context, media string, after int64, limit int) ([]NewAccount, error) {
	return newAccounts(s.Config.Writer(ctx).Order("id").Limit(limit), media,
		"initialise_at IS NULL AND parked = '' AND bound = 1 AND tier <> ? AND id > ?"+
			" AND EXISTS (SELECT 1 FROM media_token t WHERE t.id = media_account.token_id AND t.state = ?)",
		TierInvalid, after, TokenOK)
}

// Initialising returns the accounts of a media that have a moment of initialisation and are not initialised, by
// moment and id.
func (s Accounts) Initialising(ctx context.Context, media string) ([]NewAccount, error) {
	return newAccounts(s.Config.Writer(ctx).Order("initialise_at, id"), media, "initialise_at IS NOT NULL")
}

func newAccounts(query *gorm.DB, media, where string, args ...any) ([]NewAccount, error) {
	var all []NewAccount
	err := query.Model(&Account{}).Where("media = ? AND initialised_at IS NULL", media).Where(where,
		args...).Find(&all).Error
	if err != nil {
		return nil, fmt.Errorf("read the new accounts of %s: %w", media, err)
	}
	return all, nil
}

// StartInitialising gives accounts their moment of initialisation in one statement, so that a reader sees either all
// accounts of that moment or none. Those that have a moment keep it.
func (s Accounts) StartInitialising(ctx context.Context, ids []int64, at time.Time) error {
	err := s.Config.Writer(ctx).Model(&Account{}).Where("id IN ? AND initialise_at IS NULL AND initialised_at IS NULL",
		ids).
		Update("initialise_at", sqldb.At(at)).Error
	if err != nil {
		return fmt.Errorf("start to initialise %s: %w", plural.Count(len(ids), "account", "accounts"), err)
	}
	return nil
}

// SetInitialised records that the past of accounts was pulled, or need not be. Earlier records stay.
func (s Accounts) SetInitialised(ctx context.Context, ids []int64, now time.Time) error {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	for batch := range slices.Chunk(ids, accountBatch) {
		err := s.Config.Writer(ctx).Model(&Account{}).Where("id IN ? AND initialised_at IS NULL",
			batch).Update("initialised_at", sqldb.At(now)).Error
		if err != nil {
			return fmt.Errorf("end the initialisation of %s: %w", plural.Count(len(batch), "account", "accounts"), err)
		}
	}
	return nil
}
