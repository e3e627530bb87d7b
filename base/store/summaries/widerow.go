package summaries

import (
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

// The texts of a row of wide_daily; "" is NULL, except for the first three.
const (
	wideMedia = iota
	wideGame
	wideOS
	wideExternal
	wideName
	wideCampaign
	wideCampaignName
	wideAdgroup
	wideAdgroupName
	wideCreative
	wideCreativeName
	wideCurrency
	wideZone
	wideTexts
)

var wideTextNames = [wideTexts]string{
	"media", "game", "os", "external_id", "account_name", "campaign_id", "campaign_name", "adgroup_id", "adgroup_name",
	"creative_id", "creative_name",
	"currency", "day_zone",
}

// wideValues are the columns of wide_daily between the key and updated_at: texts, the platform's figures, the
// partner's.
var wideValues = slices.Concat(wideTextNames[:], metric.Names(), prefixed("partner_", PartnerFigures[:]))

// WideTable is wide_daily.
var WideTable = sqldb.Table{
	Name: "wide_daily", Key: []string{"day", "account_id", "level", "object_id"},
	Columns: append(slices.Clone(wideValues), "updated_at", "version"),
}

func prefixed(prefix string, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = prefix + n
	}
	return out
}

// wideRow is a row of wide_daily without its key, updated_at and version. A row that equals the stored one is not
// written.
type wideRow struct {
	texts   [wideTexts]string
	figures metric.Values
	partner PartnerValues
}

func (r *wideRow) args(args []any) []any {
	for i, text := range r.texts {
		if text == "" && i > wideOS {
			args = append(args, nil)
		} else {
			args = append(args, text)
		}
	}
	return r.partner.args(r.figures.Args(args))
}

// eachWide reads rows of level, object_id and wideValues.
func eachWide(query *gorm.DB, each func(wideKey, *wideRow)) error {
	return sqldb.EachRow(query, func(rows *sql.Rows) error {
		var k wideKey
		var row wideRow
		var texts [wideTexts]sql.NullString
		var figures metric.Columns
		dest := []any{&k.level, &k.object}
		for i := range texts {
			dest = append(dest, &texts[i])
		}
		if err := rows.Scan(row.partner.dest(figures.Dest(dest))...); err != nil {
			return err
		}
		for i, text := range texts {
			row.texts[i] = text.String
		}
		row.figures = figures.Values()
		each(k, &row)
		return nil
	})
}

// readWideSources returns the rows that an account's day should have: one for each object with figures of the
// platform or the partner. A partner's row counts for its object and all known parents.
func readWideSources(tx *gorm.DB, a *wideAccount, on day.Day) (map[wideKey]*wideRow, error) {
	game, system := "unassigned", "unknown"
	err := sqldb.EachText(
		tx.Raw(
			"SELECT game, os, '' FROM binding_applied WHERE account_id = ? AND from_day <= ? AND to_day >= ? ORDER BY from_day",
			a.ID, on, on),
		func(g, o, _ string) { game, system = g, o })
	if err != nil {
		return nil, fmt.Errorf("read binding_applied: %w", err)
	}
	want := map[wideKey]*wideRow{}
	at := func(k wideKey, media string) *wideRow {
		row := want[k]
		if row == nil {
			row = a.row(k)
			row.texts[wideMedia], row.texts[wideGame], row.texts[wideOS] = media, game, system
			want[k] = row
		}
		return row
	}
	if err := readWideReport(tx, a, on, at); err != nil {
		return nil, fmt.Errorf("read report_daily: %w", err)
	}
	err = eachPartnerValue(tx, a.ID, on, func(k wideKey, values PartnerValues) {
		for _, k := range a.above(k) {
			at(k, a.Media).partner.add(values)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read partner_daily: %w", err)
	}
	return want, nil
}

func readWideReport(tx *gorm.DB, a *wideAccount, on day.Day, at func(wideKey, string) *wideRow) error {
	query := tx.Raw("SELECT level, object_id, media, currency, day_zone, "+strings.Join(metric.Names(), ", ")+
		" FROM report_daily WHERE day = ? AND account_id = ?", on, a.ID)
	return sqldb.EachRow(query, func(rows *sql.Rows) error {
		var k wideKey
		var media, currency, zone string
		var figures metric.Columns
		if err := rows.Scan(figures.Dest([]any{&k.level, &k.object, &media, &currency, &zone})...); err != nil {
			return err
		}
		row := at(k, media)
		row.texts[wideCurrency], row.texts[wideZone] = currency, zone
		row.figures = figures.Values()
		return nil
	})
}

// eachPartnerValue calls each with the partner's rows of an account's day: the object and its figures.
func eachPartnerValue(tx *gorm.DB, accountID int64, on day.Day, each func(wideKey, PartnerValues)) error {
	query := tx.Raw("SELECT level, object_id, note, "+strings.Join(PartnerFigures[:], ", ")+
		" FROM partner_daily WHERE account_id = ? AND day = ?", accountID, on)
	return sqldb.EachRow(query, func(rows *sql.Rows) error {
		var k wideKey
		var note string
		var values PartnerValues
		if err := rows.Scan(values.dest([]any{&k.level, &k.object, &note})...); err != nil {
			return err
		}
		if note != "" {
			k = wideKey{level: settings.AccountLevel}
		}
		each(k, values)
		return nil
	})
}

// row returns an object's row with everything from the configuration.
func (a *wideAccount) row(k wideKey) *wideRow {
	row := &wideRow{}
	row.texts[wideExternal], row.texts[wideName] = a.ExternalID, a.Name
	row.texts[wideCurrency], row.texts[wideZone] = a.Currency, a.Timezone
	for _, up := range a.above(k) {
		switch up.level {
		case "campaign":
			row.texts[wideCampaign], row.texts[wideCampaignName] = up.object, a.names[up]
		case "adgroup":
			row.texts[wideAdgroup], row.texts[wideAdgroupName] = up.object, a.names[up]
		case "creative":
			row.texts[wideCreative], row.texts[wideCreativeName] = up.object, a.names[up]
		}
	}
	return row
}

// parent returns the id of an object's parent, or "" if it is not known.
func (a *wideAccount) parent(k wideKey) string {
	id, known := a.parents[k]
	if !known && a.byID[k.level] {
		if above, _, isPart := strings.Cut(k.object, ":"); isPart {
			return above
		}
	}
	return id
}

// above returns an object, its known parents, and the account.
func (a *wideAccount) above(k wideKey) []wideKey {
	var keys []wideKey
	for i := slices.Index(ObjectLevels, k.level); i >= 0 && i < len(ObjectLevels) && k.object != ""; i++ {
		keys = append(keys, wideKey{ObjectLevels[i], k.object})
		k.object = a.parent(wideKey{ObjectLevels[i], k.object})
	}
	return append(keys, wideKey{level: settings.AccountLevel})
}
