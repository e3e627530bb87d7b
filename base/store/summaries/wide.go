package summaries

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/results"
	"adsync/base/store/settings"
)

// ObjectTable is the table in which the objects of a level name their parents.
type ObjectTable struct {
	Level  string // campaign, adgroup or creative
	Table  string // the raw table
	Parent string // its column with the parent's id: a creative's ad group, an ad group's campaign
	// IDHasParent is set if an id begins with the parent's id, followed by a colon.
	IDHasParent bool
}

// wideAccount is the common part of the rows of all days of an account.
type wideAccount struct {
	settings.Account
	names   map[wideKey]string // of objects
	parents map[wideKey]string // ids of parents
	byID    map[string]bool    // levels whose ids begin with the parent's
}

// wideKey is a row of wide_daily within an account and a day, and an object.
type wideKey struct{ level, object string }

// RebuildWide rebuilds the rows of wide_daily for marked days of one account, from the public table, the partner's
// rows and the configuration, and clears the marks that still hold the value read. Rows that did not change are left
// alone, and outdated rows are deleted. Each day is written in a separate transaction, under its fence; a day that a
// later rebuild has written already is left alone. It returns how many rows it wrote and deleted.
//
// The marks are read before everything else: a change that commits in between is seen, or its mark is higher and
// stays.
func (s WideRows) RebuildWide(ctx context.Context, tables []ObjectTable, accountID int64, days []WideDay) (int, error) {
	a, err := s.wideAccount(ctx, tables, accountID)
	if err != nil {
		return 0, fmt.Errorf("read the configuration of account %d: %w", accountID, err)
	}
	written := 0
	for _, d := range days {
		n, err := s.rebuildWideDay(ctx, a, d)
		if err != nil {
			return written, fmt.Errorf("write wide_daily of account %d on %s: %w", accountID, d.Day, err)
		}
		written += n
	}
	return written, nil
}

// wideAccount reads an account's configuration. An unknown account is no error, since it may have reports.
func (s WideRows) wideAccount(ctx context.Context, tables []ObjectTable, accountID int64) (*wideAccount, error) {
	a := &wideAccount{names: map[wideKey]string{}, parents: map[wideKey]string{}, byID: map[string]bool{}}
	var err error
	// From the writer: a replica may lack the name whose mark is cleared.
	if a.Account, err = (settings.Accounts{Databases: s.Databases}).Account(ctx, accountID); err != nil &&
		!errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	a.ID = accountID
	err = s.Data.Snapshot(ctx, func(tx *gorm.DB) error {
		err := sqldb.EachText(
			tx.Raw(
				"SELECT level, object_id, name FROM object_name WHERE account_id = ? AND level IN ?"+
					" ORDER BY level, object_id, since", accountID, ObjectLevels),
			func(level, object, name string) { a.names[wideKey{level, object}] = name })
		if err != nil {
			return fmt.Errorf("read object_name: %w", err)
		}
		for _, t := range tables {
			if t.Parent == "" {
				continue
			}
			a.byID[t.Level] = t.IDHasParent
			err := sqldb.EachText(tx.Raw("SELECT '', object_id, COALESCE("+t.Parent+", '') FROM "+t.Table+
				" WHERE account_id = ?", accountID),
				func(_, object, parent string) { a.parents[wideKey{t.Level, object}] = parent })
			if err != nil {
				return fmt.Errorf("read %s: %w", t.Table, err)
			}
		}
		return nil
	})
	return a, err
}

func (s WideRows) rebuildWideDay(ctx context.Context, a *wideAccount, d WideDay) (written int, err error) {
	now, err := s.Data.Now(ctx)
	if err != nil {
		return 0, err
	}
	var known int64
	if err := s.Data.Writer(ctx).Raw("SELECT version FROM wide_day WHERE account_id = ? AND day = ?", a.ID,
		d.Day).Row().Scan(&known); err != nil {
		return 0, err
	}
	version := max(now.UnixMicro(), known+1)
	var want map[wideKey]*wideRow
	err = s.Data.Snapshot(ctx, func(tx *gorm.DB) error {
		want, err = readWideSources(tx, a, d.Day)
		return err
	})
	if err != nil {
		return 0, err
	}
	err = s.Data.Tx(ctx, func(tx *gorm.DB) error {
		written = 0
		var have int64
		err := tx.Raw("SELECT version FROM wide_day WHERE account_id = ? AND day = ?"+s.Data.Dialect().ForUpdate(), a.ID,
			d.Day).Row().Scan(&have)
		if err != nil || have >= version {
			return err // Overtaken: the later rebuild saw everything that this one saw.
		}
		now, err := s.Data.NowTx(tx)
		if err != nil {
			return err
		}
		if written, err = writeWide(s.Data, tx, a.ID, d.Day, want, now, version); err != nil {
			return err
		}
		return tx.Exec(
			"UPDATE wide_day SET version = ?, dirty = CASE WHEN dirty = ? THEN NULL ELSE dirty END"+
				" WHERE account_id = ? AND day = ?",
			version, d.Mark, a.ID, d.Day).Error
	})
	return written, err
}

// writeWide brings the rows of an account's day in line with want and returns how many it wrote and deleted.
func writeWide(d *sqldb.DB, tx *gorm.DB, accountID int64, on day.Day, want map[wideKey]*wideRow, now time.Time,
	version int64) (int, error) {
	var gone, rows [][]any
	same := map[wideKey]bool{}
	query := tx.Raw("SELECT level, object_id, "+strings.Join(wideValues, ", ")+
		" FROM wide_daily WHERE day = ? AND account_id = ?", on, accountID)
	err := eachWide(query, func(k wideKey, have *wideRow) {
		switch row, ok := want[k]; {
		case !ok:
			gone = append(gone, []any{on, accountID, k.level, k.object})
		case *row == *have:
			same[k] = true
		}
	})
	if err != nil {
		return 0, fmt.Errorf("read wide_daily: %w", err)
	}
	for k, row := range want {
		if !same[k] {
			rows = append(rows, append(row.args([]any{on, accountID, k.level, k.object}), sqldb.At(now), version))
		}
	}
	if err := d.Upsert(tx, WideTable, rows); err != nil {
		return 0, err
	}
	return len(rows) + len(gone), results.DeletePublic(d, tx, WideTable, gone, version, now)
}
