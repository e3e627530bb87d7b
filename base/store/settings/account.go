package settings

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store/widemark"
)

// Account is a row of media_account.
type Account struct {
	ID         int64
	Media      string
	ExternalID string // the platform's id
	Name       string
	TokenID    int64 // the login with which it is pulled
	Tier       string
	Timezone   string
	Currency   string
	Parked     string // why it is not pulled; empty when it is
	Bound      bool   // false: it is not pulled until an operator binds it
}

// TableName implements schema.Tabler.
func (Account) TableName() string { return "media_account" }

// BeforeUpdate is called by gorm.
func (Account) BeforeUpdate(tx *gorm.DB) error { return sqldb.Touch(tx) }

// AccountColumnsOf returns the columns of media_account under an alias.
func AccountColumnsOf(alias string) string {
	return strings.ReplaceAll(
		"#.id, #.media, #.external_id, #.name, #.token_id, #.tier, #.timezone, #.currency, #.parked, #.bound", "#", alias)
}

// Account returns an account, or sql.ErrNoRows.
func (s Accounts) Account(ctx context.Context, id int64) (Account, error) {
	var a Account
	if err := sqldb.One(s.Config.Writer(ctx).Where("id = ?", id), &a); err != nil {
		return Account{}, fmt.Errorf("read account %d: %w", id, err)
	}
	return a, nil
}

// ExternalIDs returns the platforms' ids of accounts by our ids. Accounts that do not exist are left out.
func (s Accounts) ExternalIDs(ctx context.Context, accountIDs []int64) (map[int64]string, error) {
	all := make(map[int64]string, len(accountIDs))
	for some := range slices.Chunk(accountIDs, accountBatch) {
		query := s.Config.Writer(ctx).Raw("SELECT id, external_id FROM media_account WHERE id IN ?", some)
		err := sqldb.EachRow(query, func(rows *sql.Rows) error {
			var id int64
			var external string
			err := rows.Scan(&id, &external)
			all[id] = external
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the platforms' ids of %s: %w", plural.Count(len(some), "account", "accounts"), err)
		}
	}
	return all, nil
}

// accountBatch is how many accounts one statement looks up or inserts.
const accountBatch = 500

// PutAccounts writes the accounts that a login reaches and returns our ids by the platform's ids. New accounts are
// inserted as given, and bound unless the login's new accounts wait for a choice. Of existing accounts only the name
// changes: tiers, zones and operators' settings stay. bestLogin decides with which login each is pulled. Nothing is
// deleted.
func (s Accounts) PutAccounts(
	ctx context.Context, media string, tokenID int64, found []Account,
) (map[string]int64, error) {
	found = slices.Clone(found)
	// One order for all logins: two of them may list the same accounts at the same time.
	slices.SortFunc(found, func(a, b Account) int { return cmp.Compare(a.ExternalID, b.ExternalID) })
	found = slices.CompactFunc(found, func(a, b Account) bool { return a.ExternalID == b.ExternalID })
	ids := make(map[string]int64, len(found))
	for batch := range slices.Chunk(found, accountBatch) {
		err := s.Config.Tx(ctx, func(tx *gorm.DB) error { return s.putAccounts(tx, media, tokenID, batch, ids) })
		if err != nil {
			return nil, fmt.Errorf("put %s of %s, login %d: %w", plural.Count(len(batch), "account", "accounts"),
				media, tokenID, err)
		}
	}
	return ids, nil
}

func (s Accounts) putAccounts(tx *gorm.DB, media string, tokenID int64, batch []Account, ids map[string]int64) error {
	externalIDs := make([]string, len(batch))
	for i, a := range batch {
		externalIDs[i] = a.ExternalID
	}
	known, err := accountsByExternalID(tx, media, externalIDs)
	if err != nil {
		return err
	}
	bound, err := bindsNewAccounts(tx, tokenID)
	if err != nil {
		return err
	}
	// Only missing accounts are inserted: an upsert would use up an id for every row at each pull.
	var args []any
	for i := range batch {
		a := &batch[i]
		a.Name = sqldb.Cut(a.Name, 255)
		if _, ok := known[a.ExternalID]; !ok {
			args = append(args, media, a.ExternalID, a.Name, tokenID, TierActive, a.Timezone, a.Currency, bound, nil)
		}
	}
	if len(args) > 0 {
		const width = 9
		err := tx.Exec(s.Config.Dialect().InsertIgnore()+
			"media_account (media, external_id, name, token_id, tier, timezone, currency, bound, initialised_at) VALUES "+
			sqldb.Tuples(len(args)/width, width), args...).Error
		if err != nil {
			return err
		}
		if known, err = accountsByExternalID(tx, media, externalIDs); err != nil {
			return err
		}
	}
	found := make([]Account, 0, len(batch))
	for _, a := range batch {
		have, ok := known[a.ExternalID]
		if !ok {
			return fmt.Errorf("account %s is missing after its insert", a.ExternalID)
		}
		ids[a.ExternalID] = have.ID
		if a.Name != "" && have.Name != a.Name {
			if err := tx.Model(&have).Update("name", a.Name).Error; err != nil {
				return err
			}
		}
		found = append(found, have)
	}
	return recordReach(s.Config, tx, tokenID, found)
}

// AccountRow is a row of a platform's account table.
type AccountRow struct {
	AccountID int64
	Raw       []any // values of the table's typed columns
	JSON      string
}

// PutAccountRows writes rows of a platform's account table at a version. Rows with a higher version stay as they are.
// An account whose row has changed may have another name: its days are marked for wide_daily.
func (s Accounts) PutAccountRows(ctx context.Context, media string, table rawtable.Table, version int64,
	rows []AccountRow) error {
	for batch := range slices.Chunk(rows, accountBatch) {
		err := s.Data.Tx(ctx, func(tx *gorm.DB) error { return s.putAccountRows(tx, media, table, version, batch) })
		if err != nil {
			return fmt.Errorf("put %s of %s: %w", plural.Count(len(batch), "row", "rows"), table.Name, err)
		}
	}
	return nil
}

func (s Accounts) putAccountRows(tx *gorm.DB, media string, table rawtable.Table, version int64,
	batch []AccountRow) error {
	ids := make([]int64, len(batch))
	for i, row := range batch {
		ids[i] = row.AccountID
	}
	var have []struct {
		AccountID, Version int64
		RowJSON            string `gorm:"column:row_json"`
	}
	err := tx.Clauses(sqldb.ForUpdate).Table(table.Name).Where("account_id IN ?",
		ids).Order("account_id").Find(&have).Error
	if err != nil {
		return err
	}
	newer, known := map[int64]bool{}, map[int64]string{}
	for _, row := range have {
		newer[row.AccountID], known[row.AccountID] = row.Version > version, row.RowJSON
	}
	var changed []int64
	values := make([][]any, 0, len(batch))
	for _, row := range batch {
		if !newer[row.AccountID] {
			v := append([]any{row.AccountID}, row.Raw...)
			values = append(values, append(v, row.JSON, version))
			if known[row.AccountID] != row.JSON {
				changed = append(changed, row.AccountID)
			}
		}
	}
	if err := s.Data.Upsert(tx, sqldb.UpsertOf(table), values); err != nil {
		return err
	}
	now, err := s.Data.NowTx(tx)
	if err != nil {
		return err
	}
	slices.Sort(changed)
	for _, id := range changed {
		if err := widemark.Account(s.Data, tx, media, id, []day.Day{day.Epoch}, now.UnixMicro()); err != nil {
			return err
		}
	}
	return nil
}

func accountsByExternalID(tx *gorm.DB, media string, externalIDs []string) (map[string]Account, error) {
	var found []Account
	if err := tx.Find(&found, "media = ? AND external_id IN ?", media, externalIDs).Error; err != nil {
		return nil, err
	}
	known := make(map[string]Account, len(found))
	for _, a := range found {
		known[a.ExternalID] = a
	}
	return known, nil
}
