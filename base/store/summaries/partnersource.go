package summaries

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"adsync/base/checkup"
	"adsync/base/config"
	"adsync/base/rawtable"
	"adsync/base/secret"
	"adsync/base/sqldb"
)

// PartnerConfig is the database with the business's own figures. Without a DSN nothing is copied.
type PartnerConfig struct {
	Driver  string        `koanf:"driver" doc:"mysql (also for MariaDB) or sqlite."`
	DSN     secret.Text   `koanf:"dsn" doc:"The database with the business's own figures, which is only read. mysql: user:password@tcp(host:3306)/name; sqlite: a file path. Empty: nothing is copied."`
	Table   string        `koanf:"table" doc:"The table, or view, with the columns that docs/partner.md lists."`
	Overlap time.Duration `koanf:"overlap" doc:"How far before the last load each load begins to read: longer than any transaction takes that writes there."`
}

// partnerOverlapDefault is the overlap that docs/warehouse.md uses too.
const partnerOverlapDefault = 15 * time.Minute

// partnerConns is the most connections to the partner's database.
const partnerConns = 2

// DefaultPartnerConfig returns settings without a database.
func DefaultPartnerConfig() PartnerConfig {
	return PartnerConfig{Driver: sqldb.MySQL, Table: "partner_daily", Overlap: partnerOverlapDefault}
}

var tableName = regexp.MustCompile(`^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)?$`)

// Validate checks the settings without connecting.
func (c PartnerConfig) Validate() error {
	var errs []error
	if c.Driver != sqldb.MySQL && c.Driver != sqldb.SQLite {
		errs = append(errs, &config.FieldError{Key: "driver", Value: c.Driver, Want: "mysql or sqlite"})
	}
	if !tableName.MatchString(c.Table) || len(c.Table) > 64 {
		errs = append(errs, &config.FieldError{Key: "table", Value: c.Table,
			Want: "the name of a table or view, up to 64 letters, digits, _ and one dot"})
	}
	if c.Overlap < 0 {
		errs = append(errs, &config.FieldError{Key: "overlap", Value: c.Overlap.String(), Want: "0s or more"})
	}
	if c.Driver == sqldb.MySQL && !c.DSN.IsZero() {
		if _, err := sqldb.MysqlConfig(c.DSN, sqldb.PatienceDefault); err != nil {
			errs = append(errs, sqldb.DsnFault("dsn", err))
		}
	}
	return errors.Join(errs...)
}

// PartnerSource reads the partner's table. It never writes.
type PartnerSource struct {
	pool    *sql.DB
	dialect sqldb.Dialect
	table   string
	overlap time.Duration
}

// OpenPartner opens the partner's database without contacting it. It returns nil when none is configured.
func OpenPartner(cfg PartnerConfig) (*PartnerSource, error) {
	if cfg.DSN.IsZero() {
		return nil, nil
	}
	pool, err := sqldb.OpenReadOnly(cfg.Driver, cfg.DSN, sqldb.PatienceDefault, partnerConns)
	if err != nil {
		return nil, fmt.Errorf("open the partner's database: %w", err)
	}
	return &PartnerSource{pool: pool, dialect: sqldb.Dialect(cfg.Driver), table: cfg.Table, overlap: cfg.Overlap}, nil
}

// Close closes the connections.
func (p *PartnerSource) Close() error {
	if p == nil {
		return nil
	}
	return p.pool.Close()
}

// Name returns the name by which loads of this source are stored.
func (p *PartnerSource) Name() string { return p.table }

// Settled returns the moment, by the partner's clock, up to which every row is visible. A later change may be
// committed after its stamp, and must be read again.
func (p *PartnerSource) Settled(ctx context.Context) (string, error) {
	var now sqldb.Time
	if err := p.pool.QueryRowContext(ctx, "SELECT "+p.dialect.Now()).Scan(&now); err != nil {
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
	tx, err := p.pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return batch, after, err
	}
	// nothing was written
	defer func() { _ = tx.Rollback() }()
	//nolint:gosec // The table's name is validated, the rest is ours.
	rows, err := tx.QueryContext(ctx, "SELECT id, "+p.text("updated_at")+", deleted, "+p.text("day")+
		", game, os, media, account, level, object_id, "+
		strings.Join(PartnerFigures[:], ", ")+" FROM "+p.table+
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

// text returns the expression for a column's text as the database writes it.
func (p *PartnerSource) text(column string) string {
	if p.dialect == sqldb.SQLiteDialect {
		return "CAST(" + column + " AS TEXT)"
	}
	return "CAST(" + column + " AS CHAR)"
}

// isID returns the condition that a row has an id that a cursor can hold. A view may have another type, and SQLite
// takes any value in any column: one such row must not cost all others.
func (p *PartnerSource) isID() string {
	if p.dialect == sqldb.SQLiteDialect {
		return "typeof(id) = 'integer'"
	}
	return "(CAST(id AS CHAR) REGEXP '^-?[0-9]{1,19}$' AND id <= " + partnerIDMax + ")"
}

// isMoment returns the condition that a row has a moment that a cursor can hold. In SQLite bytes sort after all
// texts, and would be read forever.
func (p *PartnerSource) isMoment() string {
	if p.dialect == sqldb.SQLiteDialect {
		return "(typeof(updated_at) = 'text' AND length(updated_at) BETWEEN 10 AND 32 AND updated_at NOT GLOB '*[^ -~]*')"
	}
	return "CAST(updated_at AS CHAR) REGEXP '^[ -~]{10,32}$'"
}

// UnreadableRows counts the rows that no load can read, because they have no place in the order of the moment and the
// id.
func (p *PartnerSource) UnreadableRows(ctx context.Context) ([]PartnerFault, error) {
	count := func(where string) string {
		return "(SELECT COUNT(*) FROM " + p.table + " WHERE NOT COALESCE(" + where + ", 0))"
	}
	faults := []PartnerFault{
		{Field: "updated_at", Kind: rawtable.KeyFault,
			Why: "is not set, no moment, or before 1970: such rows are never read"},
		{Field: "id", Kind: rawtable.KeyFault, Why: "is not set, or no number up to " + partnerIDMax +
			": such rows are never read"},
	}
	err := p.pool.QueryRowContext(ctx, "SELECT "+count(p.isMoment()+" AND updated_at >= '1970-01-01 00:00:00.000'")+", "+
		count(p.isID())).Scan(&faults[0].Rows, &faults[1].Rows)
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

// CheckUp reports whether the partner's table can be read.
func (p *PartnerSource) CheckUp(ctx context.Context) []checkup.Finding {
	report := &checkup.Report{Server: "partner's database"}
	if !sqldb.Reached(report, p.pool.PingContext(ctx)) {
		return report.Findings
	}
	report.Add("reached", checkup.OK, "", "")
	if _, _, err := p.Changed(ctx, PartnerCursor{}, 0); err != nil {
		report.Add("table "+p.table, checkup.Fault, err.Error(),
			"give the user SELECT on it, with the columns that docs/partner.md lists")
	} else {
		report.Add("table "+p.table, checkup.OK, "", "")
	}
	return report.Findings
}
