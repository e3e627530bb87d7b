package summaries

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/copies"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/widemark"
)

// partnerN is the number of a partner's figures.
const partnerN = 7

// PartnerFigures are the partner's figures, as columns of its table and of partner_daily. In wide_daily they have the
// prefix "partner_".
var PartnerFigures = [partnerN]string{
	"new_users", "returning_users", "pay_amount_d1", "pay_amount_d3", "pay_amount_d7", "pay_amount_d14", "pay_amount_d30",
}

// PartnerValues are a partner's figures in the order of PartnerFigures; NULL is a figure that the partner does not
// have. Money is in millionths of the account's currency.
type PartnerValues [partnerN]sql.NullInt64

func (v *PartnerValues) add(o PartnerValues) {
	for i := range v {
		if o[i].Valid {
			v[i] = sql.NullInt64{Int64: v[i].Int64 + o[i].Int64, Valid: true}
		}
	}
}

func (v *PartnerValues) args(args []any) []any {
	for i := range v {
		args = append(args, v[i])
	}
	return args
}

func (v *PartnerValues) dest(dest []any) []any {
	for i := range v {
		dest = append(dest, &v[i])
	}
	return dest
}

// PartnerRow is a row of the partner's table.
type PartnerRow struct {
	ID      int64
	Deleted bool // the row was deleted
	Day     day.Day
	Game    string
	OS      string
	Media   string
	Account string // the platform's id of the account
	Level   string // of the figures: account, campaign, adgroup or creative
	Object  string // the platform's id of the object; "" at account level
	Values  PartnerValues
}

// The notes of rows of partner_daily that count for less than they name.
const (
	PartnerNoAccount = "account unknown" // counts for nothing until the account is known
	PartnerNoObject  = "no such object"  // counts only for the account
)

// partnerEntry is a row of partner_daily without updated_at and version.
type partnerEntry struct {
	PartnerRow
	accountID int64 // 0 if not known
	note      string
}

var partnerColumns = slices.Concat([]string{"day", "game", "os", "media", "external_id", "account_id", "level",
	"object_id"}, PartnerFigures[:], []string{"note"})

var partnerTable = sqldb.Table{Name: "partner_daily", Key: []string{"partner_id"},
	Columns: append(slices.Clone(partnerColumns), "updated_at", "version")}

// entry returns the row of partner_daily for a partner's row. account is ours; the zero Account stands for an unknown
// one.
func (r PartnerRow) entry(account settings.Account) partnerEntry {
	e := partnerEntry{PartnerRow: r, accountID: account.ID}
	switch {
	case account.ID == 0:
		e.note = PartnerNoAccount
	case r.Level != settings.AccountLevel && (!slices.Contains(ObjectLevels, r.Level) || r.Object == ""):
		e.note = PartnerNoObject
	}
	return e
}

// PartnerResult is how many rows of partner_daily a batch changed.
type PartnerResult struct{ Written, Deleted int }

// PutPartnerRows copies a batch of the partner's rows in one transaction: it records their unusable values, marks
// their days for wide_daily, and moves the run's cursor. accounts has the known accounts by media and the platform's
// id. Rows that did not change are left alone. It returns copies.ErrOvertaken when another run of the copy has begun.
func (s PartnerCopy) PutPartnerRows(ctx context.Context, run *copies.State, batch PartnerBatch,
	accounts map[string]map[string]settings.Account, cursor PartnerCursor) (PartnerResult, error) {
	var result PartnerResult
	err := s.write(ctx, run, cursor.String(), func(tx *gorm.DB, now time.Time) error {
		result = PartnerResult{}
		touched := touchedDays{}
		if err := putPartnerRows(s.Data, tx, batch.Rows, accounts, now, touched, &result); err != nil {
			return err
		}
		if err := putPartnerFaults(s.Data, tx, batch, now); err != nil {
			return err
		}
		return touched.mark(s.Data, tx, now.UnixMicro())
	})
	if err != nil {
		return PartnerResult{}, fmt.Errorf("copy %d of the partner's rows: %w", len(batch.Rows), err)
	}
	return result, nil
}

// write runs a write of a run of the copy, and moves its cursor. write is given the database's time.
func (s PartnerCopy) write(ctx context.Context, run *copies.State, cursor string,
	write func(tx *gorm.DB, now time.Time) error) error {
	return copies.CopyRows{Databases: s.Databases}.WriteCopy(ctx, run, cursor, func(tx *gorm.DB) error {
		now, err := s.Data.NowTx(tx)
		if err != nil {
			return err
		}
		return write(tx, now)
	})
}

func putPartnerRows(d *sqldb.DB, tx *gorm.DB, rows []PartnerRow, accounts map[string]map[string]settings.Account,
	now time.Time, touched touchedDays, result *PartnerResult) error {
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	have, newest, err := partnerEntries(tx, ids)
	if err != nil {
		return err
	}
	version := max(now.UnixMicro(), newest+1)
	var values, gone [][]any
	for _, r := range rows {
		before, known := have[r.ID]
		if r.Deleted {
			if known {
				gone = append(gone, []any{r.ID})
				touched.add(before.Media, before.accountID, before.Day)
			}
			continue
		}
		e := r.entry(accounts[r.Media][r.Account])
		if known && e == before {
			continue
		}
		if known {
			touched.add(before.Media, before.accountID, before.Day)
		}
		touched.add(e.Media, e.accountID, e.Day)
		values = append(values, append(e.args(), sqldb.At(now), version))
	}
	result.Written, result.Deleted = len(values), len(gone)
	if err := d.Upsert(tx, partnerTable, values); err != nil {
		return err
	}
	return results.DeletePublic(d, tx, partnerTable, gone, version, now)
}

func (e *partnerEntry) args() []any {
	var accountID any
	if e.accountID != 0 {
		accountID = e.accountID
	}
	args := []any{e.ID, e.Day, e.Game, e.OS, e.Media, e.Account, accountID, e.Level, e.Object}
	return append(e.Values.args(args), e.note)
}

// partnerEntries returns rows of partner_daily by their ids, and the highest version among them.
func partnerEntries(tx *gorm.DB, ids []int64) (map[int64]partnerEntry, int64, error) {
	entries := map[int64]partnerEntry{}
	newest := int64(0)
	for batch := range slices.Chunk(ids, 1000) {
		rows, err := tx.Raw("SELECT partner_id, "+strings.Join(partnerColumns, ", ")+
			", version FROM partner_daily WHERE partner_id IN ?", batch).Rows()
		if err != nil {
			return nil, 0, fmt.Errorf("read partner_daily: %w", err)
		}
		defer rows.Close()
		for rows.Next() {
			var e partnerEntry
			var accountID sql.NullInt64
			var version int64
			dest := []any{&e.ID, &e.Day, &e.Game, &e.OS, &e.Media, &e.Account, &accountID, &e.Level, &e.Object}
			if err := rows.Scan(append(e.Values.dest(dest), &e.note, &version)...); err != nil {
				return nil, 0, fmt.Errorf("read partner_daily: %w", err)
			}
			e.accountID = accountID.Int64
			entries[e.ID] = e
			newest = max(newest, version)
		}
		if err := sqldb.FirstError(rows.Err(), rows.Close()); err != nil {
			return nil, 0, fmt.Errorf("read partner_daily: %w", err)
		}
	}
	return entries, newest, nil
}

// touchedDays is days of accounts, by media and account.
type touchedDays map[string]map[int64][]day.Day

func (t touchedDays) add(media string, accountID int64, on day.Day) {
	if accountID == 0 {
		return
	}
	if t[media] == nil {
		t[media] = map[int64][]day.Day{}
	}
	t[media][accountID] = append(t[media][accountID], on)
}

// mark marks the days for wide_daily, in the order of their keys.
func (t touchedDays) mark(d *sqldb.DB, tx *gorm.DB, at int64) error {
	type owner struct {
		accountID int64
		media     string
	}
	var owners []owner
	for media, accounts := range t {
		for id := range accounts {
			owners = append(owners, owner{id, media})
		}
	}
	slices.SortFunc(owners, func(a, b owner) int { return cmp.Compare(a.accountID, b.accountID) })
	for _, o := range owners {
		days := t[o.media][o.accountID]
		slices.Sort(days)
		if err := widemark.Account(d, tx, o.media, o.accountID, slices.Compact(days), at); err != nil {
			return err
		}
	}
	return nil
}
