package settings

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"adsync/base/plural"
	"adsync/base/sqldb"
)

// The tiers of an account.
const (
	TierActive   = "active"   // a new account's tier: everything is pulled
	TierInactive = "inactive" // nothing happens in it: only nightly tasks pull it, and the probe
	TierInvalid  = "invalid"  // it cannot be pulled: only the activity check reads it
)

// What set an account's tier. An operator's choice stays until the operator returns it to auto.
const (
	TierAuto   = "auto"
	TierManual = "manual"
)

// TierAccount is the part of an account that its tier depends on.
type TierAccount struct {
	ID          int64
	Tier        string
	By          string    `gorm:"column:tier_by"`                    // TierAuto or TierManual
	Since       time.Time `gorm:"column:tier_since;serializer:time"` // when the tier last changed; zero if it never did
	Timezone    string
	Parked      string
	ParkedSince time.Time `gorm:"serializer:time"`
	LoginState  string    // of its login; "" if it has none
}

// TierAccounts returns the bound accounts of a media with an id above after, by id, as the writer holds them.
func (s Accounts) TierAccounts(ctx context.Context, media string, after int64, limit int) ([]TierAccount, error) {
	var all []TierAccount
	err := s.Config.Writer(ctx).Table("media_account a").Joins("LEFT JOIN media_token t ON t.id = a.token_id").
		Select(
			"a.id, a.tier, a.tier_by, a.tier_since, a.timezone, a.parked, a.parked_since, COALESCE(t.state, '') AS login_state").
		Where("a.media = ? AND a.bound = 1 AND a.id > ?", media, after).Order("a.id").Limit(limit).Find(&all).Error
	if err != nil {
		return nil, fmt.Errorf("read the tiers of %s: %w", media, err)
	}
	return all, nil
}

// TierChange is a change of an account's tier.
type TierChange struct {
	ID       int64
	From, To string
	Reason   string
}

// SetTiers sets accounts' new tiers from the moment now, and returns how many it changed: not those whose tier is no
// longer From, nor those that an operator has set.
func (s Accounts) SetTiers(ctx context.Context, changes []TierChange, now time.Time) (int, error) {
	type kind struct{ from, to, reason string }
	byKind := map[kind][]int64{}
	var kinds []kind
	for _, c := range changes {
		k := kind{c.From, c.To, c.Reason}
		if byKind[k] == nil {
			kinds = append(kinds, k)
		}
		byKind[k] = append(byKind[k], c.ID)
	}
	// One order for all processes that set tiers at the same time.
	slices.SortFunc(kinds, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.reason, b.reason))
	})
	set := 0
	for _, k := range kinds {
		slices.Sort(byKind[k])
		for ids := range slices.Chunk(byKind[k], accountBatch) {
			res := s.Config.Writer(ctx).Model(&Account{}).Where("id IN ? AND tier = ? AND tier_by = ?", ids, k.from, TierAuto).
				Updates(map[string]any{"tier": k.to, "tier_reason": k.reason, "tier_since": sqldb.At(now)})
			if res.Error != nil {
				return set, fmt.Errorf("set the tier of %s to %s: %w", plural.Count(len(ids), "account", "accounts"),
					k.to, res.Error)
			}
			set += int(res.RowsAffected)
		}
	}
	return set, nil
}

// AccountFigures and AccountLevel are the report and level that show whether an account spends: the cheapest that
// every platform has.
const (
	AccountFigures = "report_daily"
	AccountLevel   = "account"
)
