package settings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"adsync/base/plural"
	"adsync/base/sqldb"
)

// ParkedLogin is why the accounts of a login are parked that only a person can mend.
const ParkedLogin = "login: it waits for a person to authorise it again"

// The words with which media_account.parked begins where a platform has closed the account to us; media.Parking has the same.
const (
	parkedFrozen  = "frozen"
	parkedRevoked = "revoked"
)

// The gaps between the probes of a parked account double from the first to the last.
const (
	ParkGapMin = 10 * time.Minute
	ParkGapMax = 24 * time.Hour
)

// ParkGap is how long after its n-th try, counted from 1, a parked account is left alone.
func ParkGap(n int) time.Duration {
	gap := ParkGapMin
	for ; n > 1 && gap < ParkGapMax; n-- {
		gap *= 2
	}
	return min(gap, ParkGapMax)
}

// ParkAccount parks an account from the moment now, and reports whether this call did it: not when it is parked already,
// for whatever reason. Fan-outs leave it out from then on; a probe looks at it after the first gap.
func (s Accounts) ParkAccount(ctx context.Context, id int64, reason string, now time.Time) (bool, error) {
	res := s.Config.Writer(ctx).Model(&Account{}).Where("id = ? AND parked = ''", id).Updates(map[string]any{
		"parked": sqldb.Cut(reason, 512), "parked_since": sqldb.At(now), "parked_until": sqldb.At(now.Add(ParkGap(1))), "parked_tries": 1, "unparked_at": nil,
	})
	if res.Error != nil {
		return false, fmt.Errorf("park account %d: %w", id, res.Error)
	}
	return res.RowsAffected == 1, nil
}

// StillParked returns those of some accounts that are parked. One that is not bound any more is not among them: it never comes back.
func (s Accounts) StillParked(ctx context.Context, ids []int64) (map[int64]bool, error) {
	parked := make(map[int64]bool, len(ids))
	for some := range slices.Chunk(ids, accountBatch) {
		var found []int64
		if err := s.Config.Writer(ctx).Model(&Account{}).Where("id IN ? AND parked <> '' AND bound = 1", some).Pluck("id", &found).Error; err != nil {
			return nil, fmt.Errorf("read which of %s are parked: %w", plural.Count(len(ids), "account", "accounts"), err)
		}
		for _, id := range found {
			parked[id] = true
		}
	}
	return parked, nil
}

// ProbeAccount is an account that a probe looks at.
type ProbeAccount struct {
	Account
	ParkedSince time.Time `gorm:"serializer:time"`
	ParkedTries int
}

// ParkedDue returns parked accounts of a media whose time to be probed has come, the longest due first. Those that a
// person has parked have no such time, and those whose login is dead cannot be asked about.
func (s Accounts) ParkedDue(ctx context.Context, media string, now time.Time, limit int) ([]ProbeAccount, error) {
	return s.probeAccounts(ctx, media, limit, "a.parked_until, a.id", "a.parked <> '' AND a.parked_until <= ? AND t.state = ?", sqldb.At(now), TokenOK)
}

// Sleeping returns inactive accounts of a media, those first whose last probe is the longest ago. An account that an
// operator has made inactive is meant to be left alone.
func (s Accounts) Sleeping(ctx context.Context, media string, limit int) ([]ProbeAccount, error) {
	return s.probeAccounts(ctx, media, limit, "a.probed_at, a.id", "a.parked = '' AND a.tier = ? AND a.tier_by = ? AND t.state = ?",
		TierInactive, TierAuto, TokenOK)
}

// LoginsBack returns accounts of a media that were parked for their login, and whose login can be used again.
func (s Accounts) LoginsBack(ctx context.Context, media string, limit int) ([]ProbeAccount, error) {
	return s.probeAccounts(ctx, media, limit, "a.id", "a.parked = ? AND t.state = ?", ParkedLogin, TokenOK)
}

func (s Accounts) probeAccounts(ctx context.Context, media string, limit int, order, where string, args ...any) ([]ProbeAccount, error) {
	var all []ProbeAccount
	err := s.Config.Writer(ctx).Table("media_account a").Joins("JOIN media_token t ON t.id = a.token_id").
		Where("a.media = ? AND a.bound = 1", media).Where(where, args...).Order(order).Limit(limit).Find(&all).Error
	if err != nil {
		return nil, fmt.Errorf("read the accounts of %s to be probed: %w", media, err)
	}
	return all, nil
}

// NoteProbe says that an account was probed at the moment now, whatever came of it.
func (s Accounts) NoteProbe(ctx context.Context, id int64, now time.Time) error {
	err := s.Config.Writer(ctx).Model(&Account{}).Where("id = ?", id).Update("probed_at", sqldb.At(now)).Error
	if err != nil {
		return fmt.Errorf("note the probe of account %d: %w", id, err)
	}
	return nil
}

// PostponeProbe leaves a parked account whose probe failed alone for its next gap, with the reason as it is now. Nothing
// changes if another probe has done so meanwhile.
func (s Accounts) PostponeProbe(ctx context.Context, a ProbeAccount, reason string, now time.Time) error {
	tries := a.ParkedTries + 1
	err := s.Config.Writer(ctx).Model(&Account{}).Where("id = ? AND parked = ? AND parked_tries = ?", a.ID, a.Parked, a.ParkedTries).
		Updates(map[string]any{
			"parked": sqldb.Cut(reason, 512), "parked_tries": tries, "parked_until": sqldb.At(now.Add(ParkGap(tries))), "probed_at": sqldb.At(now),
		}).Error
	if err != nil {
		return fmt.Errorf("postpone the probe of account %d: %w", a.ID, err)
	}
	return nil
}

// Unpark lets an account be pulled again from the moment now, and reports whether this call did it: not when it is parked for
// another reason, or not at all. parked_since stays, with unparked_at beside it: between the two nothing was pulled. An
// account that was invalid for it is active again.
func (s Accounts) Unpark(ctx context.Context, a ProbeAccount, reason string, now time.Time) (bool, error) {
	// It is SQL because the tier comes last: MySQL reads what stands before it as it was.
	raise := "CASE WHEN tier = ? AND tier_by = ? THEN ? ELSE "
	res := s.Config.Writer(ctx).Exec("UPDATE media_account SET parked = '', parked_until = NULL, parked_tries = 0, unparked_at = ?,"+
		" tier_reason = "+raise+"tier_reason END, tier_since = "+raise+"tier_since END, tier = "+raise+"tier END, updated_at = "+s.Config.Dialect().Now()+
		" WHERE id = ? AND parked = ?", sqldb.At(now),
		TierInvalid, TierAuto, reason, TierInvalid, TierAuto, sqldb.At(now), TierInvalid, TierAuto, TierActive, a.ID, a.Parked)
	if res.Error != nil {
		return false, fmt.Errorf("unpark account %d: %w", a.ID, res.Error)
	}
	return res.RowsAffected == 1, nil
}

// ParkDeadLogins parks the accounts of a media whose login waits for a person, and returns how many.
func (s Accounts) ParkDeadLogins(ctx context.Context, media string, now time.Time) (int, error) {
	parked := 0
	for {
		// Read first, and without locks: a statement that did both would hold the rows of logins that are being refreshed.
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
