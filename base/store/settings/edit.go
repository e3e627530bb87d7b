package settings

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

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// ownedTable is a table of the config database whose rows operators own. audit_row holds each row as audit_log last
// recorded it, so that an edit by SQL shows as a difference.
type ownedTable struct {
	name    string
	from    string   // after FROM; the name when empty
	key     []string // the columns that identify a row permanently
	label   []string // the columns that name a row in audit_log
	columns []string // the columns whose changes are edits
	part    string   // the column by which an edit chooses its rows; none = edits read all rows
	// quiet is for a table of accounts, of which there may be millions: new rows come from pulls and are not logged,
	// only their changes are, and the table is read in pieces.
	quiet bool
}

// ownedTables are in the order in which they are checked.
var ownedTables = []*ownedTable{
	{
		name: AuditTasks, key: []string{"id"}, label: []string{"name"}, columns: taskColumns,
	},
	{
		name: "lane", key: []string{"media", "name"}, label: []string{"media", "name"},
		columns: []string{"pool_size", "partitions", "backlog_max", "late_seconds", "importance", "workers_max"},
	},
	{
		name: "rate_limit", key: []string{"id"}, label: []string{"media", "endpoint", "scope"},
		columns: []string{
			"media", "endpoint", "scope", "period_ms", "unit", "calls", "calls_max", "each_endpoint", "share", "cost", "costs",
			"calendar_zone", "penalty_ms", "enabled",
		},
	},
	{
		name: "report_field", key: []string{"media", "field", "report", "level"},
		label:   []string{"media", "field", "report", "level"},
		columns: []string{"state", "reason", "changed_by"},
	},
	{
		name: AuditDestinations, key: []string{"name"}, label: []string{"name"},
		columns: []string{
			"kind", "address", "prefix", "login", "CASE WHEN credentials IS NULL THEN '' ELSE 'sealed' END AS credentials",
			"host_key", "ca", "options", "enabled",
		},
	},
	{
		name: AuditSubscriptions, key: []string{"name"}, label: []string{"name"},
		columns: []string{
			"source", "scope", "format", "path", "destination", "cron", "timezone", "period", "on_empty", "on_exists", "verify",
			"manifest", "rows_max", "completeness", "corrections", "lane", "owner", "customer", "enabled",
			"application", "webhook", "CASE WHEN webhook_secret IS NULL THEN '' ELSE 'sealed' END AS webhook_secret",
		},
	},
	{
		name: AuditCopies, key: []string{"name"}, label: []string{"name"},
		columns: []string{
			"source", "source_table", "target", "key_columns", "cursor_column", "overlap_seconds", "window_days", "day_column",
			"enabled",
		},
	},
	{
		name: AuditExternal, key: []string{"name"}, label: []string{"name"},
		columns: []string{"timezone", "currency", "limits", "enabled"},
	},
	{name: "game", key: []string{"code"}, label: []string{"code"}, columns: []string{"name"}},
	{
		name: "account_binding", from: "account_binding LEFT JOIN media_account a ON a.id = account_id", part: "account_id",
		key: []string{"account_id", fromDay}, label: []string{"a.media", "a.external_id", fromDay},
		columns: []string{"a.media", "a.external_id", fromDay, "SUBSTR(CAST(to_day AS CHAR), 1, 10) AS to_day", "game", "os"},
	},
	{
		// Columns that account lists, probes and activity checks write are left out.
		name: "media_account", part: "id", key: []string{"id"}, label: []string{"media", "external_id"}, quiet: true,
		columns: []string{
			"media", "external_id", "bound", "currency", "timezone", "CASE WHEN tier_by = '" + TierAuto + "' THEN '" + TierAuto +
				"' ELSE tier END AS tier",
			"CASE WHEN parked_until IS NULL AND parked <> '" + ParkedLogin + "' THEN parked ELSE '' END AS parked",
		},
	},
}

// fromDay selects the day as the same text in both dialects.
const fromDay = "SUBSTR(CAST(from_day AS CHAR), 1, 10) AS from_day"

// columnName returns the name of a column of ownedTable in the result.
func columnName(column string) string {
	if i := strings.LastIndex(column, " AS "); i >= 0 {
		return column[i+len(" AS "):]
	}
	return strings.TrimPrefix(column, "a.")
}

func owned(table string) *ownedTable {
	return ownedTables[slices.IndexFunc(ownedTables, func(t *ownedTable) bool { return t.name == table })]
}

// ownedRow is a row as it is now.
type ownedRow struct {
	object string
	values []ownedValue
}

type ownedValue struct {
	column string
	json   json.RawMessage
}

// valuesText returns values as a JSON object, in the order of the columns.
func valuesText(values []ownedValue) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString(`,"` + v.column + `":` + string(v.json))
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// read returns rows by their keys: all of them, or those of some parts. lock is a locking clause, which may be empty.
func (t *ownedTable) read(tx *gorm.DB, parts []int64, lock string) (map[string]ownedRow, error) {
	query := "SELECT " + strings.Join(slices.Concat(t.key, t.label, t.columns), ", ") + " FROM "
	if t.from != "" {
		query += t.from
	} else {
		query += t.name
	}
	var args []any
	if len(parts) > 0 {
		query, args = query+" WHERE "+t.name+"."+t.part+" IN ?", []any{parts}
	}
	rows, err := tx.Raw(query+lock, args...).Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	all := map[string]ownedRow{}
	text := make([]sql.NullString, len(types))
	dest := make([]any, len(types))
	for i := range text {
		dest[i] = &text[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		named := len(t.key) + len(t.label)
		key, row := keyOf(text[:len(t.key)]), ownedRow{object: t.name + "/" + nameOf(keyOf(text[len(t.key):named]))}
		for i := named; i < len(types); i++ {
			row.values = append(row.values, ownedValue{columnName(t.columns[i-named]),
				jsonOf(text[i], types[i].DatabaseTypeName())})
		}
		all[key] = row
	}
	return all, rows.Err()
}

// keyOf joins the values of a key.
func keyOf(text []sql.NullString) string {
	all := make([]string, len(text))
	for i := range text {
		all[i] = text[i].String
	}
	return strings.Join(all, "/")
}

// nameOf removes the empty parts of a key.
func nameOf(key string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(key, "/"), func(part string) bool { return part == "" }), "/")
}

// jsonOf returns a column's value as JSON: a number where the column holds numbers and the text is one.
func jsonOf(text sql.NullString, kind string) json.RawMessage {
	if !text.Valid {
		return json.RawMessage("null")
	}
	switch kind {
	case "INT", "BIGINT", "TINYINT", "INTEGER", "DOUBLE", "REAL":
		if n := json.RawMessage(text.String); json.Valid(n) {
			return n
		}
	}
	out, _ := json.Marshal(text.String) // A string always marshals.
	return out
}

// partsMax is up to how many parts one statement each is less work than one statement that reads all.
const partsMax = 50

// partOf returns the part at the beginning of a key.
func partOf(key string) int64 {
	part, _, _ := strings.Cut(key, "/")
	id, _ := strconv.ParseInt(part, 10, 64) // In a table with parts it is always a number.
	return id
}

// recorded returns the rows as audit_log last recorded them: all, or those of some parts, which begin their keys.
func (t *ownedTable) recorded(tx *gorm.DB, parts []int64) (map[string]string, error) {
	all := map[string]string{}
	add := func(key, value, _ string) { all[key] = value }
	const query = "SELECT row_key, value, '' FROM audit_row WHERE table_name = ? AND "
	if len(parts) == 0 || len(parts) > partsMax && len(t.key) > 1 {
		err := sqldb.EachText(tx.Raw(query+"row_key <> ''", t.name), add)
		if len(parts) > 0 {
			maps.DeleteFunc(all, func(key, _ string) bool { return !slices.Contains(parts, partOf(key)) })
		}
		return all, err
	}
	if len(t.key) == 1 { // The part is the whole key.
		keys := make([]string, len(parts))
		for i, part := range parts {
			keys[i] = strconv.FormatInt(part, 10)
		}
		return all, sqldb.EachText(tx.Raw(query+"row_key IN ?", t.name, keys), add)
	}
	for _, part := range parts {
		key := strconv.FormatInt(part, 10)
		// 0 comes right after the slash.
		if err := sqldb.EachText(tx.Raw(query+"(row_key = ? OR row_key >= ? AND row_key < ?)", t.name, key, key+"/", key+"0"),
			add); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// rowChange is the change of one row.
type rowChange struct {
	key, object   string
	verb          string // insert, update, delete
	before, after string // for an update, only the columns that changed
	now           string // the whole row; "" when it was deleted
	silent        bool   // it is not logged
}

// changes compares rows with their recorded values, and returns the changes by key.
func (t *ownedTable) changes(before map[string]string, now map[string]ownedRow) ([]rowChange, error) {
	var all []rowChange
	for key, row := range now {
		text := valuesText(row.values)
		was, known := before[key]
		if !known {
			all = append(all, rowChange{key: key, object: row.object, verb: "insert", after: text, now: text, silent: t.quiet})
			continue
		}
		if was == text {
			continue
		}
		change := rowChange{key: key, object: row.object, verb: "update", now: text}
		var err error
		if change.before, change.after, err = changedValues(was, row.values); err != nil {
			return nil, err
		}
		change.silent = change.after == "" // A migration added or removed a column.
		all = append(all, change)
	}
	for key, was := range before {
		if _, there := now[key]; !there {
			all = append(all, rowChange{key: key, object: t.name + "/" + t.nameOfDeleted(key, was), verb: "delete", before: was})
		}
	}
	slices.SortFunc(all, func(a, b rowChange) int { return strings.Compare(a.key, b.key) })
	return all, nil
}

// nameOfDeleted names a deleted row: by its label columns, or by its key if those are not recorded.
func (t *ownedTable) nameOfDeleted(key, was string) string {
	var values map[string]any
	if json.Unmarshal([]byte(was), &values) != nil {
		return nameOf(key)
	}
	var names []string
	for _, column := range t.label {
		name, ok := values[columnName(column)].(string)
		if !ok {
			return nameOf(key)
		}
		names = append(names, name)
	}
	return strings.Join(names, "/")
}

// changedValues returns the columns whose values changed, with their old and new values.
func changedValues(was string, now []ownedValue) (before, after string, err error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal([]byte(was), &values); err != nil {
		return "", "", fmt.Errorf("read a row of audit_row: %w", err)
	}
	var from, to []ownedValue
	for _, v := range now {
		if old, known := values[v.column]; known && !bytes.Equal(old, v.json) {
			from, to = append(from, ownedValue{v.column, old}), append(to, v)
		}
	}
	if len(to) == 0 {
		return "", "", nil
	}
	return valuesText(from), valuesText(to), nil
}

// write records changes in audit_log, unless they are silent, and brings audit_row in line.
func (t *ownedTable) write(d *sqldb.DB, tx *gorm.DB, changes []rowChange, entry func(c rowChange) Audit) error {
	var rows [][]any
	var gone []string
	for _, c := range changes {
		if !c.silent {
			a := entry(c)
			a.Object, a.Before, a.After = c.object, c.before, c.after
			if err := tx.Create(&a).Error; err != nil {
				return err
			}
		}
		if c.verb == "delete" {
			gone = append(gone, c.key)
			continue
		}
		rows = append(rows, []any{t.name, c.key, c.now})
	}
	for some := range slices.Chunk(gone, 500) {
		if err := tx.Table("audit_row").Where("table_name = ? AND row_key IN ?", t.name, some).Delete(nil).Error; err != nil {
			return err
		}
	}
	if err := d.Upsert(tx, sqldb.Table{Name: "audit_row", Key: []string{"table_name", "row_key"},
		Columns: []string{"value"}}, rows); err != nil {
		return err
	}
	if len(changes) == 0 {
		return nil
	}
	return raiseVersion(tx, t.name)
}

// auditedTable selects the row of audit_row that stands for a whole table.
func auditedTable(tx *gorm.DB, table string) *gorm.DB {
	return tx.Table("audit_row").Where("table_name = ? AND row_key = ''", table)
}

// raiseVersion raises the table's version, by which all producers notice a change.
func raiseVersion(tx *gorm.DB, table string) error {
	return auditedTable(tx, table).Update("version", gorm.Expr("version + 1")).Error
}

// lockTable locks the table against other edits and searches for edits until the transaction ends. known reports
// whether the rows have ever been recorded: before that, an edit by SQL cannot be distinguished from the initial
// state.
func (t *ownedTable) lockTable(tx *gorm.DB) (known bool, err error) {
	var value sql.NullString
	err = auditedTable(tx, t.name).Clauses(sqldb.ForUpdate).Select("value").Row().Scan(&value)
	return value.Valid, err
}

// LockTable makes other edits of a table that operators own wait until the transaction ends.
func LockTable(tx *gorm.DB, table string) error {
	_, err := owned(table).lockTable(tx)
	return err
}

// Editor is the actor of a change of rows that operators own, and the name of the action: "task.edit".
type Editor struct{ Actor, Action string }

// Edit runs a change of rows of a table that operators own: of the whole table, or of some parts. For each row that
// the change inserts, updates or deletes, the same transaction writes its old and new values into audit_log. Before
// that it records, as by "sql", earlier edits by SQL that are not recorded yet. A change without effect leaves no
// entry. The transaction may be repeated, and change with it; editOnce is for changes that must not be.
func Edit(ctx context.Context, s *sqldb.Databases, e Editor, table string, parts []int64,
	change func(tx *gorm.DB) error) error {
	return s.Config.IdempotentTx(ctx, func(tx *gorm.DB) error { return owned(table).edit(s.Config, tx, e, parts, change) })
}

func editOnce(ctx context.Context, s *sqldb.Databases, e Editor, table string, change func(tx *gorm.DB) error) error {
	return s.Config.Tx(ctx, func(tx *gorm.DB) error { return owned(table).edit(s.Config, tx, e, nil, change) })
}

func (t *ownedTable) edit(d *sqldb.DB, tx *gorm.DB, e Editor, parts []int64, change func(tx *gorm.DB) error) error {
	known, err := t.lockTable(tx)
	if err != nil {
		return err
	}
	if !known && !t.quiet { // All rows: otherwise those outside the parts would later count as new.
		if err := t.recordInitial(d, tx); err != nil {
			return err
		}
	}
	rows, err := t.recordEdits(d, tx, parts, d.Dialect().ForUpdate(), true)
	if err != nil {
		return err
	}
	before := make(map[string]string, len(rows))
	for key, row := range rows {
		before[key] = valuesText(row.values)
	}
	if err := change(tx); err != nil {
		return err
	}
	now, err := t.read(tx, parts, d.Dialect().ForUpdate())
	if err != nil {
		return err
	}
	changes, err := t.changes(before, now)
	if err != nil {
		return err
	}
	return t.write(d, tx, changes, func(rowChange) Audit { return Audit{Actor: e.Actor, Action: e.Action} })
}

// recordInitial records the rows as they are, without entries in audit_log.
func (t *ownedTable) recordInitial(d *sqldb.DB, tx *gorm.DB) error {
	if _, err := t.recordEdits(d, tx, nil, "", false); err != nil {
		return err
	}
	return auditedTable(tx, t.name).Update("value", "known").Error
}
