package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

const (
	// packetLeast is the smallest max_allowed_packet for which statements of many rows are built.
	packetLeast = 1 << 20
	// sqliteLengthMax is SQLite's own limit of a statement's and of a row's bytes.
	sqliteLengthMax = 1_000_000_000
	// mediumTextMax is the size in bytes of the largest texts of the tables: MEDIUMTEXT.
	mediumTextMax = 1<<24 - 1
	// packetSpare is the part of a packet that is reserved for the statement's own words.
	packetSpare = 64 << 10
)

// TooLargeError means that a row has more bytes than the database accepts. Another try would fail too.
type TooLargeError struct {
	Table   string
	Key     string // the key of the row
	Bytes   int
	Limit   int
	Setting string // the setting with the limit
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the row %s of %s has %d bytes, and %s allows %d", e.Key, e.Table, e.Bytes, e.Setting, e.Limit)
}

// IsTooLarge reports whether a statement failed because of its size. Another try would fail too.
func IsTooLarge(err error) bool {
	if _, ok := errors.AsType[*TooLargeError](err); ok {
		return true
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number == 1153 // the server's own error
	}
	return errors.Is(err, mysql.ErrPktTooLarge)
}

// packet returns the maximum number of bytes of a statement.
func (d *DB) packet() int {
	if d.server == nil {
		return sqliteLengthMax
	}
	if known := d.server.packet.Load(); known > 0 {
		return int(known)
	}
	return packetLeast
}

// Fitting returns how many of the first rows fit into a statement: at least one, at most most, with no more bytes
// than the database accepts. The first keyWidth values are a row's key. It fails with *TooLargeError if the first row
// alone is too large.
func (d *DB) Fitting(table string, keyWidth int, rows [][]any, most int) (n int, err error) {
	most = min(most, len(rows))
	limit := d.packet()
	// If values are in the text, each of their bytes may become two.
	budget, bytes := (limit-packetSpare)/2, 0
	for n < most {
		size := 0
		for _, value := range rows[n] {
			one := sizeOf(value)
			if one > mediumTextMax {
				return 0, tooLarge(table, keyWidth, rows[n], one, mediumTextMax, "a column of type MEDIUMTEXT")
			}
			size += one
		}
		if n > 0 && bytes+size > budget {
			return n, nil
		}
		if size > limit-packetSpare {
			return 0, tooLarge(table, keyWidth, rows[n], size+packetSpare, limit, d.packetSetting())
		}
		bytes += size
		n++
	}
	return n, nil
}

func tooLarge(table string, keyWidth int, row []any, bytes, limit int, setting string) error {
	key := make([]string, min(keyWidth, len(row)))
	for i := range key {
		key[i] = Cut(fmt.Sprint(row[i]), 64)
	}
	return &TooLargeError{Table: table, Key: strings.Join(key, "/"), Bytes: bytes, Limit: limit, Setting: setting}
}

func (d *DB) packetSetting() string {
	if d.server == nil {
		return "SQLite's limit of a statement"
	}
	return "the server's max_allowed_packet"
}

// sizeOf estimates how many bytes a value takes in a statement.
func sizeOf(value any) int {
	const small = 28 // numbers and moments
	switch v := value.(type) {
	case string:
		return len(v) + 4
	case []byte:
		return len(v) + 4
	default:
		return small
	}
}

// escapedMost is how many bytes one byte of a text may become in a statement: in a JSON list a control character is
// \u0001, whose backslash doubles.
const escapedMost = 7

// FittingOf is Fitting for rows that are no lists of values. Size is the approximate size of one row in bytes, many
// times less than a statement.
func (d *DB) FittingOf(most int, size func(row int) int) int {
	budget, bytes := (d.packet()-packetSpare)/escapedMost, 0
	for n := range most {
		if bytes += size(n); bytes > budget && n > 0 {
			return n
		}
	}
	return most
}

// readPacket reads the server's limit of a statement. It may be changed while the server runs, and then applies to
// new connections.
func (c *connector) readPacket(ctx context.Context, conn driver.Conn) error {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, "SELECT @@max_allowed_packet", nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return err
	}
	packet, err := strconv.ParseInt(string(asText(row[0])), 10, 64)
	if err != nil {
		return fmt.Errorf("read max_allowed_packet: %w", err)
	}
	if packet < packetLeast {
		return fmt.Errorf("the server's max_allowed_packet is %d: want %d or more", packet, packetLeast)
	}
	c.packet.Store(packet)
	return nil
}

func asText(value driver.Value) []byte {
	if text, ok := value.([]byte); ok {
		return text
	}
	return fmt.Append(nil, value)
}
