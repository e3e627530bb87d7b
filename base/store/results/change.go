package results

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/base/sqldb"
)

// A change of a whole object is recorded as a field of it. No platform's field can have these names.
const (
	FieldCreated = "@created" // the value after is the object's name
	FieldDeleted = "@deleted" // false or true
)

// changeValueMax is how many characters of a value are kept.
const changeValueMax = 4000

// ConfigChange is a change of one field of a configuration object: a difference since the pull before, or a part of an
// entry of the platform's log of operations.
type ConfigChange struct {
	Version int64     // of the pull, or the time of the entry
	SeenAt  time.Time // when it was written; a difference was made after the pull before
	Level   string
	Object  string
	Field   string // a field of the platform's row, FieldCreated or FieldDeleted
	// Before and After are the platform's JSON, cut where it is long; "" where the field did not exist.
	Before, After string
	// ChangedAt is when the object was changed at the platform, and By who changed it; both are empty for a difference.
	ChangedAt time.Time
	By        string
}

// fieldMax is the width of the columns that hold a platform's name of a field.
const fieldMax = 96

var changeTable = sqldb.Table{
	Name: "config_change", Key: []string{"account_id", "version", "level", "object_id", "field"},
	Columns: []string{"before_value", "after_value", "seen_at"},
}

// fieldChanges returns the differences between the pull and the stored objects, as rows of config_change. The objects
// of a level's first pull are not changes.
func (w *ObjectWrite) fieldChanges(now time.Time, stored map[string]*existingObject, first bool) [][]any {
	var rows [][]any
	add := func(object, field, before, after string) {
		rows = append(rows, w.changeRow(now, object, field, before, after))
	}
	for i := range w.Rows {
		row := &w.Rows[i]
		e := stored[row.Object]
		if e == nil {
			if name, err := json.Marshal(row.Name); err == nil && !first {
				add(row.Object, FieldCreated, "", string(name))
			}
			continue
		}
		if was := !e.deleted.IsZero(); was != row.Deleted {
			add(row.Object, FieldDeleted, strconv.FormatBool(was), strconv.FormatBool(row.Deleted))
		}
		if e.json == row.JSON {
			continue
		}
		for field, values := range differences(e.json, row.JSON) {
			if !slices.Contains(w.Unlogged, field) {
				add(row.Object, field, values[0], values[1])
			}
		}
	}
	return rows
}

func (w *ObjectWrite) changeRow(now time.Time, object, field, before, after string) []any {
	return []any{w.AccountID, w.Version, w.Level, object, sqldb.Cut(field, fieldMax), sqldb.Cut(before, changeValueMax),
		sqldb.Cut(after, changeValueMax), sqldb.At(now)}
}

// differences returns the fields of two JSON objects whose values differ, with their values before and after.
func differences(before, after string) map[string][2]string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal([]byte(before), &a) != nil || json.Unmarshal([]byte(after), &b) != nil {
		return nil
	}
	different := map[string][2]string{}
	for field, was := range a {
		if !sameJSON(was, b[field]) {
			different[field] = [2]string{string(was), string(b[field])}
		}
	}
	for field, is := range b {
		if _, known := a[field]; !known {
			different[field] = [2]string{"", string(is)}
		}
	}
	return different
}

// sameJSON reports whether two values are equal but for the order of their keys and white space. A number equals its
// text, since platforms send either, from one call to the next.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	decode := func(raw json.RawMessage) (value any, ok bool) {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		return value, d.Decode(&value) == nil
	}
	x, ok1 := decode(a)
	y, ok2 := decode(b)
	return ok1 && ok2 && sameValue(x, y)
}

func sameValue(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, sameValue)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, sameValue)
	case json.Number:
		switch y := b.(type) {
		case json.Number:
			return shortest(x.String()) == shortest(y.String())
		case string:
			return shortest(x.String()) == shortest(y)
		}
		return false
	case string:
		if y, ok := b.(json.Number); ok {
			return sameValue(y, x)
		}
	}
	return a == b
}

// shortest returns a number without insignificant zeros at its end: 300.5 for 300.50.
func shortest(number string) string {
	if !strings.Contains(number, ".") || strings.ContainsAny(number, "eE") {
		return number
	}
	return strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
}

// ChangeFilter chooses among the changes of an account; empty fields choose all.
type ChangeFilter struct {
	AccountID int64
	From, To  time.Time // pulled, or made by the log of operations, from and before
	Level     string
	Object    string
	Field     string
}

// ConfigChanges returns changes, those of the newest version first; those of one version by level, object and field in
// descending order. after is the last one of the page before; its zero value is the first page.
func (s Results) ConfigChanges(
	ctx context.Context, f ChangeFilter, after ConfigChange, limit int,
) ([]ConfigChange, error) {
	where, args := "account_id = ?", []any{f.AccountID}
	and := func(condition string, values ...any) {
		where += " AND " + condition
		args = append(args, values...)
	}
	if !f.From.IsZero() {
		and("version >= ?", f.From.UnixMicro())
	}
	if !f.To.IsZero() {
		and("version < ?", f.To.UnixMicro())
	}
	for _, by := range [][2]string{{"level", f.Level}, {"object_id", f.Object}, {"field", f.Field}} {
		if by[1] != "" {
			and(by[0]+" = ?", by[1])
		}
	}
	if after.Version != 0 {
		and("version <= ?", after.Version) // bounds the range of the key that is read
		and("(version, level, object_id, field) < (?, ?, ?, ?)", after.Version, after.Level, after.Object, after.Field)
	}
	query := s.Data.Reader(ctx).Raw(
		"SELECT version, seen_at, level, object_id, field, before_value, after_value, changed_at, changed_by"+
			" FROM config_change WHERE "+where+
			" ORDER BY version DESC, level DESC, object_id DESC, field DESC LIMIT ?", append(args, limit)...)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, c *ConfigChange) error {
		var seen, changed sqldb.Time
		err := rows.Scan(&c.Version, &seen, &c.Level, &c.Object, &c.Field, &c.Before, &c.After, &changed, &c.By)
		c.SeenAt, c.ChangedAt = seen.Time, changed.Time
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read changes of account %d: %w", f.AccountID, err)
	}
	return all, nil
}
