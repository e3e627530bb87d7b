package sqldb

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// dsnForm shows the form of a DSN.
const dsnForm = "user:password@tcp(host:3306)/name"

// connCharset and connCollation are those of the connection. Columns have their own, see the migrations.
const (
	connCharset   = "utf8mb4"
	connCollation = "utf8mb4_general_ci"
)

// dsnDriver are the driver's own parameters of a DSN that do not change what is stored or read. They apply as
// written.
var dsnDriver = []string{
	"allowCleartextPasswords", "allowFallbackToPlaintext", "allowNativePasswords", "allowOldPasswords", "compress",
	"connectionAttributes",
	"readTimeout", "serverPubKey", "timeout", "tls", "writeTimeout",
}

// dsnOurs are the parameters of a DSN that adsync sets itself, whatever the DSN contains: every statement is written
// for these.
var dsnOurs = []string{
	"allowAllFiles", "charset", "checkConnLiveness", "clientFoundRows", "collation", "columnsWithAlias",
	"innodb_lock_wait_timeout", "interpolateParams",
	"loc", "lock_wait_timeout", "maxAllowedPacket", "multiStatements", "parseTime", "rejectReadOnly", "sql_mode", "strict",
	"time_zone", "timeTruncate",
	"transaction_isolation", "tx_isolation", "wait_timeout",
}

// dsnVariables are the server's variables that a DSN may set: they change how long statements may take and how they
// are planned.
var dsnVariables = []string{
	"max_execution_time", "max_statement_time", "net_read_timeout", "net_write_timeout", "optimizer_switch",
	"wsrep_sync_wait",
}

// dsnError names the part of a DSN that cannot be used. It never contains the DSN itself.
type dsnError struct {
	parameter string // empty if it is no DSN
	want      string
}

func (e *dsnError) Error() string {
	if e.parameter == "" {
		return "not a DSN: want " + e.want
	}
	return fmt.Sprintf("the DSN's %s is refused: want %s", e.parameter, e.want)
}

// oneValue matches the value of one variable: anything after it would set others.
var oneValue = regexp.MustCompile(`^([\w.]+|'[^'\\]*')$`)

// readDSN parses a DSN without the parameters that adsync sets itself, and refuses variables that would change what
// is stored or read.
func readDSN(dsn string) (*mysql.Config, error) {
	notOne := &dsnError{want: dsnForm}
	base, query, _ := strings.Cut(dsn[strings.LastIndexByte(dsn, '/')+1:], "?")
	base = dsn[:strings.LastIndexByte(dsn, '/')+1] + base
	var kept []string
	for parameter := range strings.SplitSeq(query, "&") {
		name, value, has := strings.Cut(parameter, "=")
		switch {
		case parameter == "":
		case !has:
			return nil, notOne
		case slices.Contains(dsnOurs, name):
		case slices.Contains(dsnDriver, name) || slices.Contains(dsnVariables, name):
			kept = append(kept, name+"="+value)
		default:
			return nil,
				&dsnError{parameter: name,
					want: "no such parameter: it may change what is stored or read; of the server's variables a DSN may set " +
						strings.Join(dsnVariables, ", ")}
		}
	}
	if len(kept) > 0 {
		base += "?" + strings.Join(kept, "&")
	}
	c, err := mysql.ParseDSN(base)
	if err != nil {
		return nil, notOne // The driver's text may contain the password.
	}
	for name, value := range c.Params {
		if !oneValue.MatchString(value) {
			return nil, &dsnError{parameter: name, want: "a number, a word or a text in single quotes"}
		}
	}
	return c, nil
}

// setOurs sets what every statement is written for.
func setOurs(c *mysql.Config, variables map[string]string) error {
	c.ParseTime, c.Loc = true, time.UTC
	c.InterpolateParams, c.RejectReadOnly = true, true
	c.AllowAllFiles, c.ClientFoundRows, c.ColumnsWithAlias, c.MultiStatements = false, false, false, false
	c.CheckConnLiveness = true
	// The driver reads it from the server, and refuses what the server would cut the connection for.
	c.MaxAllowedPacket = 0
	c.Logger = &mysql.NopLogger{}
	// A server may ignore what the driver sets at the handshake, or set another value for each connection, so it is set
	// again.
	c.Collation = connCollation
	if err := c.Apply(mysql.TimeTruncate(time.Millisecond), mysql.Charset(connCharset, connCollation)); err != nil {
		return err
	}
	params := maps.Clone(c.Params)
	if params == nil {
		params = map[string]string{}
	}
	maps.Copy(params, variables)
	c.Params = params
	return nil
}
