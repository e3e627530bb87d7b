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

// Login is a login without its tokens.
type Login struct {
	ID          int64
	Media       string
	AppID       string
	Login       string // the platform's id
	Name        string // for people; may be empty
	State       string
	StateReason string
	// Choose is set if newly found accounts of the login are not pulled until an operator binds them.
	Choose bool
}

// The tables and columns of a Login, where t is media_token.
const (
	loginNames   = "LEFT JOIN media_login n ON n.token_id = t.id"
	loginColumns = "t.id, t.media, t.app_id, t.login, COALESCE(n.name, '') AS name, t.state, t.state_reason," +
		" COALESCE(n.choose, 0) AS choose"
)

// Logins returns logins, by id: only those of one media and of one app, unless these are empty.
func (s LoginKeys) Logins(ctx context.Context, media, appID string) ([]Login, error) {
	query := s.Config.Writer(ctx).Table("media_token t").Joins(loginNames)
	if media != "" {
		query = query.Where("t.media = ?", media)
	}
	if appID != "" {
		query = query.Where("t.app_id = ?", appID)
	}
	var logins []Login
	if err := query.Select(loginColumns).Order("t.id").Find(&logins).Error; err != nil {
		return nil, fmt.Errorf("read the logins: %w", err)
	}
	return logins, nil
}

// nameLogin sets a login's name. With choose, a login without a row gets one whose new accounts wait for a choice; an
// existing setting stays.
func nameLogin(d *sqldb.DB, tx *gorm.DB, tokenID int64, name string, choose bool) error {
	if name == "" && !choose {
		return nil
	}
	name = sqldb.Cut(name, 255)
	err := tx.Exec(d.Dialect().InsertIgnore()+"media_login (token_id, name, choose) VALUES (?, ?, ?)",
		tokenID, name, choose).Error
	if err != nil || name == "" {
		return err
	}
	return tx.Table("media_login").Where("token_id = ?", tokenID).Update("name", name).Error
}

// SetChoose sets whether accounts that a login is found to reach from now on wait for a choice.
func (s LoginKeys) SetChoose(ctx context.Context, tokenID int64, choose bool) error {
	err := s.Config.Upsert(s.Config.Writer(ctx), sqldb.Table{Name: "media_login", Key: []string{"token_id"},
		Columns: []string{"choose"}}, [][]any{{tokenID, choose}})
	if err != nil {
		return fmt.Errorf("set whether new accounts of login %d wait for a choice: %w", tokenID, err)
	}
	return nil
}

// bindsNewAccounts reports whether newly found accounts of a login are bound at once.
func bindsNewAccounts(tx *gorm.DB, tokenID int64) (bool, error) {
	var waiting int64
	err := tx.Table("media_login").Where("token_id = ? AND choose = 1", tokenID).Count(&waiting).Error
	return waiting == 0, err
}

// LoginAccount is an account that a login reaches.
type LoginAccount struct {
	Account
	// Games reports whether the account has a binding on any day.
	Games bool
}

// LoginAccounts returns the accounts that a login reaches, by the platform's id.
func (s LoginKeys) LoginAccounts(ctx context.Context, tokenID int64) ([]LoginAccount, error) {
	var all []LoginAccount
	err := s.Config.Writer(ctx).Table("account_login l").Joins("JOIN media_account a ON a.id = l.account_id").
		Select(AccountColumnsOf("a")+", EXISTS (SELECT 1 FROM account_binding b WHERE b.account_id = a.id) AS games").
		Where("l.token_id = ? AND l.gone = 0", tokenID).Order("a.external_id").Find(&all).Error
	if err != nil {
		return nil, fmt.Errorf("read the accounts of login %d: %w", tokenID, err)
	}
	return all, nil
}

// AccountLogin is a login that reaches an account.
type AccountLogin struct {
	Login
	Chosen bool      // the preferred one while it is usable
	Gone   bool      // its last whole list lacks the account
	InUse  bool      // the one with which it is pulled
	SeenAt time.Time `gorm:"serializer:time"`
}

// AccountLogins returns the logins that reach an account, by id.
func (s LoginKeys) AccountLogins(ctx context.Context, accountID int64) ([]AccountLogin, error) {
	var all []AccountLogin
	err := s.Config.Writer(ctx).Table("account_login l").
		Joins("JOIN media_account a ON a.id = l.account_id JOIN media_token t ON t.id = l.token_id").Joins(loginNames).
		Select(loginColumns+", l.chosen, l.gone, CASE WHEN a.token_id = t.id THEN 1 ELSE 0 END AS in_use, l.seen_at").
		Where("l.account_id = ?", accountID).Order("t.id").Find(&all).Error
	if err != nil {
		return nil, fmt.Errorf("read the logins of account %d: %w", accountID, err)
	}
	return all, nil
}

// ChooseLogin makes a login the one with which an account is pulled while it is usable. The login must reach the
// account.
func (s LoginKeys) ChooseLogin(ctx context.Context, accountID, tokenID int64) error {
	err := s.Config.IdempotentTx(ctx, func(tx *gorm.DB) error {
		var reaches int64
		err := tx.Table("account_login").Where("account_id = ? AND token_id = ?", accountID, tokenID).Count(&reaches).Error
		if err == nil && reaches == 0 {
			err = fmt.Errorf("login %d does not reach the account", tokenID)
		}
		if err != nil {
			return err
		}
		err = tx.Table("account_login").Where("account_id = ?", accountID).
			Update("chosen", gorm.Expr("CASE WHEN token_id = ? THEN 1 ELSE 0 END", tokenID)).Error
		if err != nil {
			return err
		}
		return route(s.Config, tx, []int64{accountID})
	})
	if err != nil {
		return fmt.Errorf("choose the login of account %d: %w", accountID, err)
	}
	return nil
}

// MarkGone records that a complete list of a login, begun at a moment of the config database's time, lacks the
// accounts not seen since. Those accounts move to other logins that reach them, if any. It returns how many accounts
// the list lacks.
func (s LoginKeys) MarkGone(ctx context.Context, tokenID int64, began time.Time) (int, error) {
	missed := 0
	err := s.Config.IdempotentTx(ctx, func(tx *gorm.DB) error {
		var ids []int64
		err := tx.Clauses(sqldb.ForUpdate).Table("account_login").Where("token_id = ? AND gone = 0 AND seen_at < ?", tokenID,
			sqldb.At(began)).
			Order("account_id").Pluck("account_id", &ids).Error
		if missed = len(ids); err != nil || missed == 0 {
			return err
		}
		for batch := range slices.Chunk(ids, accountBatch) {
			if err := tx.Table("account_login").Where("token_id = ? AND account_id IN ?", tokenID, batch).Update("gone",
				1).Error; err != nil {
				return err
			}
		}
		return route(s.Config, tx, ids)
	})
	if err != nil {
		return 0, fmt.Errorf("record which accounts the list of login %d lacks: %w", tokenID, err)
	}
	return missed, nil
}

// BindAccounts binds accounts, or unbinds them: unbound accounts are not pulled.
func (s LoginKeys) BindAccounts(ctx context.Context, actor string, ids []int64, bound bool) error {
	e := Editor{Actor: actor, Action: "account.unbind"}
	if bound {
		e.Action = "account.bind"
	}
	for batch := range slices.Chunk(ids, accountBatch) {
		err := Edit(ctx, s.Databases, e, "media_account", batch, func(tx *gorm.DB) error {
			return tx.Model(&Account{}).Where("id IN ?", batch).Update("bound", bound).Error
		})
		if err != nil {
			return fmt.Errorf("bind %s: %w", plural.Count(len(batch), "account", "accounts"), err)
		}
	}
	return nil
}

// recordReach records that a login reaches accounts. The login with which an account was found first is its chosen
// one.
func recordReach(d *sqldb.DB, tx *gorm.DB, tokenID int64, accounts []Account) error {
	now, err := d.NowTx(tx)
	if err != nil {
		return err
	}
	ids := make([]int64, len(accounts))
	for i, a := range accounts {
		ids[i] = a.ID
	}
	var have []int64
	if err := tx.Table("account_login").Where("token_id = ? AND account_id IN ?", tokenID, ids).Pluck("account_id",
		&have).Error; err != nil {
		return err
	}
	rows := make([][]any, len(accounts))
	var first []int64
	for i, a := range accounts {
		rows[i] = []any{a.ID, tokenID, 0, sqldb.At(now)}
		if a.TokenID == tokenID && !slices.Contains(have, a.ID) {
			first = append(first, a.ID)
		}
	}
	err = d.Upsert(tx, sqldb.Table{Name: "account_login", Key: []string{"account_id", "token_id"},
		Columns: []string{"gone", "seen_at"}}, rows)
	if err != nil {
		return err
	}
	if len(first) > 0 {
		if err := tx.Table("account_login").Where("token_id = ? AND account_id IN ?", tokenID, first).Update("chosen",
			1).Error; err != nil {
			return err
		}
	}
	return route(d, tx, ids)
}

// RouteLogin chooses the login again for all accounts that a login reaches, after its state has changed. Of two
// changes at once, the later routing sees both.
func (s LoginKeys) RouteLogin(ctx context.Context, tokenID int64) error {
	err := s.Config.IdempotentTx(ctx, func(tx *gorm.DB) error { return routeLogin(s.Config, tx, tokenID) })
	if err != nil {
		return fmt.Errorf("choose the logins for the accounts of login %d: %w", tokenID, err)
	}
	return nil
}

// routeLogin is RouteLogin in a transaction.
func routeLogin(d *sqldb.DB, tx *gorm.DB, tokenID int64) error {
	var ids []int64
	if err := tx.Table("account_login").Where("token_id = ?", tokenID).Order("account_id").Pluck("account_id",
		&ids).Error; err != nil {
		return err
	}
	return route(d, tx, ids)
}

// reach is a login that reaches an account, as bestLogin compares it.
type reach struct {
	AccountID, InUse, TokenID int64
	Chosen, Gone              bool
	State, Parked             string
}

func (r reach) usable() bool { return !r.Gone && r.State == TokenOK }

// route sets the logins of accounts by bestLogin, and unparks accounts that waited for a usable one. The rows that it
// reads stay locked until the transaction ends: of two changes at once, the later one sees the earlier.
func route(d *sqldb.DB, tx *gorm.DB, accountIDs []int64) error {
	for batch := range slices.Chunk(accountIDs, accountBatch) {
		var all []reach
		err := tx.Raw("SELECT l.account_id, a.token_id AS in_use, l.token_id, l.chosen, l.gone, t.state, a.parked"+
			" FROM account_login l"+
			" JOIN media_account a ON a.id = l.account_id JOIN media_token t ON t.id = l.token_id WHERE l.account_id IN ?"+
			" ORDER BY l.account_id, l.token_id"+d.Dialect().ForUpdate(), batch).Scan(&all).Error
		if err != nil {
			return err
		}
		moves := map[int64][]int64{} // accounts by their new login
		var back []int64
		for len(all) > 0 {
			n := 1
			for n < len(all) && all[n].AccountID == all[0].AccountID {
				n++
			}
			best := bestLogin(all[:n])
			if best != all[0].InUse {
				moves[best] = append(moves[best], all[0].AccountID)
			}
			usable := func(r reach) bool { return r.TokenID == best && r.State == TokenOK }
			if all[0].Parked == ParkedLogin && slices.ContainsFunc(all[:n], usable) {
				back = append(back, all[0].AccountID)
			}
			all = all[n:]
		}
		for tokenID, ids := range moves {
			if err := tx.Model(&Account{}).Where("id IN ?", ids).Update("token_id", tokenID).Error; err != nil {
				return err
			}
		}
		if err := unparkRouted(d, tx, back); err != nil {
			return err
		}
	}
	return nil
}

// unparkRouted unparks accounts that have a usable login again.
func unparkRouted(d *sqldb.DB, tx *gorm.DB, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	now, err := d.NowTx(tx)
	if err == nil {
		_, err = unpark(d, tx, ids, ParkedLogin, ReasonReturned, now)
	}
	return err
}

// bestLogin returns with which of the logins that reach an account it is pulled: the chosen one if usable, otherwise
// the one in use if usable, otherwise the oldest usable one. If none is usable it keeps the one in use. logins is not
// empty.
func bestLogin(logins []reach) int64 {
	inUse := logins[0].InUse
	best := int64(0)
	for _, l := range logins {
		switch {
		case !l.usable():
		case l.Chosen:
			return l.TokenID
		case l.TokenID == inUse || best == 0:
			best = l.TokenID
		}
	}
	if best == 0 {
		return inUse
	}
	return best
}
