package results

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/widemark"
)

// objectNameMax is the width of object_name.name, in characters.
const objectNameMax = 255

// WriteNames adds the names of an account's objects that have changed, by the platform's ids, to object_name, from now
// on. It is for platforms without lists of configuration. It may be repeated.
func (s Results) WriteNames(ctx context.Context, media string, accountID int64, level string,
	names map[string]string) error {
	if len(names) == 0 {
		return nil
	}
	type known struct {
		name  string
		since time.Time
	}
	table := sqldb.Table{Name: "object_name", Key: []string{"account_id", "level", "object_id", "since"},
		Columns: []string{"name"}}
	err := s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error {
		now, err := s.Data.NowTx(tx)
		if err != nil {
			return err
		}
		have := map[string]known{}
		query := tx.Raw("SELECT object_id, name, since FROM object_name WHERE account_id = ? AND level = ?"+
			" ORDER BY object_id, since", accountID, level)
		err = sqldb.EachRow(query, func(rows *sql.Rows) error {
			var id, name string
			var since sqldb.Time
			err := rows.Scan(&id, &name, &since)
			have[id] = known{name, since.Time}
			return err
		})
		if err != nil {
			return err
		}
		var rows [][]any
		for _, id := range slices.Sorted(maps.Keys(names)) {
			name, before := sqldb.Cut(names[id], objectNameMax), have[id]
			if name == before.name {
				continue
			}
			since := sqldb.At(now)
			if !since.After(before.since) {
				since = sqldb.At(before.since.Add(time.Millisecond)) // since is a part of the key
			}
			rows = append(rows, []any{accountID, level, id, since, name})
		}
		if len(rows) == 0 {
			return nil
		}
		if err := s.Data.Upsert(tx, table, rows); err != nil {
			return err
		}
		return widemark.Account(s.Data, tx, media, accountID, []day.Day{day.Epoch}, now.UnixMicro())
	})
	if err != nil {
		return fmt.Errorf("write names of account %d: %w", accountID, err)
	}
	return nil
}
