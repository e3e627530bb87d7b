package overview

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"adsync/base/sqldb"
	"adsync/base/store/settings"
)

// AccountCount is how many accounts of a media have the same tier and state.
type AccountCount struct {
	Media  string `gorm:"column:media"`
	Tier   string `gorm:"column:tier"`
	Bound  bool   `gorm:"column:bound"`
	Parked bool   `gorm:"column:parked"` // the accounts, or their login
	N      int64  `gorm:"column:n"`
}

// CountAccounts counts all accounts.
func (s Glances) CountAccounts(ctx context.Context) ([]AccountCount, error) {
	var counts []AccountCount
	const parked = "CASE WHEN a.parked <> '' OR COALESCE(t.state, '') <> ? THEN 1 ELSE 0 END"
	err := s.Config.Current(ctx).Raw("SELECT media, tier, bound, parked, COUNT(*) AS n FROM"+
		" (SELECT a.media, a.tier, a.bound, "+parked+
		" AS parked FROM media_account a LEFT JOIN media_token t ON t.id = a.token_id) s"+
		" GROUP BY media, tier, bound, parked ORDER BY media, tier, bound, parked", settings.TokenOK).Scan(&counts).Error
	if err != nil {
		return nil, fmt.Errorf("count accounts: %w", err)
	}
	return counts, nil
}

// ParkedCount is how many bound accounts of a media are parked for one reason.
type ParkedCount struct {
	Media  string
	Reason string
	N      int64
	Since  time.Time // of the first of them; zero if it was not recorded
	Next   time.Time // when the next of them is probed; zero if only a person can unpark them
}

// CountParked counts the parked accounts by their reasons, the most frequent first.
func (s Glances) CountParked(ctx context.Context, limit int) ([]ParkedCount, error) {
	query := s.Config.Current(ctx).Raw(
		"SELECT media, parked, COUNT(*), MIN(parked_since), MIN(parked_until) FROM media_account"+
			" WHERE parked <> '' AND bound = 1 GROUP BY media, parked ORDER BY COUNT(*) DESC, media, parked LIMIT ?", limit)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, p *ParkedCount) error {
		var since, next sqldb.Time
		err := rows.Scan(&p.Media, &p.Reason, &p.N, &since, &next)
		p.Since, p.Next = since.Time, next.Time
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count parked accounts: %w", err)
	}
	return all, nil
}

// ParkedAccounts returns the ids of up to limit accounts that are parked for one reason.
func (s Glances) ParkedAccounts(ctx context.Context, media, reason string, limit int) ([]int64, error) {
	return s.accountIDs(ctx, "media = ? AND parked = ? AND bound = 1 ORDER BY id LIMIT ?", media, reason, limit)
}

// AccountsOfLogin returns the ids of up to limit bound accounts that are pulled with a login.
func (s Glances) AccountsOfLogin(ctx context.Context, tokenID int64, limit int) ([]int64, error) {
	return s.accountIDs(ctx, "token_id = ? AND bound = 1 ORDER BY id LIMIT ?", tokenID, limit)
}

func (s Glances) accountIDs(ctx context.Context, where string, args ...any) ([]int64, error) {
	var ids []int64
	if err := s.Config.Current(ctx).Raw("SELECT id FROM media_account WHERE "+where,
		args...).Scan(&ids).Error; err != nil {
		return nil, fmt.Errorf("read the ids of accounts: %w", err)
	}
	return ids, nil
}

// PulledAccount is an account that is pulled all the time.
type PulledAccount struct {
	ID         int64      `gorm:"column:id"`
	ExternalID string     `gorm:"column:external_id"`
	AppID      string     `gorm:"column:app_id"` // of its login
	Timezone   string     `gorm:"column:timezone"`
	Changed    sqldb.Time `gorm:"column:updated_at"` // when its row last changed, which is not before it was bound
}

// PulledAccounts returns accounts of a media with an id above after that are pulled all the time, by id: bound,
// active, not parked, with a usable login.
func (s Glances) PulledAccounts(ctx context.Context, media string, after int64, limit int) ([]PulledAccount, error) {
	var accounts []PulledAccount
	err := s.Config.Current(ctx).Raw(
		"SELECT a.id, a.external_id, t.app_id, a.timezone, a.updated_at FROM media_account a JOIN media_token t"+
			" ON t.id = a.token_id"+
			" WHERE a.media = ? AND a.tier = ? AND a.id > ? AND a.parked = '' AND a.bound = 1 AND t.state = ?"+
			" ORDER BY a.id LIMIT ?",
		media, settings.TierActive, after, settings.TokenOK, limit).Scan(&accounts).Error
	if err != nil {
		return nil, fmt.Errorf("read the accounts of %s that are pulled: %w", media, err)
	}
	return accounts, nil
}

// LoginEnd is a login that is unusable, or whose refresh token expires soon.
type LoginEnd struct {
	settings.Login

	RefreshExpires time.Time
	Since          time.Time // when its row last changed
	Accounts       int64     // bound ones that are pulled with it
}

// LoginEnds returns the logins that are unusable and those whose refresh token expires before a moment, by id.
func (s Glances) LoginEnds(ctx context.Context, before time.Time, limit int) ([]LoginEnd, error) {
	query := s.Config.Current(ctx).Raw(
		"SELECT t.id, t.media, t.app_id, t.login, COALESCE(l.name, ''), t.state, t.state_reason, t.refresh_expires_at,"+
			" t.updated_at,"+
			" (SELECT COUNT(*) FROM media_account a WHERE a.token_id = t.id AND a.bound = 1)"+
			" FROM media_token t LEFT JOIN media_login l ON l.token_id = t.id"+
			" WHERE t.state <> ? OR (t.refresh_token <> '' AND t.refresh_expires_at < ?) ORDER BY t.id LIMIT ?",
		settings.TokenOK, sqldb.At(before), limit)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, l *LoginEnd) error {
		var expires, since sqldb.Time
		err := rows.Scan(&l.ID, &l.Media, &l.AppID, &l.Login.Login, &l.Name, &l.State, &l.StateReason, &expires, &since,
			&l.Accounts)
		l.RefreshExpires, l.Since = expires.Time, since.Time
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the logins that end: %w", err)
	}
	return all, nil
}
