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

// AccountState says whether an account is pulled.
type AccountState string

// The states of an account. One that is not bound is so whether it is parked or not.
const (
	AccountPulled  AccountState = "pulled"
	AccountParked  AccountState = "parked"
	AccountUnbound AccountState = "unbound"
)

// LoginNone is the state of the login of an account that has none.
const LoginNone = "none"

// AccountFilter chooses accounts for a list; what is zero chooses all.
type AccountFilter struct {
	Media      string
	Tier       string
	State      AccountState
	LoginState string // of the login that it is pulled with: TokenOK, TokenReauthorise, LoginNone
	// Game chooses those that are bound to it on one of the days From to To, Unassigned those of which no binding covers all of these days.
	Game     string
	From, To day.Day
}

// Unassigned stands for the game of accounts that belong to none.
const Unassigned = summaries.Unassigned

// ListedAccount is an account with what the config database knows of the login that it is pulled with, and to what it belongs.
type ListedAccount struct {
	settings.Account
	Login          string // the platform's id of it
	LoginName      string
	LoginState     string // LoginNone when there is none
	LoginReason    string
	AccessExpires  time.Time           `gorm:"column:access_expires_at;serializer:time"`
	RefreshExpires time.Time           `gorm:"column:refresh_expires_at;serializer:time"`
	Bindings       []summaries.Binding `gorm:"-"` // by first day; they do not overlap
}

// accountWalk is how a list of accounts goes along an index, and what it asks of each that it comes by.
type accountWalk struct {
	from, id   string
	along      string // the condition on what the index has
	alongArgs  []any
	asked      string
	askedArgs  []any
	unanswered bool // no index finds what is asked
}

func (w *accountWalk) ask(condition string, args ...any) {
	w.asked, w.askedArgs, w.unanswered = w.asked+" AND "+condition, append(w.askedArgs, args...), true
}

// accountWalk walks by our id, along the accounts of a game, those of a media and tier, or all of them.
func walkAccounts(d *sqldb.DB, f AccountFilter, after int64) accountWalk {
	w := accountWalk{id: "a.id"}
	media, tier := f.Media, f.Tier
	switch {
	case f.Game != "" && f.Game != Unassigned:
		w.id = "b.account_id"
		w.from = " FROM account_binding b" + d.Dialect().ForceIndex("account_binding", "game") + " JOIN media_account a ON a.id = b.account_id"
		w.along, w.alongArgs = " WHERE b.game = ? AND b.account_id > ?", []any{f.Game, after}
		w.ask("b.from_day <= ? AND b.to_day >= ?", f.To, f.From)
	case media != "" && tier != "":
		w.from = " FROM media_account a" + d.Dialect().ForceIndex("media_account", "fan_out")
		w.along, w.alongArgs = " WHERE a.media = ? AND a.tier = ? AND a.id > ?", []any{media, tier, after}
		media, tier = "", ""
	default:
		w.from = " FROM media_account a" + d.Dialect().ForceIndex("media_account", "PRIMARY")
		w.along, w.alongArgs = " WHERE a.id > ?", []any{after}
	}
	if media != "" {
		w.ask("a.media = ?", media)
	}
	if tier != "" {
		w.ask("a.tier = ?", tier)
	}
	switch f.State {
	case AccountPulled:
		w.ask("a.bound = 1 AND a.parked = ''")
	case AccountParked:
		w.ask("a.bound = 1 AND a.parked <> ''")
	case AccountUnbound:
		w.ask("a.bound = 0")
	}
	if f.LoginState != "" {
		w.ask("COALESCE(t.state, '"+LoginNone+"') = ?", f.LoginState)
	}
	if f.Game == Unassigned {
		// No NOT EXISTS, for which MariaDB reads all bindings first.
		w.from += " LEFT JOIN account_binding b" + d.Dialect().ForceIndex("account_binding", "PRIMARY") + " ON b.account_id = a.id AND b.from_day <= ? AND b.to_day >= ?"
		w.alongArgs = append([]any{f.From, f.To}, w.alongArgs...)
		w.ask("b.account_id IS NULL")
	}
	return w
}

// ListAccounts returns accounts by our id, those with ids above after. next is the id after which the next page begins, 0 when there is none.
func (s Lists) ListAccounts(ctx context.Context, f AccountFilter, after int64, limit int) (page []ListedAccount, next int64, err error) {
	w := walkAccounts(s.Config, f, after)
	if w.unanswered {
		err := s.Config.Current(ctx).Raw("SELECT "+w.id+w.from+w.along+" ORDER BY "+w.id+" LIMIT 1 OFFSET ?", append(slices.Clone(w.alongArgs), s.Reach.Rows-1)...).Row().Scan(&next)
		switch {
		case err == nil:
			w.along, w.alongArgs = w.along+" AND "+w.id+" <= ?", append(w.alongArgs, next)
		case !errors.Is(err, sql.ErrNoRows):
			return nil, 0, fmt.Errorf("list accounts: %w", err)
		}
	}
	// It is SQL because each filter names the index that it walks.
	err = s.Config.Current(ctx).Raw("SELECT "+settings.AccountColumnsOf("a")+", COALESCE(t.login, '') AS login, COALESCE(n.name, '') AS login_name,"+
		" COALESCE(t.state, '"+LoginNone+"') AS login_state, COALESCE(t.state_reason, '') AS login_reason, t.access_expires_at, t.refresh_expires_at"+w.from+
		" LEFT JOIN media_token t ON t.id = a.token_id LEFT JOIN media_login n ON n.token_id = a.token_id"+w.along+w.asked+
		" ORDER BY "+w.id+" LIMIT ?", append(append(w.alongArgs, w.askedArgs...), limit+1)...).Scan(&page).Error
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

// addBindings adds to accounts what they belong to.
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

// FiguresCoverage returns what is known of the figures of accounts, on each of some days, as TierAccounts judges by them: those of AccountFigures.
func (s Lists) FiguresCoverage(ctx context.Context, ids []int64, days []day.Day) (map[int64][]results.Coverage, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []results.Coverage
	err := s.Data.Current(ctx).Raw("SELECT account_id, report, level, day, state, pulled_at, complete_version FROM coverage WHERE account_id IN ? AND report = ? AND level = ? AND day IN ?"+
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
