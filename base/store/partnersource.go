package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"adsync/base/config"
	"adsync/base/secret"
)

// PartnerConfig says where the business's own figures are read. Without a DSN none are.
type PartnerConfig struct {
	Driver  string        `koanf:"driver" doc:"mysql (also for MariaDB) or sqlite."`
	DSN     secret.Text   `koanf:"dsn" doc:"The database with the business's own figures, which is only read. mysql: user:password@tcp(host:3306)/name; sqlite: a file path. Empty: nothing is copied."`
	Table   string        `koanf:"table" doc:"The table, or view, with the columns that docs/operations.md lists."`
	Overlap time.Duration `koanf:"overlap" doc:"How far before the last load each load begins to read: longer than any transaction takes that writes there."`
}

// partnerOverlapDefault is that of the results' own warehouse loads.
const partnerOverlapDefault = 15 * time.Minute

// DefaultPartnerConfig names no database.
func DefaultPartnerConfig() PartnerConfig {
	return PartnerConfig{Driver: MySQL, Table: "partner_daily", Overlap: partnerOverlapDefault}
}

var tableName = regexp.MustCompile(`^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)?$`)

// Validate checks the settings without connecting.
func (c PartnerConfig) Validate() error {
	var errs []error
	if c.Driver != MySQL && c.Driver != SQLite {
		errs = append(errs, &config.FieldError{Key: "driver", Value: c.Driver, Want: "mysql or sqlite"})
	}
	if !tableName.MatchString(c.Table) || len(c.Table) > 64 {
		errs = append(errs, &config.FieldError{Key: "table", Value: c.Table, Want: "the name of a table or view, up to 64 letters, digits, _ and one dot"})
	}
	if c.Overlap < 0 {
		errs = append(errs, &config.FieldError{Key: "overlap", Value: c.Overlap.String(), Want: "0s or more"})
	}
	if c.Driver == MySQL && !c.DSN.IsZero() {
		if _, err := mysqlConfig(c.DSN, PatienceDefault); err != nil {
			errs = append(errs, dsnFault("dsn", err))
		}
	}
	return errors.Join(errs...)
}

// PartnerSource reads the partner's table. It never writes.
type PartnerSource struct {
	pool    *sql.DB
	dialect Dialect
	table   string
	overlap time.Duration
}

// OpenPartner opens the partner's database, and contacts nobody yet. It returns nil when none is named.
func OpenPartner(cfg PartnerConfig) (*PartnerSource, error) {
	if cfg.DSN.IsZero() {
		return nil, nil
	}
	p := &PartnerSource{dialect: Dialect(cfg.Driver), table: cfg.Table, overlap: cfg.Overlap}
	if cfg.Driver == SQLite {
		query := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(1)"}}
		var err error
		if p.pool, err = sql.Open("sqlite", SQLiteFile(cfg.DSN.Reveal(), query)); err != nil {
			return nil, fmt.Errorf("open the partner's database: %w", err)
		}
		return p, nil
	}
	c, err := mysqlConfig(cfg.DSN, PatienceDefault)
	if err != nil {
		return nil, fmt.Errorf("open the partner's database: %w", err)
	}
	connector, err := newConnector(c)
	if err != nil {
		return nil, fmt.Errorf("open the partner's database: %w", err)
	}
	p.pool = sql.OpenDB(connector)
	p.pool.SetMaxOpenConns(2)
	p.pool.SetConnMaxLifetime(3 * time.Minute)
	p.pool.SetConnMaxIdleTime(10 * time.Second)
	return p, nil
}

// Close closes the connections.
func (p *PartnerSource) Close() error {
	if p == nil {
		return nil
	}
	return p.pool.Close()
}

// Name is what loads of this source are known by.
func (p *PartnerSource) Name() string { return p.table }

// Settled returns the moment, by the partner's clock, up to which every row is in sight: what was changed since may be stamped
// earlier than it is committed, and must be read again.
func (p *PartnerSource) Settled(ctx context.Context) (string, error) {
	var now Time
	if err := p.pool.QueryRowContext(ctx, "SELECT "+p.dialect.Now()).Scan(&now); err != nil {
		return "", fmt.Errorf("read the time of the partner's database: %w", err)
	}
	return now.Add(-p.overlap).UTC().Format(timeLayout), nil
}

// Changed returns up to limit rows behind a cursor, in its order, and the cursor behind the last of them.
func (p *PartnerSource) Changed(ctx context.Context, after PartnerCursor, limit int) ([]PartnerRow, PartnerCursor, error) {
	rows, next, err := p.changed(ctx, after, limit)
	if err != nil {
		return nil, after, fmt.Errorf("read the partner's table %s: %w", p.table, err)
	}
	return rows, next, nil
}

func (p *PartnerSource) changed(ctx context.Context, after PartnerCursor, limit int) ([]PartnerRow, PartnerCursor, error) {
	// The moment is read and compared as it is written, with all its digits.
	moment := "CAST(updated_at AS CHAR)"
	if p.dialect == SQLiteDialect {
		moment = "CAST(updated_at AS TEXT)"
	}
	from := "1970-01-01 00:00:00.000"
	if after.ChangedAt != "" {
		from = after.ChangedAt
	}
	tx, err := p.pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, after, err
	}
	defer func() { _ = tx.Rollback() }()                                                                                                                                     // nothing was written
	rows, err := tx.QueryContext(ctx, "SELECT id, "+moment+", COALESCE(deleted, 0), day, COALESCE(game, ''), COALESCE(os, ''), COALESCE(media, ''), COALESCE(account, ''),"+ //nolint:gosec // The table's name is validated, the rest is ours.
		" COALESCE(level, ''), COALESCE(object_id, ''), "+strings.Join(PartnerFigures[:], ", ")+
		" FROM "+p.table+" WHERE updated_at >= ? AND (updated_at > ? OR id > ?) ORDER BY updated_at, id LIMIT ?", from, from, after.ID, limit)
	if err != nil {
		return nil, after, err
	}
	defer rows.Close()
	var all []PartnerRow
	next := after
	for rows.Next() {
		var r PartnerRow
		dest := []any{&r.ID, &next.ChangedAt, &r.Deleted, &r.Day, &r.Game, &r.OS, &r.Media, &r.Account, &r.Level, &r.Object}
		if err := rows.Scan(r.Values.dest(dest)...); err != nil {
			return nil, after, fmt.Errorf("the row after %s, id %d: %w", after.ChangedAt, after.ID, err)
		}
		next.ID = r.ID
		all = append(all, r)
	}
	return all, next, rows.Err()
}

// Kept returns the cursor to keep when everything up to one was copied: it does not go beyond the settled moment.
func (c PartnerCursor) Kept(settled string) PartnerCursor {
	if c.ChangedAt < settled {
		return c
	}
	return PartnerCursor{ChangedAt: settled}
}
