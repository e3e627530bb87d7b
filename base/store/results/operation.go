package results

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/sqldb"
)

// FieldOperation is the field of an entry of a log of operations that lists no fields: the value after is the kind of
// the operation. No platform's field can have this name.
const FieldOperation = "@operation"

// Operation is an entry of a platform's log of operations: who changed an object, and when.
type Operation struct {
	Day      day.Day
	ID       string // the platform's id of the entry, or a digest of it
	At       time.Time
	By, Kind string // in the platform's words
	Level    string
	Object   string
	Fields   []FieldChange // nil if the entry lists none
}

// FieldChange is the change of one field. Before and After are JSON; "" where the entry has no value.
type FieldChange struct{ Name, Before, After string }

// OperationWrite is a pull of the log of operations of the claim's days.
type OperationWrite struct {
	Claim
	Operations []Operation
	// Whole is set if the pages agreed. Otherwise the entries are kept, and coverage is partial.
	Whole bool
	Note  string
	// Unusable are values of the entries that could not be used.
	Unusable []Unusable
}

var operationTable = sqldb.Table{
	Name: changeTable.Name, Key: changeTable.Key,
	Columns: append(slices.Clone(changeTable.Columns), "changed_at", "changed_by", "operation"),
}

// WriteOperations adds the entries of a log that are not in config_change yet, in one transaction under the scope's
// fence. Entries never change and are never removed, so it may be repeated, also with other days. Days that another
// pull has claimed since BeginPull are left out; if none is left, nothing is written and the error is *FencedError.
func (s Results) WriteOperations(ctx context.Context, w OperationWrite) (ReportResult, error) {
	var result ReportResult
	err := s.writeScope(ctx, w.Claim, func(tx *gorm.DB, now time.Time, locked lockedScope) ([]dayOutcome, error) {
		result = ReportResult{Fenced: locked.fenced, FencedComplete: locked.fencedComplete}
		var rows [][]any
		counts := map[day.Day]int64{}
		for i := range w.Operations {
			o := &w.Operations[i]
			if slices.Contains(locked.Days, o.Day) {
				rows = append(rows, o.rows(w.AccountID, now)...)
				counts[o.Day]++
			}
		}
		added, err := withoutKnown(tx, w.AccountID, rows)
		if err != nil {
			return nil, err
		}
		result.Written = len(added)
		if err := s.Data.Upsert(tx, operationTable, added); err != nil {
			return nil, err
		}
		outcomes := make([]dayOutcome, len(locked.Days))
		for i, d := range locked.Days {
			o := dayOutcome{day: d, whole: w.Whole, state: Complete, note: w.Note, rows: counts[d]}
			if !w.Whole {
				o.state = Partial
			}
			o.markUnusable(w.Unusable)
			outcomes[i] = o
		}
		return outcomes, nil
	})
	if err != nil {
		return ReportResult{}, err
	}
	return result, nil
}

// rows returns the rows of config_change for an entry, one for each field.
func (o *Operation) rows(account int64, now time.Time) (rows [][]any) {
	fields := o.Fields
	if len(fields) == 0 {
		kind, _ := json.Marshal(o.Kind) // A text always has a JSON form.
		fields = []FieldChange{{Name: FieldOperation, After: string(kind)}}
	}
	for _, f := range fields {
		rows = append(rows, []any{account, o.version(), o.Level, o.Object, sqldb.Cut(f.Name, fieldMax),
			sqldb.Cut(f.Before, changeValueMax), sqldb.Cut(f.After, changeValueMax), sqldb.At(now), sqldb.At(o.At),
			sqldb.Cut(o.By, nameMax), o.ID})
	}
	return rows
}

// nameMax is the width of the column changed_by.
const nameMax = 255

// version returns the time of the change in microseconds. Below the precision of the platform's time it is a number of
// the entry's id, so that entries of one moment about the same field have different keys.
func (o *Operation) version() int64 {
	precision := time.Second
	if o.At.Nanosecond() != 0 {
		precision = time.Millisecond
	}
	id := fnv.New32a()
	_, _ = id.Write([]byte(o.ID))
	return o.At.Truncate(precision).UnixMicro() + int64(id.Sum32())%precision.Microseconds()
}

// changeKey is a key of config_change within an account.
type changeKey struct {
	version              int64
	level, object, field string
}

// withoutKnown returns the rows of an account's entries that config_change does not have.
func withoutKnown(tx *gorm.DB, account int64, rows [][]any) (added [][]any, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	keyOf := func(row []any) changeKey {
		return changeKey{version: row[1].(int64), level: row[2].(string), object: row[3].(string), field: row[4].(string)}
	}
	first, last := keyOf(rows[0]).version, keyOf(rows[0]).version
	for _, row := range rows {
		first, last = min(first, keyOf(row).version), max(last, keyOf(row).version)
	}
	known := map[changeKey]bool{}
	err = sqldb.EachRow(tx.Raw("SELECT version, level, object_id, field FROM config_change"+
		" WHERE account_id = ? AND version >= ? AND version <= ? AND operation <> ''", account, first, last),
		func(r *sql.Rows) error {
			var k changeKey
			err := r.Scan(&k.version, &k.level, &k.object, &k.field)
			known[k] = true
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the operations of account %d: %w", account, err)
	}
	return slices.DeleteFunc(rows, func(row []any) bool { return known[keyOf(row)] }), nil
}
