package overview

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
)

// AccountState is whether an account is pulled.
type AccountState string

// The states of an account. An unbound one is AccountUnbound whether it is parked or not.
const (
	AccountPulled  AccountState = "pulled"
	AccountParked  AccountState = "parked"
	AccountUnbound AccountState = "unbound"
)

// LoginNone is the state of the login of an account that has none.
const LoginNone = "none"

// AccountFilter chooses accounts for a list; zero fields choose all.
type AccountFilter struct {
	Media      string
	Tier       string
	State      AccountState
	LoginState string // of its login: TokenOK, TokenReauthorise, LoginNone
	// Game chooses the accounts that are bound to it on one of the days From to To; Unassigned those without a binding
	// that covers all of these days.
	Game     string
	From, To day.Day
}

// Unassigned is the game of accounts without a binding.
const Unassigned = summaries.Unassigned

// ListedAccount is an account with its login and its bindings, from the config database.
type ListedAccount struct {
	settings.Account
	Login          string // the platform's id
	LoginName      string
	LoginState     string // LoginNone if it has none
	LoginReason    string
	AccessExpires  time.Time           `gorm:"column:access_expires_at;serializer:time"`
	RefreshExpires time.Time           `gorm:"column:refresh_expires_at;serializer:time"`
	Bindings       []summaries.Binding `gorm:"-"` // by first day; they do not overlap
}

// accountScan is how a list of accounts reads an index, and how it filters the accounts that it reads.
type accountScan struct {
	from, id   string
	keyRange   string // the condition that the index serves
	rangeArgs  []any
	filters    string // the other conditions
	filterArgs []any
	filtered   bool // filters is not empty
}

func (w *accountScan) filter(condition string, args ...any) {
	w.filters, w.filterArgs, w.filtered = w.filters+" AND "+condition, append(w.filterArgs, args...), true
}

// scanAccounts returns a scan by our id, of the accounts of a game, those of a media and tier, or all of them.
func scanAccounts(d *sqldb.DB, f AccountFilter, after int64) accountScan {
	w := accountScan{id: "a.id"}
	media, tier := f.Media, f.Tier
	switch {
	case f.Game != "" && f.Game != Unassigned:
		w.id = "b.account_id"
		w.from = " FROM account_binding b" + d.Dialect().ForceIndex("account_binding", "game") +
			" JOIN media_account a ON a.id = b.account_id"
		w.keyRange, w.rangeArgs = " WHERE b.game = ? AND b.account_id > ?", []any{f.Game, after}
		w.filter("b.from_day <= ? AND b.to_day >= ?", f.To, f.From)
	case media != "" && tier != "":
		w.from = " FROM media_account a" + d.Dialect().ForceIndex("media_account", "fan_out")
		w.keyRange, w.rangeArgs = " WHERE a.media = ? AND a.tier = ? AND a.id > ?", []any{media, tier, after}
		media, tier = "", ""
	default:
		w.from = " FROM media_account a" + d.Dialect().ForceIndex("media_account", "PRIMARY")
		w.keyRange, w.rangeArgs = " WHERE a.id > ?", []any{after}
	}
	if media != "" {
		w.filter("a.media = ?", media)
	}
	if tier != "" {
		w.filter("a.tier = ?", tier)
	}
	switch f.State {
	case AccountPulled:
		w.filter("a.bound = 1 AND a.parked = ''")
	case AccountParked:
		w.filter("a.bound = 1 AND a.parked <> ''")
	case AccountUnbound:
		w.filter("a.bound = 0")
	}
	if f.LoginState != "" {
		w.filter("COALESCE(t.state, '"+LoginNone+"') = ?", f.LoginState)
	}
	if f.Game == Unassigned {
		// Not NOT EXISTS, for which MariaDB reads all bindings first.
		w.from += " LEFT JOIN account_binding b" + d.Dialect().ForceIndex("account_binding", "PRIMARY") +
			" ON b.account_id = a.id AND b.from_day <= ? AND b.to_day >= ?"
		w.rangeArgs = append([]any{f.From, f.To}, w.rangeArgs...)
		w.filter("b.account_id IS NULL")
	}
	return w
}

// ListAccounts returns a page of accounts with our ids above after, by id. next is the id after which the next page
// begins, 0 if there is none.
func (s Lists) ListAccounts(
	ctx context.Context, f AccountFilter, after int64, limit int,
) (page []ListedAccount, next int64, err error) {
	w := scanAccounts(s.Config, f, after)
	if w.filtered {
		err := s.Config.Current(ctx).Raw("SELECT "+w.id+w.from+w.keyRange+" ORDER BY "+w.id+" LIMIT 1 OFFSET ?",
			append(slices.Clone(w.rangeArgs), s.Reach.Rows-1)...).Row().Scan(&next)
		switch {
		case err == nil:
			w.keyRange, w.rangeArgs = w.keyRange+" AND "+w.id+" <= ?", append(w.rangeArgs, next)
		case !errors.Is(err, sql.ErrNoRows):
			return nil, 0, fmt.Errorf("list accounts: %w", err)
		}
	}
	// It is SQL by hand because each filter names the index that it reads.
	err = s.Config.Current(ctx).Raw("SELECT "+settings.AccountColumnsOf("a")+
		", COALESCE(t.login, '') AS login, COALESCE(n.name, '') AS login_name,"+
		" COALESCE(t.state, '"+LoginNone+
		"') AS login_state, COALESCE(t.state_reason, '') AS login_reason, t.access_expires_at, t.refresh_expires_at"+w.from+
		" LEFT JOIN media_token t ON t.id = a.token_id LEFT JOIN media_login n ON n.token_id = a.token_id"+w.keyRange+
		w.filters+
		" ORDER BY "+w.id+" LIMIT ?", append(append(w.rangeArgs, w.filterArgs...), limit+1)...).Scan(&page).Error
	if err != nil {
		return nil, 0, fmt.Errorf("list accounts: %w", err)
	}
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].ID
	}
	// An account may be bound to one game twice.
	page = slices.CompactFunc(page, func(a, b ListedAccount) bool { return a.ID == b.ID })
	return page, next, s.addBindings(ctx, page)
}

// addBindings sets the accounts' bindings.
func (s Lists) addBindings(ctx context.Context, page []ListedAccount) error {
	if len(page) == 0 {
		return nil
	}
	ids := make([]int64, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	all, err := summaries.ReadBindings(s.Config.Current(ctx).Where("account_id IN ?", ids))
	if err != nil {
		return err
	}
	byAccount := map[int64][]summaries.Binding{}
	for _, b := range all {
		byAccount[b.AccountID] = append(byAccount[b.AccountID], b)
	}
	for i := range page {
		page[i].Bindings = summaries.WithoutOverlaps(byAccount[page[i].ID])
	}
	return nil
}

// FiguresCoverage returns the coverage of accounts' AccountFigures on each of some days. TierAccounts judges accounts
// by the same report and level.
func (s Lists) FiguresCoverage(ctx context.Context, ids []int64, days []day.Day) (map[int64][]results.Coverage, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []results.Coverage
	err := s.Data.Current(ctx).Raw(
		"SELECT account_id, report, level, day, state, pulled_at, complete_version FROM coverage"+
			" WHERE account_id IN ? AND report = ? AND level = ? AND day IN ?"+
			" ORDER BY account_id, day", ids, settings.AccountFigures, settings.AccountLevel, days).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read the coverage of %s: %w", plural.Count(len(ids), "account", "accounts"), err)
	}
	byAccount := map[int64][]results.Coverage{}
	for i := range rows {
		byAccount[rows[i].AccountID] = append(byAccount[rows[i].AccountID], rows[i])
	}
	return byAccount, nil
}
