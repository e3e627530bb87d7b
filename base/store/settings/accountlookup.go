package settings

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"adsync/base/plural"
)

// FindAccounts returns the accounts of a media by the platform's ids, as the writer holds them. Unknown ids are left
// out.
func (s Accounts) FindAccounts(ctx context.Context, media string, externalIDs []string) (map[string]Account, error) {
	found := make(map[string]Account, len(externalIDs))
	// The column is ascii: MySQL refuses to compare it with anything else.
	externalIDs = slices.DeleteFunc(slices.Clone(externalIDs), func(id string) bool {
		return strings.ContainsFunc(id, func(r rune) bool { return r > unicode.MaxASCII })
	})
	for ids := range slices.Chunk(externalIDs, accountBatch) {
		some, err := accountsByExternalID(s.Config.Writer(ctx), media, ids)
		if err != nil {
			return nil, fmt.Errorf("find %s of %s: %w", plural.Count(len(ids), "account", "accounts"), media, err)
		}
		maps.Copy(found, some)
	}
	return found, nil
}

// SplitName returns the platform and the platform's id in an account's name MEDIA/ID; for an id alone the platform is
// "".
func SplitName(name string) (media, id string) {
	if media, id, full := strings.Cut(name, "/"); full && media != "" {
		return media, id
	}
	return "", name
}

// NamedAccounts returns accounts by the names that people use: the platform's id, MEDIA/ID, or our own id. The
// result's keys are the given names. media restricts them to one platform; "" searches all, and leaves out an id that
// several platforms have. Unknown names are left out. The platform's id takes precedence over ours.
func (s Accounts) NamedAccounts(ctx context.Context, media string, names []string) (map[string]Account, error) {
	platforms := []string{media}
	if media == "" {
		platforms = nil
		if err := s.Config.Writer(ctx).Model(&Account{}).Distinct().Order("media").Pluck("media",
			&platforms).Error; err != nil {
			return nil, fmt.Errorf("read the platforms that have accounts: %w", err)
		}
	}
	byMedia := map[string][]string{} // ids that may be the platform's
	for _, name := range names {
		of, id := SplitName(name)
		for _, m := range platforms {
			if of == "" || of == m {
				byMedia[m] = append(byMedia[m], id)
			}
		}
	}
	known := map[string]map[string]Account{}
	for m, ids := range byMedia {
		found, err := s.FindAccounts(ctx, m, ids)
		if err != nil {
			return nil, err
		}
		known[m] = found
	}
	found, ours := map[string]Account{}, map[int64][]string{}
	for _, name := range names {
		of, id := SplitName(name)
		var hits []Account
		for _, m := range platforms {
			if account, ok := known[m][id]; ok && (of == "" || of == m) {
				hits = append(hits, account)
			}
		}
		if len(hits) == 1 {
			found[name] = hits[0]
		}
		if number, err := strconv.ParseInt(id, 10, 64); len(hits) == 0 && err == nil && number > 0 {
			ours[number] = append(ours[number], name)
		}
	}
	byID, err := s.AccountsByID(ctx, slices.Collect(maps.Keys(ours)))
	if err != nil {
		return nil, err
	}
	for id, account := range byID {
		for _, name := range ours[id] {
			of, _ := SplitName(name)
			if (of == "" || of == account.Media) && (media == "" || media == account.Media) {
				found[name] = account
			}
		}
	}
	return found, nil
}

// ScopeZones returns the time zones of the accounts that a fan-out over a media's tiers (none = all tiers) includes,
// and how many accounts each has.
func (s Accounts) ScopeZones(ctx context.Context, media string, tiers []string) (map[string]int64, error) {
	query := s.Config.Writer(ctx).Model(&Account{}).Where("media = ? AND parked = '' AND bound = 1", media)
	if len(tiers) > 0 {
		query = query.Where("tier IN ?", tiers)
	}
	var found []struct {
		Timezone string
		Accounts int64
	}
	if err := query.Select("timezone, COUNT(*) AS accounts").Group("timezone").Find(&found).Error; err != nil {
		return nil, fmt.Errorf("read the time zones of %s: %w", media, err)
	}
	zones := make(map[string]int64, len(found))
	for _, f := range found {
		zones[f.Timezone] = f.Accounts
	}
	return zones, nil
}

// AccountsByID returns the accounts of our ids, as the writer holds them, since reconciliation decides by the result.
// Unknown ids are left out.
func (s Accounts) AccountsByID(ctx context.Context, ids []int64) (map[int64]Account, error) {
	found := make(map[int64]Account, len(ids))
	for batch := range slices.Chunk(ids, accountBatch) {
		var some []Account
		if err := s.Config.Writer(ctx).Find(&some, batch).Error; err != nil {
			return nil, fmt.Errorf("find %s: %w", plural.Count(len(ids), "account", "accounts"), err)
		}
		for _, a := range some {
			found[a.ID] = a
		}
	}
	return found, nil
}

// AccountRef is the part of an account that work on it needs: its ids, name, login, zone and currency.
type AccountRef struct {
	ID         int64  `json:"id"`
	Media      string `json:"media"`
	ExternalID string `json:"external_id"`
	Name       string `json:"name,omitempty"`
	TokenID    int64  `json:"token_id"`
	Timezone   string `json:"timezone"`
	Currency   string `json:"currency"`
	// Closed is the word of media.Parking for why the platform has closed the account to us; "" if it is open, not
	// bound, or parked for another reason.
	Closed string `json:"closed,omitempty"`
}

// Ref returns the account's AccountRef.
func (a *Account) Ref() AccountRef {
	ref := AccountRef{ID: a.ID, Media: a.Media, ExternalID: a.ExternalID, Name: a.Name, TokenID: a.TokenID,
		Timezone: a.Timezone, Currency: a.Currency}
	// An account parked for its login may be pulled with another login, and work on one that a person parked may finish.
	if word, _, found := strings.Cut(a.Parked, ": "); found && a.Bound && (word == parkedFrozen || word == parkedRevoked) {
		ref.Closed = word
	}
	return ref
}

// AccountRefs returns the AccountRef of every account, by id, as of one moment.
func (s Accounts) AccountRefs(ctx context.Context) ([]AccountRef, error) {
	rows, err := s.Config.Writer(ctx).Model(&Account{}).Order("id").
		Select("id", "media", "external_id", "name", "token_id", "timezone", "currency", "parked", "bound").Rows()
	if err != nil {
		return nil, fmt.Errorf("read all accounts: %w", err)
	}
	defer rows.Close()
	var all []AccountRef
	for rows.Next() { // One by one, without a second slice of millions of accounts.
		var a Account
		err := rows.Scan(&a.ID, &a.Media, &a.ExternalID, &a.Name, &a.TokenID, &a.Timezone, &a.Currency, &a.Parked,
			&a.Bound)
		if err != nil {
			return nil, fmt.Errorf("read all accounts: %w", err)
		}
		all = append(all, a.Ref())
	}
	return all, rows.Err()
}
