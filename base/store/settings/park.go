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

// ParkedLogin is the reason of accounts that are parked because a person must authorise their login again.
const ParkedLogin = "login: it waits for a person to authorise it again"

// ReasonReturned is why an account is active again: its login or its parking no longer makes it invalid.
const ReasonReturned = "returned"

// media_account.parked begins with one of these words where a platform has closed the account to us; media.Parking
// has the same words.
const (
	parkedFrozen  = "frozen"
	parkedRevoked = "revoked"
)

// The gaps between the probes of a parked account double from the first to the last.
const (
	ParkGapMin = 10 * time.Minute
	ParkGapMax = 24 * time.Hour
)

// ParkGap returns how long a parked account waits after its n-th try, counted from 1.
func ParkGap(n int) time.Duration {
	gap := ParkGapMin
	for ; n > 1 && gap < ParkGapMax; n-- {
		gap *= 2
	}
	return min(gap, ParkGapMax)
}

// ParkAccount parks an account from the moment now, and reports whether this call did so: not if it is parked already
// for any reason. Fan-outs leave it out from then on, and it is probed after the first gap.
func (s Accounts) ParkAccount(ctx context.Context, id int64, reason string, now time.Time) (bool, error) {
	res := s.Config.Writer(ctx).Model(&Account{}).Where("id = ? AND parked = ''", id).Updates(map[string]any{
		"parked": sqldb.Cut(reason, 512), "parked_since": sqldb.At(now), "parked_until": sqldb.At(now.Add(ParkGap(1))),
		"parked_tries": 1, "unparked_at": nil,
	})
	if res.Error != nil {
		return false, fmt.Errorf("park account %d: %w", id, res.Error)
	}
	return res.RowsAffected == 1, nil
}

// StillParked returns which of the accounts are parked. Unbound accounts are not among them, since those never come
// back.
func (s Accounts) StillParked(ctx context.Context, ids []int64) (map[int64]bool, error) {
	parked := make(map[int64]bool, len(ids))
	for some := range slices.Chunk(ids, accountBatch) {
		var found []int64
		if err := s.Config.Writer(ctx).Model(&Account{}).Where("id IN ? AND parked <> '' AND bound = 1", some).Pluck("id",
			&found).Error; err != nil {
			return nil, fmt.Errorf("read which of %s are parked: %w", plural.Count(len(ids), "account", "accounts"), err)
		}
		for _, id := range found {
			parked[id] = true
		}
	}
	return parked, nil
}

// ProbeAccount is an account to be probed.
type ProbeAccount struct {
	Account
	ParkedSince time.Time `gorm:"serializer:time"`
	ParkedTries int
}

// ParkedDue returns parked accounts of a media whose probe is due, the longest due first. Accounts that a person has
// parked have no probe, and those whose login is dead cannot be probed.
func (s Accounts) ParkedDue(ctx context.Context, media string, now time.Time, limit int) ([]ProbeAccount, error) {
	return s.probeAccounts(ctx, media, limit, "a.parked_until, a.id",
		"a.parked <> '' AND a.parked_until <= ? AND t.state = ?", sqldb.At(now), TokenOK)
}

// InactiveAccounts returns inactive accounts of a media, those with the oldest probe first. Accounts that an operator
// has made inactive are left out.
func (s Accounts) InactiveAccounts(ctx context.Context, media string, limit int) ([]ProbeAccount, error) {
	return s.probeAccounts(ctx, media, limit, "a.probed_at, a.id",
		"a.parked = '' AND a.tier = ? AND a.tier_by = ? AND t.state = ?",
		TierInactive, TierAuto, TokenOK)
}

// ParkedForUsableLogin returns accounts of a media that are parked for their login although the login is usable: it
// was authorised again just before they were parked.
func (s Accounts) ParkedForUsableLogin(ctx context.Context, media string, limit int) ([]ProbeAccount, error) {
	return s.probeAccounts(ctx, media, limit, "a.id", "a.parked = ? AND t.state = ?", ParkedLogin, TokenOK)
}

func (s Accounts) probeAccounts(ctx context.Context, media string, limit int, order, where string,
	args ...any) ([]ProbeAccount, error) {
	var all []ProbeAccount
	err := s.Config.Writer(ctx).Table("media_account a").Joins("JOIN media_token t ON t.id = a.token_id").
		Where("a.media = ? AND a.bound = 1", media).Where(where, args...).Order(order).Limit(limit).Find(&all).Error
	if err != nil {
		return nil, fmt.Errorf("read the accounts of %s to be probed: %w", media, err)
	}
	return all, nil
}

// RecordProbe records that an account was probed at the moment now, whatever the result.
func (s Accounts) RecordProbe(ctx context.Context, id int64, now time.Time) error {
	err := s.Config.Writer(ctx).Model(&Account{}).Where("id = ?", id).Update("probed_at", sqldb.At(now)).Error
	if err != nil {
		return fmt.Errorf("record the probe of account %d: %w", id, err)
	}
	return nil
}

// PostponeProbe sets the next gap of a parked account whose probe failed, with the present reason. It changes nothing
// if another probe has done so meanwhile.
func (s Accounts) PostponeProbe(ctx context.Context, a ProbeAccount, reason string, now time.Time) error {
	tries := a.ParkedTries + 1
	err := s.Config.Writer(ctx).Model(&Account{}).Where("id = ? AND parked = ? AND parked_tries = ?", a.ID,
		a.Parked, a.ParkedTries).
		Updates(map[string]any{
			"parked": sqldb.Cut(reason, 512), "parked_tries": tries, "parked_until": sqldb.At(now.Add(ParkGap(tries))),
			"probed_at": sqldb.At(now),
		}).Error
	if err != nil {
		return fmt.Errorf("postpone the probe of account %d: %w", a.ID, err)
	}
	return nil
}

// Unpark ends the parking of an account at the moment now, and reports whether this call did so: not if it is parked
// for another reason, or not at all. parked_since stays, next to unparked_at: between the two nothing was pulled. An
// account whose tier became invalid automatically is active again.
func (s Accounts) Unpark(ctx context.Context, a ProbeAccount, reason string, now time.Time) (bool, error) {
	n, err := unpark(s.Config, s.Config.Writer(ctx), []int64{a.ID}, a.Parked, reason, now)
	if err != nil {
		return false, fmt.Errorf("unpark account %d: %w", a.ID, err)
	}
	return n == 1, nil
}

// unpark is Unpark for accounts that are parked for one reason. It returns how many it unparked.
func unpark(d *sqldb.DB, tx *gorm.DB, ids []int64, parked, reason string, now time.Time) (int64, error) {
	// It is SQL by hand because the tier must come last: MySQL evaluates the assignments in order, and those before it
	// need the old tier. The clock that parked an account may be ahead of the one that unparks it.
	raise := "CASE WHEN tier = ? AND tier_by = ? THEN ? ELSE "
	at := sqldb.At(now)
	res := tx.Exec("UPDATE media_account SET parked = '', parked_until = NULL, parked_tries = 0,"+
		" unparked_at = CASE WHEN parked_since > ? THEN parked_since ELSE ? END,"+
		" tier_reason = "+raise+"tier_reason END, tier_since = "+raise+"tier_since END, tier = "+raise+
		"tier END, updated_at = "+d.Dialect().Now()+
		" WHERE id IN ? AND parked = ?", at, at,
		TierInvalid, TierAuto, reason, TierInvalid, TierAuto, at, TierInvalid, TierAuto,
		TierActive, ids, parked)
	return res.RowsAffected, res.Error
}

// ParkDeadLogins parks the accounts of a media whose login waits for a person, and returns how many.
func (s Accounts) ParkDeadLogins(ctx context.Context, media string, now time.Time) (int, error) {
	parked := 0
	for {
		// The read comes first and without locks: one statement for both would lock the rows of logins that are being
		// refreshed.
		var ids []int64
		err := s.Config.Writer(ctx).Table("media_account a").Joins("JOIN media_token t ON t.id = a.token_id").
			Where("a.media = ? AND a.parked = '' AND a.bound = 1 AND t.state <> ?", media, TokenOK).
			Order("a.id").Limit(accountBatch).Pluck("a.id", &ids).Error
		if err != nil || len(ids) == 0 {
			return parked, wrapDeadLogins(media, err)
		}
		res := s.Config.Writer(ctx).Model(&Account{}).Where("id IN ? AND parked = ''", ids).Updates(map[string]any{
			"parked": ParkedLogin, "parked_since": sqldb.At(now), "parked_until": nil, "parked_tries": 0, "unparked_at": nil,
		})
		if res.Error != nil {
			return parked, wrapDeadLogins(media, res.Error)
		}
		parked += int(res.RowsAffected)
	}
}

func wrapDeadLogins(media string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("park the accounts of dead logins of %s: %w", media, err)
}
