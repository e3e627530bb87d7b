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
	signature                  string
	firstSeen, lastSeen, taken sqldb.Time
}

// mapAssets brings creative_asset to what the pull's creatives show. What one no longer shows stays, with the moment of the pull
// that found it gone. Then signatures are brought to those of the assets' own tables, where the pull has changed one of the two.
func mapAssets(d *sqldb.DB, tx *gorm.DB, w ObjectWrite, now time.Time, have map[string]*existingObject) error {
	var news []*ObjectRow
	for i := range w.Rows {
		if row := &w.Rows[i]; w.MapsAssets && row.Assets != nil && w.isNews(row, have[row.Object]) {
			news = append(news, row)
		}
	}
	if len(news) > 0 {
		uses, err := readAssets(tx, w.AccountID)
		if err != nil {
			return err
		}
		var rows [][]any
		for _, row := range news {
			rows = append(rows, w.assetRows(now, row, uses[row.Object])...)
		}
		if err := d.Upsert(tx, assetTable, rows); err != nil {
			return err
		}
	}
	if w.MappedBy != "" {
		// Neither of two pulls at a time sees what the other writes: that of the creatives waits for this one, or is waited for.
		creatives := Scope{AccountID: w.AccountID, Media: w.Media, Report: w.MappedBy, Level: "creative", Days: w.Days}
		if _, _, err := readScope(d, tx, creatives, false); err != nil {
			return err
		}
	}
	changed := w.signed(have)
	for _, kind := range slices.Sorted(maps.Keys(w.AssetTables)) {
		if err := signAssets(d, tx, w.AccountID, kind, w.AssetTables[kind], changed); err != nil {
			return err
		}
	}
	return nil
}

// signWhole is how many changed rows have the signatures of the whole account compared, which then costs less than to look for each.
const signWhole = 5000

// toSign are the rows of creative_asset whose signatures may have changed: those whose column is one of ids, or all of the account.
type toSign struct {
	column string
	ids    []string
	all    bool
}

// signed returns whose signatures a write may have changed: those of what its changed creatives show, or of its changed assets.
func (w *ObjectWrite) signed(have map[string]*existingObject) toSign {
	of := toSign{column: "creative_id", all: w.Full}
	if w.MappedBy != "" {
		of.column = "asset_id"
	}
	for i := range w.Rows {
		if row := &w.Rows[i]; !of.all && w.isNews(row, have[row.Object]) {
			of.ids = append(of.ids, row.Object)
		}
	}
	of.all = of.all || len(of.ids) > signWhole
	return of
}

func readAssets(tx *gorm.DB, accountID int64) (map[string]map[rawtable.AssetUse]assetRow, error) {
	rows, err := tx.Raw("SELECT creative_id, kind, asset_id, signature, first_seen_at, last_seen_at, removed_at FROM creative_asset WHERE account_id = ?", accountID).Rows()
	if err != nil {
		return nil, fmt.Errorf("read creative_asset: %w", err)
	}
	defer rows.Close()
	uses := map[string]map[rawtable.AssetUse]assetRow{}
	for rows.Next() {
		var creative string
		var use rawtable.AssetUse
		var r assetRow
		if err := rows.Scan(&creative, &use.Kind, &use.ID, &r.signature, &r.firstSeen, &r.lastSeen, &r.taken); err != nil {
			return nil, fmt.Errorf("read creative_asset: %w", err)
		}
		if uses[creative] == nil {
			uses[creative] = map[rawtable.AssetUse]assetRow{}
		}
		uses[creative][use] = r
	}
	return uses, sqldb.FirstError(rows.Err(), rows.Close())
}

// assetRows returns the rows of a creative that are to be written.
func (w *ObjectWrite) assetRows(now time.Time, row *ObjectRow, had map[rawtable.AssetUse]assetRow) (rows [][]any) {
	write := func(use rawtable.AssetUse, r assetRow) {
		rows = append(rows, []any{w.AccountID, row.Object, use.Kind, use.ID, w.Media, r.signature, r.firstSeen, r.lastSeen, r.taken, w.Version})
	}
	for _, use := range row.Assets {
		r, known := had[use]
		if !known {
			r.firstSeen = sqldb.At(now)
		}
		r.lastSeen, r.taken = sqldb.At(now), sqldb.Time{}
		write(use, r)
	}
	for use, r := range had {
		if r.taken.IsZero() && !row.MoreAssets && !slices.Contains(row.Assets, use) {
			r.taken = sqldb.At(now)
			write(use, r)
		}
	}
	return rows
}

// signAssets brings signatures to those of a raw table of assets, also where it has none any more: one that could not be used is unset there.
func signAssets(d *sqldb.DB, tx *gorm.DB, accountID int64, kind, table string, rows toSign) error {
	of := " FROM " + table + " t WHERE t.account_id = creative_asset.account_id AND t.object_id = creative_asset.asset_id"
	by := ""
	if !rows.all && rows.column == "asset_id" {
		by = d.Dialect().ForceIndex("creative_asset", "asset") // SQLite would read all of the account.
	}
	update := "UPDATE creative_asset" + by + " SET signature = (SELECT COALESCE(t.signature, '')" + of + ") WHERE account_id = ? AND kind = ?"
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
		return fmt.Errorf("sign creative_asset by %s: %w", table, err)
	}
	return nil
}
