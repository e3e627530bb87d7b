package summaries

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"adsync/base/metric"
	"adsync/base/sqldb"
)

const (
	// summaryPage is how many accounts a rebuild reads at a time.
	summaryPage = 20_000
	// summedTogether is how many of them one statement adds up: as many groups as the server holds in memory, whatever
	// their games.
	summedTogether = 500
	// summedAtOnce is how many such statements run at a time: each takes a core of the server, or waits for the disk if
	// the day is not in memory.
	summedAtOnce = 8
)

// boundAccount is an account with the game for which its figures of a day count.
type boundAccount struct {
	ID       int64
	Game, OS string
}

// sumGames adds up the account level of one day of some games.
func sumGames(ctx context.Context, d *sqldb.DB, tx *gorm.DB, day DirtyDay,
	games []string) (map[summaryKey]*metric.Values, error) {
	var accounts []boundAccount
	err := tx.Raw(
		"SELECT account_id AS id, game, os FROM binding_applied WHERE game IN ? AND from_day <= ? AND to_day >= ?", games,
		day.Day, day.Day).Scan(&accounts).Error
	if err != nil {
		return nil, err
	}
	sums := map[summaryKey]*metric.Values{}
	return sums, addSums(ctx, d, tx, 1, day, accounts, sums)
}

// sumAccounts adds up the account level of one day by game, os, currency and zone (and hour), a page of accounts at a
// time. An account without a binding on that day counts for the game 'unassigned'. One statement reads all figures of
// an account, and another one its binding: there is no snapshot, so that statements can run in parallel.
func sumAccounts(ctx context.Context, d *sqldb.DB, day DirtyDay) (map[summaryKey]*metric.Values, error) {
	name := ReportName(day.Hourly)
	public := name + " r" + d.Dialect().ForceIndex(name, "level_account")
	db := d.Latest(ctx)
	sums := map[summaryKey]*metric.Values{}
	for last := int64(0); ; {
		var page []boundAccount
		err := db.Raw("SELECT a.account_id AS id, COALESCE(b.game, '"+Unassigned+
			"') AS game, COALESCE(b.os, 'unknown') AS os FROM (SELECT r.account_id FROM "+public+
			" WHERE r.day = ? AND r.level = 'account' AND r.media = ? AND r.account_id > ? GROUP BY r.account_id"+
			" ORDER BY r.account_id LIMIT ?) a"+
			" LEFT JOIN binding_applied b ON b.account_id = a.account_id AND b.from_day <= ? AND ? <= b.to_day"+
			" ORDER BY a.account_id",
			day.Day, day.Media, last, summaryPage, day.Day, day.Day).Scan(&page).Error
		if err != nil || len(page) == 0 {
			return sums, err
		}
		last = page[len(page)-1].ID
		if err := addSums(ctx, d, db, summedAtOnce, day, page, sums); err != nil {
			return nil, err
		}
	}
}

// addSums adds up a day's rows of accounts, which are found by key. The database adds: a sum is NULL where no row has
// the figure, as in metric.Values. Accounts of a game come together, and a number stands for the game, so that a
// statement is small and has few rows. atOnce statements run at a time: 1 in a transaction.
func addSums(ctx context.Context, d *sqldb.DB, db *gorm.DB, atOnce int, day DirtyDay, accounts []boundAccount,
	sums map[summaryKey]*metric.Values) error {
	slices.SortFunc(accounts, func(a, b boundAccount) int {
		return cmp.Or(cmp.Compare(a.Game, b.Game), cmp.Compare(a.OS, b.OS), cmp.Compare(a.ID, b.ID))
	})
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	var adding sync.Mutex
	for some := range slices.Chunk(accounts, summedTogether) {
		of := make([]int64, len(some)) // the index of the first account of the same game and os
		for i := range some {
			if of[i] = int64(i); i > 0 && some[i-1].Game == some[i].Game && some[i-1].OS == some[i].OS {
				of[i] = of[i-1]
			}
		}
		group.Go(func() error {
			return sum(d, db.WithContext(ctx), day, some, of, func(k summaryKey, row *metric.Values) {
				adding.Lock()
				defer adding.Unlock()
				if sums[k] == nil {
					sums[k] = &metric.Values{}
				}
				sums[k].Add(row)
			})
		})
	}
	return group.Wait()
}

// sum adds up rows of accounts in the database, and passes each sum to add. of is the index of the account that
// stands for its game and os.
func sum(d *sqldb.DB, db *gorm.DB, day DirtyDay, accounts []boundAccount, of []int64,
	add func(summaryKey, *metric.Values)) error {
	v := d.NewValues(len(accounts), "account_id", "game")
	v.Ints("account_id", func(row int) int64 { return accounts[row].ID })
	v.Ints("game", func(row int) int64 { return of[row] })
	hour := "0"
	if day.Hourly {
		hour = "t.hour"
	}
	game, gameArgs := v.In("o.game")
	from, args := sqldb.LookUpKeys(d, ReportName(day.Hourly), []string{"account_id"}, v)
	query := db.Raw("SELECT "+game+" AS game, "+hour+" AS hour, t.currency, t.day_zone, CAST(SUM(t."+
		strings.Join(metric.Names(), ") AS SIGNED), CAST(SUM(t.")+") AS SIGNED) FROM "+from+
		" AND t.day = ? AND t.level = 'account' WHERE t.media = ? GROUP BY 1, 2, t.currency, t.day_zone",
		slices.Concat(gameArgs, args, []any{day.Day, day.Media})...)
	return sqldb.EachRow(query, func(rows *sql.Rows) error {
		var place int
		var k summaryKey
		var columns metric.Columns
		if err := rows.Scan(columns.Dest([]any{&place, &k.hour, &k.currency, &k.zone})...); err != nil {
			return err
		}
		k.game, k.os = accounts[place].Game, accounts[place].OS
		row := columns.Values()
		add(k, &row)
		return nil
	})
}
