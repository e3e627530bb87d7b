package summaries

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store/copies"
)

// PartnerSource reads the partner's table. It never writes.
type PartnerSource struct {
	from    *copies.Source
	table   string // for messages
	quoted  string // for statements
	overlap time.Duration
}

// OpenPartner returns the reader of a copy into copies.PartnerTable. It contacts no database. The error joins what is
// wrong with the row, or names the setting that lacks.
func OpenPartner(c *copies.TableCopy, sources copies.Sources) (*PartnerSource, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	from, err := sources.Of(c)
	if err != nil {
		return nil, err
	}
	return &PartnerSource{from: from, table: c.SourceTable, quoted: c.QuotedSource(),
		overlap: time.Duration(c.OverlapSeconds) * time.Second}, nil
}

// PartnerCursor is a place in the partner's table, whose rows are ordered by the moment of their last change and
// their id.
type PartnerCursor struct {
	ChangedAt string // as the partner's database writes it, in UTC
	ID        int64
}

// String returns the cursor as copy_cursor holds it.
func (c PartnerCursor) String() string {
	if c.ChangedAt == "" {
		return ""
	}
	return c.ChangedAt + "/" + strconv.FormatInt(c.ID, 10)
}

// ParsePartnerCursor reads a cursor of copy_cursor. What is no cursor is the beginning of the table.
func ParsePartnerCursor(text string) (c PartnerCursor) {
	at := strings.LastIndexByte(text, '/')
	if at < 0 {
		return c
	}
	id, err := strconv.ParseInt(text[at+1:], 10, 64)
	if err != nil {
		return c
	}
	return PartnerCursor{ChangedAt: text[:at], ID: id}
}

// PartnerColumns are the columns of the partner's table, in the order in which they are read.
var PartnerColumns = slices.Concat([]string{"id", "updated_at", "deleted", "day", "game", "os", "media", "account",
	"level", "object_id"}, PartnerFigures[:])

// Check reads the first row of the table, and returns what is wrong with the table.
func (p *PartnerSource) Check(ctx context.Context) error {
	batch, _, err := p.changed(ctx, PartnerCursor{}, 1)
	if err != nil {
		return fmt.Errorf("source_table: %s cannot be read: %w: correct the name, start the server, or give the user "+
			"SELECT on it, with the columns that docs/partner.md lists", p.table, err)
	}
	if len(batch.Rows) > 0 {
		return nil
	}
	var any bool
	err = p.from.Pool.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+p.quoted+")").Scan(&any)
	if err == nil && any {
		err = fmt.Errorf("source_table: no row of %s has both a number as id and a moment as updated_at: see "+
			"docs/partner.md for their types", p.table)
	}
	return err
}

// Settled returns the moment, by the partner's clock, up to which every row is visible. A later change may be
// committed after its stamp, and must be read again.
func (p *PartnerSource) Settled(ctx context.Context) (string, error) {
	now, err := p.from.Now(ctx)
	if err != nil {
		return "", fmt.Errorf("read the time of the partner's database: %w", err)
	}
	return now.Add(-p.overlap).UTC().Format(sqldb.TimeLayout), nil
}

// partnerIDMax is the largest id of rows that are read.
const partnerIDMax = "9223372036854775807"

// Changed returns up to limit rows after a cursor, in its order, and the cursor of the last of them.
func (p *PartnerSource) Changed(
	ctx context.Context, after PartnerCursor, limit int,
) (PartnerBatch, PartnerCursor, error) {
	batch, next, err := p.changed(ctx, after, limit)
	if err != nil {
		return PartnerBatch{}, after, fmt.Errorf("read the partner's table %s: %w", p.table, err)
	}
	return batch, next, nil
}

func (p *PartnerSource) changed(
	ctx context.Context, after PartnerCursor, limit int,
) (batch PartnerBatch, next PartnerCursor, err error) {
	// The moment is read and compared as text with all its digits, and the day as text: no driver parses them, whose
	// error would cost all rows.
	from, next := "1970-01-01 00:00:00.000", after
	if after.ChangedAt != "" {
		from = after.ChangedAt
	}
	tx, err := p.from.Pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return batch, after, err
	}
	// nothing was written
	defer func() { _ = tx.Rollback() }()
	//nolint:gosec // The table's name is validated, the rest is ours.
	rows, err := tx.QueryContext(ctx, "SELECT "+p.selected()+" FROM "+p.quoted+
		" WHERE updated_at >= ? AND (updated_at > ? OR id > ?) AND "+p.isMoment()+" AND "+p.isID()+
		" ORDER BY updated_at, id LIMIT ?", from, from, after.ID, limit)
	if err != nil {
		return batch, after, err
	}
	defer rows.Close()
	values := make([]any, 1+len(partnerTexts)+1+len(PartnerFigures))
	dest := []any{&next.ID, &next.ChangedAt}
	for i := range values {
		dest = append(dest, &values[i])
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return batch, after, fmt.Errorf("the row after %s, id %d: %w", next.ChangedAt, next.ID, err)
		}
		batch.readPartnerRow(next.ID, values)
	}
	return batch, next, rows.Err()
}

// selected returns the expressions that read PartnerColumns.
func (p *PartnerSource) selected() string {
	all := slices.Clone(PartnerColumns)
	for i, column := range all {
		if column == "updated_at" || column == "day" {
			all[i] = p.text(column)
		}
	}
	return strings.Join(all, ", ")
}

// text returns the expression for a column's text as the database writes it.
func (p *PartnerSource) text(column string) string {
	if p.from.Dialect == sqldb.SQLiteDialect {
		return "CAST(" + column + " AS TEXT)"
	}
	return "CAST(" + column + " AS CHAR)"
}

// isID returns the condition that a row has an id that a cursor can hold. A view may have another type, and SQLite
// takes any value in any column: one such row must not cost all others.
func (p *PartnerSource) isID() string {
	if p.from.Dialect == sqldb.SQLiteDialect {
		return "typeof(id) = 'integer'"
	}
	return "(CAST(id AS CHAR) REGEXP '^-?[0-9]{1,19}$' AND id <= " + partnerIDMax + ")"
}

// isMoment returns the condition that a row has a moment that a cursor can hold. In SQLite bytes sort after all
// texts, and would be read forever.
func (p *PartnerSource) isMoment() string {
	if p.from.Dialect == sqldb.SQLiteDialect {
		return "(typeof(updated_at) = 'text' AND length(updated_at) BETWEEN 10 AND 32 AND updated_at NOT GLOB '*[^ -~]*')"
	}
	return "CAST(updated_at AS CHAR) REGEXP '^[ -~]{10,32}$'"
}

// UnreadableRows counts the rows that no load can read, because they have no place in the order of the moment and the
// id.
func (p *PartnerSource) UnreadableRows(ctx context.Context) ([]PartnerFault, error) {
	count := func(where string) string {
		return "(SELECT COUNT(*) FROM " + p.quoted + " WHERE NOT COALESCE(" + where + ", 0))"
	}
	faults := []PartnerFault{
		{Field: "updated_at", Kind: rawtable.KeyFault,
			Why: "is not set, no moment, or before 1970: such rows are never read"},
		{Field: "id", Kind: rawtable.KeyFault, Why: "is not set, or no number up to " + partnerIDMax +
			": such rows are never read"},
	}
	query := "SELECT " + count(p.isMoment()+" AND updated_at >= '1970-01-01 00:00:00.000'") + ", " + count(p.isID())
	err := p.from.Pool.QueryRowContext(ctx, query).Scan(&faults[0].Rows, &faults[1].Rows)
	if err != nil {
		return nil, fmt.Errorf("count the rows of the partner's table %s that cannot be read: %w", p.table, err)
	}
	return slices.DeleteFunc(faults, func(f PartnerFault) bool { return f.Rows == 0 }), nil
}

// NotBeyond returns the cursor to store when everything up to c was copied: c, or the settled moment if c lies beyond
// it.
func (c PartnerCursor) NotBeyond(settled string) PartnerCursor {
	if c.ChangedAt < settled {
		return c
	}
	return PartnerCursor{ChangedAt: settled}
}
