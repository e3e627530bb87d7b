package copies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/base/checkup"
	"adsync/base/config"
	"adsync/base/secret"
	"adsync/base/sqldb"
)

// SourceConfig is a database whose tables are copied.
type SourceConfig struct {
	Driver string      `koanf:"driver" doc:"mysql (also for MariaDB) or sqlite."`
	DSN    secret.Text `koanf:"dsn" doc:"The database, which is only read. mysql: user:password@tcp(host:3306)/name; sqlite: a file path."`
}

// SourcesConfig are the databases whose tables are copied, by name.
type SourcesConfig map[string]SourceConfig

// Validate checks the settings without connecting.
func (c SourcesConfig) Validate() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c)) {
		of := c[name]
		if !sourceName.MatchString(name) {
			errs = append(errs, &config.FieldError{Key: name,
				Want: "a name of up to 48 lower-case letters, digits, dashes and underscores, a letter first"})
		}
		if of.DSN.IsZero() {
			errs = append(errs, &config.FieldError{Key: name + ".dsn",
				Want: "user:password@tcp(host:3306)/name, or a file path for sqlite"})
		}
		switch of.Driver {
		case sqldb.SQLite:
		case sqldb.MySQL:
			if _, err := sqldb.MysqlConfig(of.DSN, sourcePatience); err != nil && !of.DSN.IsZero() {
				errs = append(errs, sqldb.DsnFault(name+".dsn", err))
			}
		default:
			errs = append(errs, &config.FieldError{Key: name + ".driver", Value: of.Driver, Want: "mysql or sqlite"})
		}
	}
	return errors.Join(errs...)
}

const (
	// sourcePatience is how long a source may take to sort a table before its first row arrives.
	sourcePatience = 5 * time.Minute
	// sourceConns is the most connections to a source.
	sourceConns = 4
)

// Source is another database. It is only read.
type Source struct {
	Pool    *sql.DB
	Dialect sqldb.Dialect
	name    string
}

// Sources are the databases whose tables are copied, by name. A nil map has none.
type Sources map[string]*Source

// OpenSources opens databases without contacting them.
func OpenSources(cfg SourcesConfig) (Sources, error) {
	all := Sources{}
	for name, of := range cfg {
		pool, err := sqldb.OpenReadOnly(of.Driver, of.DSN, sourcePatience, sourceConns)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the source %s: %w", name, err), all.Close())
		}
		all[name] = &Source{Pool: pool, Dialect: sqldb.Dialect(of.Driver), name: name}
	}
	return all, nil
}

// Of returns the source of a copy. The error names the setting that lacks.
func (s Sources) Of(c *TableCopy) (*Source, error) {
	if of := s[c.Source]; of != nil {
		return of, nil
	}
	return nil, fmt.Errorf("source: the settings of this process have no sources.%s: add it to those of all producers "+
		"and consumers", c.Source)
}

// Close closes all connections.
func (s Sources) Close() error {
	var errs []error
	for _, of := range s {
		errs = append(errs, of.Pool.Close())
	}
	return errors.Join(errs...)
}

// CheckUp reports whether each source can be reached.
func (s Sources) CheckUp(ctx context.Context) []checkup.Finding {
	var all []checkup.Finding
	for _, name := range slices.Sorted(maps.Keys(s)) {
		report := &checkup.Report{Server: "source " + name}
		if sqldb.Reached(report, s[name].Pool.PingContext(ctx)) {
			report.Add("reached", checkup.OK, "", "")
		}
		all = append(all, report.Findings...)
	}
	return all
}

// column is a column of a table.
type column struct {
	name string
	kind string // its type, in upper case, as the driver names it; in SQLite as it was declared
}

// columns returns the columns of a table or view.
func (s *Source) columns(ctx context.Context, table string) ([]column, error) {
	rows, err := s.Pool.QueryContext(ctx, "SELECT * FROM "+quote(table)+" WHERE 1 = 0") //nolint:gosec // It is validated.
	if err != nil {
		return nil, err
	}
	return columnsOf(rows)
}

func columnsOf(rows *sql.Rows) ([]column, error) {
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	all := make([]column, len(types))
	for i, t := range types {
		all[i] = column{t.Name(), strings.ToUpper(t.DatabaseTypeName())}
	}
	return all, sqldb.FirstError(rows.Err(), rows.Close())
}

// isTime reports whether a driver would parse the column's values as moments.
func (c column) isTime() bool {
	return c.kind == "DATE" || strings.HasPrefix(c.kind, "DATETIME") || strings.HasPrefix(c.kind, "TIMESTAMP")
}

// isBinary reports whether a column of MySQL holds bytes and no text.
func (c column) isBinary() bool {
	return strings.Contains(c.kind, "BLOB") || strings.Contains(c.kind, "BINARY") || c.kind == "BIT" ||
		c.kind == "GEOMETRY"
}

// selected returns the expression that reads a column as it is stored. No driver parses moments, whose zone and digits
// would change.
func (c column) selected(d sqldb.Dialect) string {
	switch {
	case d == sqldb.SQLiteDialect:
		return "+" + quote(c.name) // It has no declared type, and the same value.
	case c.isTime():
		return "CAST(" + quote(c.name) + " AS CHAR)"
	}
	return quote(c.name)
}

func selectedAll(d sqldb.Dialect, columns []column) string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = c.selected(d)
	}
	return strings.Join(all, ", ")
}

// Now returns the time of the source.
func (s *Source) Now(ctx context.Context) (time.Time, error) {
	var now sqldb.Time
	err := s.Pool.QueryRowContext(ctx, "SELECT "+s.Dialect.Now()).Scan(&now)
	return now.Time, err
}

// each reads the rows of a query in pieces of at most batchRows rows and about batchBytes bytes, in order. The query
// remains open while use works on a piece.
func (s *Source) each(ctx context.Context, columns []column, query string, args []any,
	use func(rows [][]any) error) error {
	rows, err := s.Pool.QueryContext(ctx, query, args...)
	if err != nil {
		return s.failed(err)
	}
	defer rows.Close()
	var piece [][]any
	bytes := 0
	for rows.Next() {
		row, size, err := scanRow(rows, s.Dialect, columns)
		if err != nil {
			return s.failed(err)
		}
		piece, bytes = append(piece, row), bytes+size
		if len(piece) < batchRows && bytes < batchBytes {
			continue
		}
		if err := use(piece); err != nil {
			return err
		}
		piece, bytes = nil, 0
	}
	if err := sqldb.FirstError(rows.Err(), rows.Close()); err != nil {
		return s.failed(err)
	}
	if len(piece) == 0 {
		return nil
	}
	return use(piece)
}

func (s *Source) failed(err error) error {
	return fmt.Errorf("read from the source %s: %w", s.name, err)
}

// The most of a piece.
const (
	batchRows  = 1000
	batchBytes = 8 << 20
)

// scanRow reads the values of a row, and about how many bytes its texts have. MySQL's driver returns texts as bytes.
func scanRow(rows *sql.Rows, d sqldb.Dialect, columns []column) (row []any, size int, err error) {
	row, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, 0, err
	}
	for i, value := range row {
		switch v := value.(type) {
		case []byte:
			if size += len(v); d != sqldb.SQLiteDialect && !columns[i].isBinary() {
				row[i] = string(v)
			}
		case string:
			size += len(v)
		case float32: // As a float64 it would have other digits.
			row[i] = strconv.FormatFloat(float64(v), 'g', -1, 32)
		}
	}
	return row, size, nil
}
