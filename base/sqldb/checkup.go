package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"adsync/base/checkup"
)

// absent and absentToo are names of tables that no database has. A server checks the user's rights before it checks
// whether the table exists, so a statement on them shows a right without changing anything.
const (
	absent    = "adsync_no_such_table"
	absentToo = "adsync_no_such_table_either"
)

// trial is a harmless statement that needs a right.
type trial struct{ right, statement string }

var (
	reads  = []trial{{"SELECT", "SELECT 1 FROM " + absent}}
	writes = []trial{
		{"SELECT", "SELECT 1 FROM " + absent},
		{"INSERT", "INSERT INTO " + absent + " (a) VALUES (1)"},
		{"UPDATE", "UPDATE " + absent + " SET a = 1"},
		{"DELETE", "DELETE FROM " + absent},
		{"CREATE", "CREATE TABLE " + absent + " LIKE " + absentToo},
		{"ALTER", "ALTER TABLE " + absent + " ADD COLUMN a INT"},
		{"DROP", "DROP TABLE " + absent},
		{"INDEX", "CREATE INDEX a ON " + absent + " (a)"},
		{"CREATE VIEW", "CREATE VIEW " + absent + " AS SELECT 1 FROM " + absentToo},
	}
)

// denials are a server's errors of a missing right, and absences those of a missing table.
var (
	denials  = []uint16{1044, 1142, 1143, 1227, 1370}
	absences = []uint16{1051, 1146}
)

// packetGood is the max_allowed_packet that fits the largest row of a table.
const packetGood = mediumTextMax + packetSpare

func (d *DB) checkUp(ctx context.Context, server string) []checkup.Finding {
	writer := &examination{Report: checkup.Report{Server: server}}
	if d.dialect == SQLiteDialect {
		if Reached(&writer.Report, d.Ping(ctx)) {
			writer.Add("reached", checkup.OK, "SQLite", "")
		}
		return writer.Findings
	}
	if writer.open(ctx, d.writer) {
		writer.rights(ctx, writes)
		writer.settings(ctx, d.pulls != nil)
	}
	all := writer.Findings
	for i, reader := range d.readers {
		replica := &examination{Report: checkup.Report{Server: fmt.Sprintf("%s, replica %d", server, i+1)}}
		if replica.open(ctx, reader) {
			replica.rights(ctx, reads)
		}
		all = append(all, replica.Findings...)
	}
	return all
}

// examination is the check of one server of a database.
type examination struct {
	checkup.Report
	pool       *sql.DB
	user, name string
}

// Reached adds a finding for an error of reaching the server, and reports whether there is none.
func Reached(report *checkup.Report, err error) bool {
	if err == nil {
		return true
	}
	remedy := "start the server, or correct its address in the DSN"
	if Refused(err) {
		remedy = "correct the user, the password or the database's name in the DSN, or create them on the server"
	}
	report.Add("reached", checkup.Fault, err.Error(), remedy)
	return false
}

// open reads the user, the database and the version from the server.
func (e *examination) open(ctx context.Context, db *gorm.DB) bool {
	pool, err := db.DB()
	if err != nil {
		return Reached(&e.Report, err)
	}
	e.pool = pool
	var version string
	if !Reached(&e.Report, pool.QueryRowContext(ctx, "SELECT CURRENT_USER(), DATABASE(), VERSION()").Scan(&e.user, &e.name,
		&version)) {
		return false
	}
	e.Add("reached", checkup.OK, fmt.Sprintf("version %s, as %s in %s", version, e.user, e.name), "")
	return true
}

// rights tries a statement for each right. The statements bypass the log of statements, because they fail by design.
func (e *examination) rights(ctx context.Context, trials []trial) {
	var has []string
	for _, t := range trials {
		_, err := e.pool.ExecContext(ctx, t.statement)
		answer, answered := errors.AsType[*mysql.MySQLError](err)
		switch {
		case answered && slices.Contains(absences, answer.Number):
			has = append(has, t.right)
		case answered && slices.Contains(denials, answer.Number):
			e.Add("right "+t.right, checkup.Fault, "the user lacks it: "+answer.Message, e.grant(t.right))
		default:
			e.Add("right "+t.right, checkup.Skipped, fmt.Sprintf("unexpected answer of the server: %v", err), "")
		}
	}
	if len(has) > 0 {
		e.Add("rights", checkup.OK, strings.Join(has, ", "), "")
	}
}

// grant returns the statement that gives the user a right.
func (e *examination) grant(right string) string {
	user, host := e.user, "%"
	if at := strings.LastIndexByte(e.user, '@'); at >= 0 {
		user, host = e.user[:at], e.user[at+1:]
	}
	return fmt.Sprintf("GRANT %s ON `%s`.* TO '%s'@'%s'", right, e.name, user, host)
}

// settings checks the server's settings that would make some work fail.
func (e *examination) settings(ctx context.Context, pulled bool) {
	set, err := variables(ctx, e.pool, "log_bin", "binlog_format", "max_allowed_packet", "read_only", "max_connections",
		"max_user_connections")
	if err != nil {
		e.Add("settings", checkup.Skipped, err.Error(), "")
		return
	}
	if statementBinlog(set) {
		e.Add("binlog_format", checkup.Fault, ErrStatementBinlog.Error(),
			"SET GLOBAL binlog_format = 'ROW', and the same in the server's configuration")
	} else {
		e.Add("binlog_format", checkup.OK, set["binlog_format"], "")
	}
	if set["read_only"] == "ON" || set["read_only"] == "1" {
		e.Add("read_only", checkup.Fault, "the server only takes reads",
			"name the server that takes writes in the DSN, or SET GLOBAL read_only = 0")
	}
	packet, _ := strconv.Atoi(set["max_allowed_packet"])
	if packet < packetGood {
		e.Add("max_allowed_packet", checkup.Warning, fmt.Sprintf("%d: a row of up to 16 MiB of a platform does not fit",
			packet),
			fmt.Sprintf("SET GLOBAL max_allowed_packet = %d, and the same in the server's configuration", 64<<20))
	} else {
		e.Add("max_allowed_packet", checkup.OK, set["max_allowed_packet"], "")
	}
	open, setting := e.pool.Stats().MaxOpenConnections, "max_open_conns"
	if pulled {
		open, setting = 2*open, "twice "+setting
	}
	for _, name := range []string{"max_connections", "max_user_connections"} {
		if most, _ := strconv.Atoi(set[name]); most > 0 && most < open {
			e.Add(name, checkup.Warning,
				fmt.Sprintf("%d, and each process opens up to %d connections (%s)", most, open, setting),
				"raise "+name+", or lower max_open_conns: all processes together must fit")
		}
	}
}

// variables reads the server's variables of these names for the session, in upper case.
func variables(ctx context.Context, pool *sql.DB, names ...string) (map[string]string, error) {
	list := "'" + strings.Join(names, "', '") + "'"
	rows, err := pool.QueryContext(ctx, "SHOW VARIABLES WHERE Variable_name IN ("+list+")") //nolint:gosec // Our names.
	if err != nil {
		return nil, fmt.Errorf("read the server's variables: %w", err)
	}
	defer rows.Close()
	set := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, fmt.Errorf("read the server's variables: %w", err)
		}
		set[strings.ToLower(name)] = strings.ToUpper(value)
	}
	return set, rows.Err()
}

// CheckUp checks both databases: whether each server is reached, what the user may do, and the settings that adsync
// depends on. It changes nothing.
func (s *Databases) CheckUp(ctx context.Context) []checkup.Finding {
	var all []checkup.Finding
	for _, name := range databases {
		all = append(all, s.database(name).checkUp(ctx, name+" database")...)
	}
	return all
}
