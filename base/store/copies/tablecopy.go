package copies

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"adsync/base/config"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
)

// CopyRows reads and writes the tables table_copy and copy_cursor, and the tables of copies.
type CopyRows struct{ *sqldb.Databases }

// OverlapDefault is the overlap of a new copy, in seconds.
const OverlapDefault = 900

// TableCopy is a row of table_copy: a table of another database that is copied.
type TableCopy struct {
	Name        string `gorm:"primaryKey"`
	Source      string // the name of the database in the setting sources
	SourceTable string // a table or a view, which may have the name of its schema before a dot
	// Into is the table that the copy writes: PartnerTable, or "" for copy_NAME.
	Into       string `gorm:"column:target;serializer:optional"`
	KeyColumns string // those of the source's key, and of a key of copy_NAME, separated by commas
	// CursorColumn rises with each change of a row: a moment or a whole number; "" = none.
	CursorColumn string `gorm:"serializer:optional"`
	// OverlapSeconds is how far before the cursor a run begins to read; 0 for a cursor of numbers.
	OverlapSeconds int
	// WindowDays is how many days, with the present one in UTC, each run reads again by DayColumn; NULL = none.
	WindowDays sql.NullInt64
	DayColumn  string `gorm:"serializer:optional"`
	Enabled    bool
}

// TableName implements schema.Tabler.
func (TableCopy) TableName() string { return settings.AuditCopies }

// PartnerTable is the table of the business's own figures. One copy at most writes it, by the rules of docs/partner.md.
const PartnerTable = "partner_daily"

// The key and the cursor column of a copy into PartnerTable.
const (
	partnerKey    = "id"
	partnerCursor = "updated_at"
)

const (
	targetPrefix = "copy_" // begins the names of the tables of other copies
	stateTable   = "copy_cursor"

	keysMost    = 16
	overlapMost = 7 * 24 * 3600
	windowMost  = 400
)

var (
	copyName   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	sourceName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,47}$`)
	identifier = regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)
)

// Target returns the name of the table that the copy writes.
func (c *TableCopy) Target() string { return cmp.Or(c.Into, targetPrefix+c.Name) }

// IsPartner reports whether the copy is that of the business's own figures.
func (c *TableCopy) IsPartner() bool { return c.Into == PartnerTable }

// SetTarget sets the table that the copy writes: PartnerTable, or copy_NAME, for which an empty text stands too.
func (c *TableCopy) SetTarget(table string) {
	c.Into = table
	if table == targetPrefix+c.Name {
		c.Into = ""
	}
}

// StateName returns the name of the copy's row of copy_cursor. Copies that write PartnerTable, one after the other,
// have one: so a run of the former copy ends when one of the next begins.
func (c *TableCopy) StateName() string {
	if c.Into == "" {
		return c.Name
	}
	return "into " + c.Into // No copy has a space in its name.
}

// Complete sets the key and the cursor column of a copy into PartnerTable where they are not given.
func (c *TableCopy) Complete() {
	if c.IsPartner() {
		c.KeyColumns, c.CursorColumn = cmp.Or(c.KeyColumns, partnerKey), cmp.Or(c.CursorColumn, partnerCursor)
	}
}

// QuotedSource returns the name of the source's table for a statement.
func (c *TableCopy) QuotedSource() string { return quote(c.SourceTable) }

// Keys returns the names of the key columns.
func (c *TableCopy) Keys() []string { return strings.Split(c.KeyColumns, ",") }

// Validate returns joined *config.FieldErrors for what cannot be used. It contacts no database.
func (c *TableCopy) Validate() error {
	var errs []error
	refuse := func(key, value, want string) {
		errs = append(errs, &config.FieldError{Key: key, Value: value, Want: want})
	}
	const aColumn = "the name of a column: up to 64 letters, digits and underscores"
	if !copyName.MatchString(c.Name) {
		refuse("name", c.Name, "up to 48 lower-case letters, digits and underscores, a letter first")
	} else if targetPrefix+c.Name == stateTable {
		refuse("name", c.Name, "another name: "+stateTable+" is adsync's own table")
	}
	if c.Into != "" && !c.IsPartner() {
		refuse("target", c.Into, PartnerTable+", or "+targetPrefix+c.Name)
	}
	if !sourceName.MatchString(c.Source) {
		refuse("source", c.Source, "the name of a database in the setting sources")
	}
	schema, table, two := strings.Cut(c.SourceTable, ".")
	if !identifier.MatchString(schema) || two && !identifier.MatchString(table) {
		refuse("source_table", c.SourceTable,
			"the name of a table or view: up to 64 letters, digits and underscores; its schema may stand before a dot")
	}
	keys := c.Keys()
	if slices.ContainsFunc(keys, func(k string) bool { return !identifier.MatchString(k) }) || len(keys) > keysMost {
		refuse("key_columns", c.KeyColumns,
			fmt.Sprintf("1 to %d names of columns: letters, digits and underscores", keysMost))
	}
	if c.CursorColumn != "" && !identifier.MatchString(c.CursorColumn) {
		refuse("cursor_column", c.CursorColumn, aColumn)
	}
	if c.OverlapSeconds < 0 || c.OverlapSeconds > overlapMost {
		refuse("overlap_seconds", strconv.Itoa(c.OverlapSeconds), fmt.Sprintf("0 to %d", overlapMost))
	}
	if c.WindowDays.Valid != (c.DayColumn != "") {
		refuse("window_days", "", "window_days and day_column, or none of them")
	}
	if c.WindowDays.Valid && (c.WindowDays.Int64 < 1 || c.WindowDays.Int64 > windowMost) {
		refuse("window_days", strconv.FormatInt(c.WindowDays.Int64, 10), fmt.Sprintf("1 to %d", windowMost))
	}
	if c.DayColumn != "" && !identifier.MatchString(c.DayColumn) {
		refuse("day_column", c.DayColumn, aColumn)
	}
	if c.IsPartner() {
		c.checkPartner(refuse)
	}
	return errors.Join(errs...)
}

// checkPartner refuses what a copy into PartnerTable cannot have: its columns are fixed.
func (c *TableCopy) checkPartner(refuse func(key, value, want string)) {
	if c.KeyColumns != partnerKey {
		refuse("key_columns", c.KeyColumns, partnerKey+" for the target "+PartnerTable)
	}
	if c.CursorColumn != partnerCursor {
		refuse("cursor_column", c.CursorColumn, partnerCursor+" for the target "+PartnerTable)
	}
	if c.WindowDays.Valid {
		refuse("window_days", strconv.FormatInt(c.WindowDays.Int64, 10), "none for the target "+PartnerTable)
	}
	if c.OverlapSeconds == 0 {
		refuse("overlap_seconds", "0", "1 or more for the target "+PartnerTable)
	}
}

// quote returns a name for a statement. A dot separates the schema from the table. Names are validated before.
func quote(name string) string {
	return "`" + strings.ReplaceAll(strings.ReplaceAll(name, "`", ""), ".", "`.`") + "`"
}

// TableCopies returns all rows of table_copy, by name.
func (s CopyRows) TableCopies(ctx context.Context) ([]TableCopy, error) {
	var all []TableCopy
	if err := s.Config.Writer(ctx).Order("name").Find(&all).Error; err != nil {
		return nil, fmt.Errorf("read table_copy: %w", err)
	}
	return all, nil
}

// TableCopy returns a row of table_copy, or sqldb.ErrNotFound.
func (s CopyRows) TableCopy(ctx context.Context, name string) (TableCopy, error) {
	c, err := findCopy(s.Config.Writer(ctx), name)
	if err != nil {
		return TableCopy{}, fmt.Errorf("read the copy %s: %w", name, err)
	}
	return c, nil
}

// findCopy returns a row of table_copy, or sqldb.ErrNotFound.
func findCopy(db *gorm.DB, name string) (TableCopy, error) {
	var rows []TableCopy
	if err := db.Where("name = ?", name).Find(&rows).Error; err != nil {
		return TableCopy{}, err
	}
	if len(rows) == 0 {
		return TableCopy{}, sqldb.ErrNotFound
	}
	return rows[0], nil
}

// PutTableCopy writes a row of table_copy. change is given the row as it is, or a new one, and changes it. The error is
// a *config.FieldError if another copy writes the same table.
func (s CopyRows) PutTableCopy(ctx context.Context, e settings.Editor, name string,
	change func(c *TableCopy) error) error {
	err := settings.Edit(ctx, s.Databases, e, settings.AuditCopies, nil, func(tx *gorm.DB) error {
		c, err := findCopy(tx, name)
		if errors.Is(err, sqldb.ErrNotFound) {
			c, err = TableCopy{Name: name, OverlapSeconds: OverlapDefault, Enabled: true}, nil
		}
		if err != nil {
			return err
		}
		if err := change(&c); err != nil {
			return err
		}
		if err := refuseSecond(tx, &c); err != nil {
			return err
		}
		return tx.Save(&c).Error
	})
	if err != nil {
		return fmt.Errorf("write the copy %s: %w", name, err)
	}
	return nil
}

// refuseSecond refuses a target that another copy writes.
func refuseSecond(tx *gorm.DB, c *TableCopy) error {
	if c.Into == "" {
		return nil
	}
	var others []TableCopy
	err := tx.Where("target = ? AND name <> ?", c.Into, c.Name).Find(&others).Error
	if err == nil && len(others) > 0 {
		err = &config.FieldError{Key: "target", Value: c.Into, Want: "another one, or no copy " + others[0].Name +
			", which writes it: delete that first"}
	}
	return err
}

// DeleteTableCopy deletes a row of table_copy and how far it has come, or returns sqldb.ErrNotFound. The target table
// stays.
func (s CopyRows) DeleteTableCopy(ctx context.Context, e settings.Editor, name string) error {
	var c TableCopy
	err := settings.Edit(ctx, s.Databases, e, settings.AuditCopies, nil, func(tx *gorm.DB) (err error) {
		if c, err = findCopy(tx, name); err != nil {
			return err
		}
		return tx.Delete(&c).Error
	})
	if err == nil {
		err = s.Data.Writer(ctx).Where("name = ?", c.StateName()).Delete(&State{}).Error
	}
	if err != nil {
		return fmt.Errorf("delete the copy %s: %w", name, err)
	}
	return nil
}
