package ledger

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/ratelimit"
	"adsync/base/sqldb"
)

// reachedKept is how long a process that no longer reaches Redis is kept.
const reachedKept = time.Hour

var _ ratelimit.Witness = Witness{}

// Reached implements ratelimit.Witness.
func (s Witness) Reached(ctx context.Context, process string, media []string) error {
	now, err := s.Data.Now(ctx)
	if err != nil {
		return fmt.Errorf("record that Redis is reached: %w", err)
	}
	rows := make([][]any, len(media))
	for i, m := range media {
		rows[i] = []any{process, m, sqldb.At(now)}
	}
	table := sqldb.Table{Name: "redis_reached", Key: []string{"process", "media"}, Columns: []string{"seen_at"}}
	if err := s.Data.Upsert(s.Data.Writer(ctx), table, rows); err != nil {
		return fmt.Errorf("record that Redis is reached: %w", err)
	}
	return nil
}

// Read implements ratelimit.Witness. It deletes processes that have not reached Redis for an hour.
func (s Witness) Read(ctx context.Context) (ratelimit.Records, error) {
	records, err := s.read(ctx)
	if err != nil {
		return ratelimit.Records{}, fmt.Errorf("read which processes reach Redis: %w", err)
	}
	return records, nil
}

func (s Witness) read(ctx context.Context) (ratelimit.Records, error) {
	records := ratelimit.Records{Servers: map[string]string{}}
	now, err := s.Data.Now(ctx)
	if err != nil {
		return records, err
	}
	db := s.Data.Current(ctx)
	rows, err := db.Raw("SELECT process, media, seen_at FROM redis_reached").Rows()
	if err != nil {
		return records, err
	}
	defer rows.Close()
	old := false
	for rows.Next() {
		var r ratelimit.Reach
		var seen sqldb.Time
		if err := rows.Scan(&r.Process, &r.Media, &seen); err != nil {
			return records, err
		}
		r.Ago = now.Sub(seen.Time)
		old = old || r.Ago > reachedKept
		records.Reached = append(records.Reached, r)
	}
	if err := rows.Err(); err != nil {
		return records, err
	}
	if old {
		if err := s.Data.Writer(ctx).Exec("DELETE FROM redis_reached WHERE seen_at < ?",
			sqldb.At(now.Add(-reachedKept))).Error; err != nil {
			return records, err
		}
	}
	var servers []struct{ Media, RunID string }
	if err := db.Raw("SELECT media, run_id FROM redis_server").Scan(&servers).Error; err != nil {
		return records, err
	}
	for _, x := range servers {
		records.Servers[x.Media] = x.RunID
	}
	return records, nil
}

// Move implements ratelimit.Witness.
func (s Witness) Move(ctx context.Context, media, from, to string) (server string, moved bool, err error) {
	now, err := s.Data.Now(ctx)
	if err != nil {
		return "", false, fmt.Errorf("record the Redis server of %s: %w", media, err)
	}
	db := s.Data.Writer(ctx)
	var write *gorm.DB
	if from == "" {
		write = db.Exec(s.Data.Dialect().InsertIgnore()+"redis_server (media, run_id, since) VALUES (?, ?, ?)", media, to,
			sqldb.At(now))
	} else {
		write = db.Exec("UPDATE redis_server SET run_id = ?, since = ? WHERE media = ? AND run_id = ?", to, sqldb.At(now),
			media, from)
	}
	if write.Error != nil {
		return "", false, fmt.Errorf("record the Redis server of %s: %w", media, write.Error)
	}
	if err := db.Raw("SELECT run_id FROM redis_server WHERE media = ?", media).Row().Scan(&server); err != nil {
		return "", false, fmt.Errorf("read the Redis server of %s: %w", media, err)
	}
	return server, write.RowsAffected > 0 && server == to, nil
}
