package results

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/rawtable"
	"adsync/base/sqldb"
)

var assetTable = sqldb.Table{
	Name: "creative_asset", Key: []string{"account_id", "creative_id", "kind", "asset_id"},
	Columns: []string{"media", "signature", "first_seen_at", "last_seen_at", "removed_at", "version"},
}

// assetRow is a row of creative_asset.
type assetRow struct {
	signature                    string
	firstSeen, lastSeen, removed sqldb.Time
}

// mapAssets brings creative_asset in line with the assets of the pull's creatives. An asset that a creative no longer
// shows stays, with the moment of the pull that found it removed. Then it copies signatures from the assets' own
// tables, where the pull has changed creatives or assets.
func mapAssets(d *sqldb.DB, tx *gorm.DB, w ObjectWrite, now time.Time, stored map[string]*existingObject) error {
	var mapped []*ObjectRow
	for i := range w.Rows {
		if row := &w.Rows[i]; w.MapsAssets && row.Assets != nil && w.mustWrite(row, stored[row.Object]) {
			mapped = append(mapped, row)
		}
	}
	if len(mapped) > 0 {
		uses, err := readAssets(tx, w.AccountID)
		if err != nil {
			return err
		}
		var rows [][]any
		for _, row := range mapped {
			rows = append(rows, w.assetRows(now, row, uses[row.Object])...)
		}
		if err := d.Upsert(tx, assetTable, rows); err != nil {
			return err
		}
	}
	if w.MappedBy != "" {
		// Two pulls at once do not see each other's writes: the lock makes this one and that of the creatives wait for each
		// other.
		creatives := Scope{AccountID: w.AccountID, Media: w.Media, Report: w.MappedBy, Level: "creative", Days: w.Days}
		if _, _, err := readScope(d, tx, creatives, false); err != nil {
			return err
		}
	}
	outdated := w.signaturesOf(stored)
	for _, kind := range slices.Sorted(maps.Keys(w.AssetTables)) {
		if err := updateSignatures(d, tx, w.AccountID, kind, w.AssetTables[kind], outdated); err != nil {
			return err
		}
	}
	return nil
}

// signatureIDsMax is above how many changed rows the signatures of the whole account are compared, which then costs
// less than looking each up.
const signatureIDsMax = 5000

// signatureRows are the rows of creative_asset whose signatures may have changed: those whose column is one of ids,
// or all of the account.
type signatureRows struct {
	column string
	ids    []string
	all    bool
}

// signaturesOf returns the rows whose signatures a write may have changed: those of its changed creatives' assets, or
// of its changed assets.
func (w *ObjectWrite) signaturesOf(stored map[string]*existingObject) signatureRows {
	of := signatureRows{column: "creative_id", all: w.Full}
	if w.MappedBy != "" {
		of.column = "asset_id"
	}
	for i := range w.Rows {
		if row := &w.Rows[i]; !of.all && w.mustWrite(row, stored[row.Object]) {
			of.ids = append(of.ids, row.Object)
		}
	}
	of.all = of.all || len(of.ids) > signatureIDsMax
	return of
}

func readAssets(tx *gorm.DB, accountID int64) (map[string]map[rawtable.AssetUse]assetRow, error) {
	rows, err := tx.Raw(
		"SELECT creative_id, kind, asset_id, signature, first_seen_at, last_seen_at, removed_at FROM creative_asset"+
			" WHERE account_id = ?", accountID).Rows()
	if err != nil {
		return nil, fmt.Errorf("read creative_asset: %w", err)
	}
	defer rows.Close()
	uses := map[string]map[rawtable.AssetUse]assetRow{}
	for rows.Next() {
		var creative string
		var use rawtable.AssetUse
		var r assetRow
		if err := rows.Scan(&creative, &use.Kind, &use.ID, &r.signature, &r.firstSeen, &r.lastSeen, &r.removed); err != nil {
			return nil, fmt.Errorf("read creative_asset: %w", err)
		}
		if uses[creative] == nil {
			uses[creative] = map[rawtable.AssetUse]assetRow{}
		}
		uses[creative][use] = r
	}
	return uses, sqldb.FirstError(rows.Err(), rows.Close())
}

// assetRows returns the rows of a creative that must be written.
func (w *ObjectWrite) assetRows(now time.Time, row *ObjectRow, had map[rawtable.AssetUse]assetRow) (rows [][]any) {
	write := func(use rawtable.AssetUse, r assetRow) {
		rows = append(rows, []any{w.AccountID, row.Object, use.Kind, use.ID, w.Media, r.signature, r.firstSeen, r.lastSeen,
			r.removed, w.Version})
	}
	for _, use := range row.Assets {
		r, known := had[use]
		if !known {
			r.firstSeen = sqldb.At(now)
		}
		r.lastSeen, r.removed = sqldb.At(now), sqldb.Time{}
		write(use, r)
	}
	for use, r := range had {
		if r.removed.IsZero() && !row.MoreAssets && !slices.Contains(row.Assets, use) {
			r.removed = sqldb.At(now)
			write(use, r)
		}
	}
	return rows
}

// updateSignatures copies signatures from a raw table of assets, also where the asset has none any more: a signature
// that could not be used is unset there.
func updateSignatures(d *sqldb.DB, tx *gorm.DB, accountID int64, kind, table string, rows signatureRows) error {
	of := " FROM " + table + " t WHERE t.account_id = creative_asset.account_id AND t.object_id = creative_asset.asset_id"
	by := ""
	if !rows.all && rows.column == "asset_id" {
		by = d.Dialect().ForceIndex("creative_asset", "asset") // Otherwise SQLite reads the whole account.
	}
	update := "UPDATE creative_asset" + by + " SET signature = (SELECT COALESCE(t.signature, '')" + of +
		") WHERE account_id = ? AND kind = ?"
	differs := " AND EXISTS (SELECT 1" + of + " AND COALESCE(t.signature, '') <> creative_asset.signature)"
	var err error
	if rows.all {
		err = tx.Exec(update+differs, accountID, kind).Error
	}
	for some := range slices.Chunk(rows.ids, 500) {
		if err == nil && !rows.all {
			err = tx.Exec(update+" AND "+rows.column+" IN ?"+differs, accountID, kind, some).Error
		}
	}
	if err != nil {
		return fmt.Errorf("copy signatures of %s to creative_asset: %w", table, err)
	}
	return nil
}
