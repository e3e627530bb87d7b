package settings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"adsync/base/plural"
	"adsync/base/sqldb"
)

// NewAccount is an account whose past was not pulled yet.
type NewAccount struct {
	ID       int64
	Timezone string
	// At is the moment whose orders are to pull it; zero as long as none is chosen.
	At time.Time
}

// NewAccounts returns accounts of a media that have no moment of initialisation yet, with an id above after, by id. Those that
// cannot be pulled now are left out: their turn comes when they can.
func (s Accounts) NewAccounts(ctx context.Context, media string, after int64, limit int) ([]NewAccount, error) {
	return s.newAccounts(ctx, media, "a.initialise_at IS NULL AND a.parked = '' AND a.bound = 1 AND a.tier <> ? AND a.id > ?"+
		" AND EXISTS (SELECT 1 FROM media_token t WHERE t.id = a.token_id AND t.state = ?) ORDER BY a.id LIMIT ?", TierInvalid, after, TokenOK, limit)
}

// Initialising returns the accounts of a media that have a moment of initialisation and are not done, by moment and id.
func (s Accounts) Initialising(ctx context.Context, media string) ([]NewAccount, error) {
	return s.newAccounts(ctx, media, "a.initialise_at IS NOT NULL ORDER BY a.initialise_at, a.id")
}

func (s Accounts) newAccounts(ctx context.Context, media, where string, args ...any) ([]NewAccount, error) {
	rows, err := s.Config.Writer(ctx).Raw("SELECT a.id, a.timezone, a.initialise_at FROM media_account a WHERE a.media = ? AND a.initialised_at IS NULL AND "+where,
		append([]any{media}, args...)...).Rows()
	if err != nil {
		return nil, fmt.Errorf("read the new accounts of %s: %w", media, err)
	}
	defer rows.Close()
	var all []NewAccount
	for rows.Next() {
		var a NewAccount
		var at sqldb.Time
		if err := rows.Scan(&a.ID, &a.Timezone, &at); err != nil {
			return nil, fmt.Errorf("read the new accounts of %s: %w", media, err)
		}
		a.At = at.Time
		all = append(all, a)
	}
	return all, rows.Err()
}

// StartInitialising gives accounts their moment of initialisation, in one statement: whoever reads one of them with that moment
// reads all. Those that have a moment keep it.
func (s Accounts) StartInitialising(ctx context.Context, ids []int64, at time.Time) error {
	err := s.Config.Writer(ctx).Exec("UPDATE media_account SET initialise_at = ?, updated_at = "+s.Config.Dialect().Now()+
		" WHERE id IN ? AND initialise_at IS NULL AND initialised_at IS NULL", sqldb.At(at), ids).Error
	if err != nil {
		return fmt.Errorf("start to initialise %s: %w", plural.Count(len(ids), "account", "accounts"), err)
	}
	return nil
}

// SetInitialised says that the past of accounts was pulled, or need not be. What was said before stays.
func (s Accounts) SetInitialised(ctx context.Context, ids []int64, now time.Time) error {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	for batch := range slices.Chunk(ids, accountBatch) {
		err := s.Config.Writer(ctx).Exec("UPDATE media_account SET initialised_at = ?, updated_at = "+s.Config.Dialect().Now()+
			" WHERE id IN ? AND initialised_at IS NULL", sqldb.At(now), batch).Error
		if err != nil {
			return fmt.Errorf("end the initialisation of %s: %w", plural.Count(len(batch), "account", "accounts"), err)
		}
	}
	return nil
}
