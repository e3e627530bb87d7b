package summaries

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
)

// Games returns the codes of all games, sorted.
func (s GameBindings) Games(ctx context.Context) ([]string, error) {
	var codes []string
	if err := s.Config.Writer(ctx).Table("game").Order("code").Pluck("code", &codes).Error; err != nil {
		return nil, fmt.Errorf("read the games: %w", err)
	}
	return codes, nil
}

// Game is a row of game.
type Game struct {
	Code, Name string
	Accounts   int // that belong to it on the day that was asked for
}

// GamesOn returns all games by code, with the number of accounts that belong to each on a day. Of Unassigned these
// are the accounts that are pulled and have no binding on that day.
func (s GameBindings) GamesOn(ctx context.Context, on day.Day) ([]Game, error) {
	db := s.Config.Writer(ctx)
	var games []Game
	if err := db.Table("game").Select("code, name").Order("code").Find(&games).Error; err != nil {
		return nil, fmt.Errorf("read the games: %w", err)
	}
	rows, err := ReadBindings(db.Where("from_day <= ? AND to_day >= ?", on, on))
	if err != nil {
		return nil, err
	}
	accounts := map[string]int{}
	for i, b := range rows {
		if i+1 == len(rows) || rows[i+1].AccountID != b.AccountID { // The binding that begins last holds.
			accounts[strings.TrimRight(b.Game, " ")]++
		}
	}
	var without int64
	err = db.Table("media_account a").Where(
		"a.bound = 1 AND NOT EXISTS (SELECT 1 FROM account_binding b WHERE b.account_id = a.id AND b.from_day <= ? AND "+
			"b.to_day >= ?)",
		on, on).Count(&without).Error
	if err != nil {
		return nil, fmt.Errorf("count the accounts without a game: %w", err)
	}
	accounts[Unassigned] += int(without)
	for i := range games {
		games[i].Accounts = accounts[games[i].Code]
	}
	return games, nil
}

// GameAccount is an account with a binding to a game.
type GameAccount struct {
	settings.Account
	Binding
}

// GameAccounts returns the days on which accounts belong to a game, by account and first day: those of up to limit
// accounts with an id above after. next is the id to continue after; it is 0 at the end.
func (s GameBindings) GameAccounts(ctx context.Context, game string, after int64, limit int) (all []GameAccount,
	next int64, err error) {
	db := s.Config.Writer(ctx)
	var ids []int64
	err = db.Table("account_binding").Where("game = ? AND account_id > ?", game,
		after).Distinct().Order("account_id").Limit(limit+1).Pluck("account_id", &ids).Error
	if err != nil {
		return nil, 0, fmt.Errorf("read the accounts of game %s: %w", game, err)
	}
	if len(ids) > limit {
		ids = ids[:limit]
		next = ids[limit-1]
	}
	if len(ids) == 0 {
		return nil, 0, nil
	}
	var accounts []settings.Account
	if err := db.Where("id IN ?", ids).Order("id").Find(&accounts).Error; err != nil {
		return nil, 0, fmt.Errorf("read the accounts of game %s: %w", game, err)
	}
	rows, err := ReadBindings(db.Where("account_id IN ?", ids))
	if err != nil {
		return nil, 0, err
	}
	for _, a := range accounts {
		own := slices.DeleteFunc(slices.Clone(rows), func(b Binding) bool { return b.AccountID != a.ID })
		for _, b := range WithoutOverlaps(own) {
			if b.Game == game {
				all = append(all, GameAccount{Account: a, Binding: b})
			}
		}
	}
	return all, next, nil
}

// DaySum is what days of an account add up to in one currency.
type DaySum struct {
	Currency    string
	Days        int
	First, Last day.Day
	Sums        metric.Values
}

// SumDays adds up the daily figures of an account from a day to another, by currency: what its days are in the
// summaries. Days without figures are not counted.
func (s GameBindings) SumDays(ctx context.Context, accountID int64, from, to day.Day) ([]DaySum, error) {
	// The days come from coverage, whose key begins with the account: that of report_daily begins with the day.
	query := s.Data.Writer(ctx).Raw("SELECT r.currency, COUNT(DISTINCT r.day), MIN(r.day), MAX(r.day), CAST(SUM(r."+
		strings.Join(metric.Names(), ") AS SIGNED), CAST(SUM(r.")+") AS SIGNED)"+
		" FROM coverage c JOIN report_daily r ON r.day = c.day AND r.account_id = c.account_id AND r.level = 'account'"+
		" WHERE c.account_id = ? AND c.report = 'report_daily' AND c.level = 'account' AND c.day >= ? AND c.day <= ? GROUP "+
		"BY r.currency ORDER BY r.currency",
		accountID, from, to)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, d *DaySum) error {
		var columns metric.Columns
		err := rows.Scan(columns.Dest([]any{&d.Currency, &d.Days, &d.First, &d.Last})...)
		d.Sums = columns.Values()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("add up the days of account %d: %w", accountID, err)
	}
	return all, nil
}

var gameTable = sqldb.Table{Name: "game", Key: []string{"code"}, Columns: []string{"name"}}

// PutGame writes a game, or renames the one with that code. audit_log records the actor.
func (s GameBindings) PutGame(ctx context.Context, actor, code, name string) error {
	err := settings.Edit(ctx, s.Databases, settings.Editor{Actor: actor, Action: "game.put"}, "game", nil,
		func(tx *gorm.DB) error {
			return s.Config.Upsert(tx, gameTable, [][]any{{code, sqldb.Cut(name, 255)}})
		})
	if err != nil {
		return fmt.Errorf("put game %s: %w", code, err)
	}
	return nil
}
