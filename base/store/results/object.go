package results

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store/widemark"
)

// ObjectRow is one configuration object, ready for its raw table.
type ObjectRow struct {
	Object   string // the platform's id
	Name     string
	Modified time.Time // zero if the platform does not report it
	Deleted  bool
	Raw      []any               // values of the raw table's typed columns
	JSON     string              // the platform's whole row
	Assets   []rawtable.AssetUse // of a creative; nil if they are not known
	// MoreAssets is set if Assets may be incomplete: then no asset counts as removed.
	MoreAssets bool
}

// ObjectWrite is the result of a pull of a configuration level: all its objects, or those that were modified since the
// last pull.
type ObjectWrite struct {
	Claim // its only day is day.Epoch
	Raw   rawtable.Table
	Rows  []ObjectRow
	// Full is set if the pull requested all objects and was whole: objects that it lacks are marked deleted.
	Full bool
	// Partial is set if the pages disagreed: the rows are kept and coverage is partial.
	Partial bool
	Note    string // for coverage: why the pull is partial
	// JudgeRows returns why a full list is suspect, by its number of rows and the number of live objects: those that the
	// raw table does not mark deleted. Confirmed is set if a person has confirmed the list: it is believed in any case.
	JudgeRows JudgeRows
	Confirmed bool
	// Unlogged are fields of the platform's row whose changes are not recorded in config_change, such as the time of the
	// last change.
	Unlogged []string
	// MapsAssets is set if the rows are creatives, whose assets go into creative_asset.
	MapsAssets bool
	// AssetTables maps kinds of assets to the raw tables that have their signatures. A list of creatives has the tables
	// of all kinds, a list of assets only its own. The later of the two pulls copies the signatures into creative_asset.
	AssetTables map[string]string
	// MappedBy is set for a list of assets: it is the name of the list of creatives that show them.
	MappedBy string
	// Latest is the latest modification time that is believed. Later ones do not raise coverage.high_water, from which
	// the next pull of changes begins. Zero is the database's time plus clockError.
	Latest time.Time
	// Unusable are values of the rows that could not be used.
	Unusable []Unusable
}

// WriteObjects brings a configuration table in line with the pull, in one transaction under the scope's fence. Rows
// are never deleted: deleted_at is set once, and cleared if the object returns. New names are added to object_name,
// and changes to config_change.
//
// It returns the number of rows written, or *FencedError if a newer pull has claimed the scope. If a full pull is not
// believed, it returns *SuspectError with the number: the rows are written, no object is marked deleted, and coverage
// is suspect.
func (s Results) WriteObjects(ctx context.Context, w ObjectWrite) (int, error) {
	written, suspect := 0, ""
	err := s.writeScope(ctx, w.Claim, func(tx *gorm.DB, now time.Time, locked lockedScope) ([]dayOutcome, error) {
		if w.Latest.IsZero() {
			w.Latest = now.Add(clockError)
		}
		stored, err := readObjects(tx, w)
		if err != nil {
			return nil, err
		}
		rows, names, highWater := w.changes(now, stored)
		written = len(rows)
		if err := s.Data.Upsert(tx, sqldb.UpsertOf(w.Raw), rows); err != nil {
			return nil, err
		}
		if err := s.Data.Upsert(tx, sqldb.Table{Name: "object_name",
			Key: []string{"account_id", "level", "object_id", "since"}, Columns: []string{"name"}}, names); err != nil {
			return nil, err
		}
		changes := w.fieldChanges(now, stored, locked.before[0].CompleteVersion == 0)
		if w.Full {
			suspect = w.JudgeRows.judge(len(w.Rows), countLive(stored), w.Confirmed)
		}
		if w.Full && suspect == "" {
			gone, err := markDeleted(tx, w, now, stored)
			if err != nil {
				return nil, err
			}
			written += len(gone)
			for _, id := range gone {
				changes = append(changes, w.changeRow(now, id, FieldDeleted, "false", "true"))
			}
		}
		if err := s.Data.Upsert(tx, changeTable, changes); err != nil {
			return nil, err
		}
		if err := mapAssets(s.Data, tx, w, now, stored); err != nil {
			return nil, err
		}
		if len(names) > 0 || w.hasNewObjects(stored) {
			if err := widemark.Account(s.Data, tx, w.Media, w.AccountID, []day.Day{day.Epoch}, now.UnixMicro()); err != nil {
				return nil, err
			}
		}
		o := dayOutcome{day: day.Epoch, whole: w.Full, state: Complete, note: w.Note, rows: int64(len(w.Rows)),
			highWater: highWater}
		if before := locked.before; !w.Full {
			// A pull of changes leaves the state and the number of rows of the last full pull.
			o.state, o.rows, o.note = before[0].State, before[0].RowCount, before[0].Note
			o.adds = true
			if before[0].HighWater <= w.Latest.Unix() {
				o.highWater = max(highWater, before[0].HighWater)
			}
		}
		// Pulls of changes that begin at a time in the future would miss all changes until then.
		o.lowers = locked.before[0].HighWater > w.Latest.Unix()
		if w.Partial {
			o.state, o.note, o.highWater, o.lowers = Partial, w.Note, 0, false
		}
		o.markUnusable(w.Unusable)
		if suspect != "" {
			o.state, o.whole, o.note = Suspect, false, suspect
		}
		return []dayOutcome{o}, nil
	})
	if err != nil {
		return 0, err
	}
	if suspect != "" {
		return written, &SuspectError{Report: w.Report, AccountID: w.AccountID}
	}
	return written, nil
}

// clockError is how far a platform's clock may be ahead of the database's, where the caller sets no Latest.
const clockError = 10 * time.Minute

// SuspectError is returned when a platform's empty list was not believed.
type SuspectError struct {
	Report    string
	AccountID int64
}

func (e *SuspectError) Error() string {
	return fmt.Sprintf("the list %s of account %d came back empty although it has live objects: nothing was deleted",
		e.Report, e.AccountID)
}

// existingObject is the stored state of an object before the write.
type existingObject struct {
	json, name string
	named      sqldb.Time // when the name was first seen
	deleted    sqldb.Time // zero if it is not marked deleted
	seen       bool       // the pull has the object
}

// countLive counts the objects that are not marked deleted.
func countLive(stored map[string]*existingObject) int {
	live := 0
	for _, e := range stored {
		if e.deleted.IsZero() {
			live++
		}
	}
	return live
}

// readObjects returns the stored objects of the account by their ids, with their newest names.
func readObjects(tx *gorm.DB, w ObjectWrite) (map[string]*existingObject, error) {
	stored := map[string]*existingObject{}
	rows, err := tx.Raw("SELECT object_id, row_json, deleted_at FROM "+w.Raw.Name+" WHERE account_id = ?",
		w.AccountID).Rows()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", w.Raw.Name, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var e existingObject
		if err := rows.Scan(&id, &e.json, &e.deleted); err != nil {
			return nil, fmt.Errorf("read %s: %w", w.Raw.Name, err)
		}
		stored[id] = &e
	}
	if err := sqldb.FirstError(rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", w.Raw.Name, err)
	}
	// The last row of each object is its newest name. A level has few names, so all are read.
	rows, err = tx.Raw(
		"SELECT object_id, name, since FROM object_name WHERE account_id = ? AND level = ? ORDER BY object_id, since",
		w.AccountID, w.Level).Rows()
	if err != nil {
		return nil, fmt.Errorf("read object_name: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, name string
		var since sqldb.Time
		if err := rows.Scan(&id, &name, &since); err != nil {
			return nil, fmt.Errorf("read object_name: %w", err)
		}
		if e := stored[id]; e != nil {
			e.name, e.named = name, since
		}
	}
	return stored, rows.Err()
}

// changes returns the rows to write, the names to add, and the newest modification up to Latest, in Unix seconds. It
// sets seen in the stored objects that the pull has.
func (w *ObjectWrite) changes(now time.Time, stored map[string]*existingObject) (rows, names [][]any, highWater int64) {
	for i := range w.Rows {
		row := &w.Rows[i]
		if !row.Modified.IsZero() && !row.Modified.After(w.Latest) {
			highWater = max(highWater, row.Modified.Unix())
		}
		e := stored[row.Object]
		if e != nil {
			e.seen = true
		}
		if isNamed := row.Name != "" || e != nil; isNamed && (e == nil || e.name != row.Name) { // not every level has names
			since := sqldb.At(now)
			if e != nil && !since.After(e.named.Time) {
				since = sqldb.At(e.named.Add(time.Millisecond)) // since is a part of the key
			}
			names = append(names, []any{w.AccountID, w.Level, row.Object, since, row.Name})
		}
		if !w.mustWrite(row, e) {
			continue // Only full pulls renew last_seen_at, so that pulls of changes write only changes.
		}
		deletedAt := sqldb.Time{}
		if row.Deleted {
			deletedAt = sqldb.At(now)
			if e != nil && !e.deleted.IsZero() {
				deletedAt = e.deleted
			}
		}
		values := append([]any{w.AccountID, row.Object}, row.Raw...)
		rows = append(rows, append(values, row.JSON, sqldb.At(now), deletedAt, w.Version))
	}
	return rows, names, highWater
}

// hasNewObjects reports whether the pull saw an object for the first time.
func (w *ObjectWrite) hasNewObjects(stored map[string]*existingObject) bool {
	return slices.ContainsFunc(w.Rows, func(r ObjectRow) bool { return stored[r.Object] == nil })
}

// mustWrite reports whether a row must be written. A full pull writes all rows. A pull of changes writes objects that
// are new, have changed, or are newly deleted or no longer deleted.
func (w *ObjectWrite) mustWrite(row *ObjectRow, e *existingObject) bool {
	return w.Full || e == nil || e.json != row.JSON || row.Deleted == e.deleted.IsZero()
}

// markDeleted marks the stored objects that are not seen as deleted, and returns their ids. Call it after changes.
func markDeleted(tx *gorm.DB, w ObjectWrite, now time.Time, stored map[string]*existingObject) ([]string, error) {
	var gone []string
	for id, e := range stored {
		if !e.seen && e.deleted.IsZero() {
			gone = append(gone, id)
		}
	}
	for start := 0; start < len(gone); start += 1000 {
		batch := gone[start:min(start+1000, len(gone))]
		err := tx.Exec("UPDATE "+w.Raw.Name+" SET deleted_at = ?, version = ? WHERE account_id = ? AND object_id IN ?",
			sqldb.At(now), w.Version, w.AccountID, batch).Error
		if err != nil {
			return nil, fmt.Errorf("mark %s of %s deleted: %w", plural.Count(len(batch), "object", "objects"), w.Raw.Name, err)
		}
	}
	return gone, nil
}
