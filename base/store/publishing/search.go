package publishing

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"adsync/base/day"
	"adsync/base/sqldb"
)

// File returns a file by its id, or sqldb.ErrNotFound.
func (s Publications) File(ctx context.Context, id int64) (Publication, error) {
	return one[Publication](s.Data.Writer(ctx).Where("id = ?", id), fmt.Sprintf("file %d", id))
}

// FileCount is the files of a state at a destination.
type FileCount struct {
	Destination string
	State       State
	Files       int
	Bytes       int64     // of those that are rendered
	Held        int       // of the waiting ones: those at their latest moment
	Oldest      time.Time // since when one of them waits for its delivery alone; of waiting ones, since when it is planned
}

// FileCounts counts the open files, and those that were planned since a moment and have failed or were published.
func (s Publications) FileCounts(ctx context.Context, since, now time.Time) ([]FileCount, error) {
	all := []FileCount{}
	for _, part := range []struct {
		where string
		args  []any
	}{
		{"state IN ?", []any{openStates}},
		{"state IN ? AND planned_at >= ?", []any{[]State{Failed, Published}, sqldb.At(since)}},
	} {
		query := s.Data.Writer(ctx).Raw("SELECT destination, state, COUNT(*), COALESCE(SUM(byte_size), 0),"+
			" SUM(CASE WHEN state = ? AND latest_at <= ? THEN 1 ELSE 0 END), MIN(COALESCE(ready_at, planned_at))"+
			" FROM publication WHERE "+part.where+" GROUP BY destination, state ORDER BY destination, state",
			append([]any{Waiting, sqldb.At(now)}, part.args...)...)
		err := sqldb.EachRow(query, func(rows *sql.Rows) error {
			var c FileCount
			var oldest sqldb.Time
			err := rows.Scan(&c.Destination, &c.State, &c.Files, &c.Bytes, &c.Held, &oldest)
			c.Oldest = oldest.Time
			all = append(all, c)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("count the files: %w", err)
		}
	}
	return all, nil
}

// Search narrows down a list of files; empty fields do not.
type Search struct {
	Subscription, Destination, Customer, Name string
	State                                     State
	From, To                                  day.Day // files whose periods have a day in between
	Before                                    int64   // only files with a smaller id
	Limit                                     int
}

// SearchFiles returns files, the newest first.
func (s Publications) SearchFiles(ctx context.Context, f Search) ([]Publication, error) {
	q := s.Data.Reader(ctx)
	for column, value := range map[string]string{"subscription": f.Subscription, "destination": f.Destination,
		"customer": f.Customer, "name": f.Name, "state": string(f.State)} {
		if value != "" {
			q = q.Where(column+" = ?", value)
		}
	}
	if f.From != "" {
		q = q.Where("to_day >= ?", f.From)
	}
	if f.To != "" {
		q = q.Where("from_day <= ?", f.To)
	}
	if f.Before != 0 {
		q = q.Where("id < ?", f.Before)
	}
	var all []Publication
	if err := q.Order("id DESC").Limit(f.Limit).Find(&all).Error; err != nil {
		return nil, fmt.Errorf("read the files: %w", err)
	}
	return all, nil
}

// FilesOfPeriods returns the files of a subscription whose periods are within a range of days.
func (s Publications) FilesOfPeriods(ctx context.Context, subscription, from, to string) ([]Publication, error) {
	all, err := list(s.Data.Writer(ctx).
		Where("subscription = ? AND from_day >= ? AND to_day <= ?", subscription, from, to).
		Order("from_day, to_day, revision"))
	if err != nil {
		return nil, fmt.Errorf("read the files of %s: %w", subscription, err)
	}
	return all, nil
}

// OpenFiles returns the names and deliveries of all open files.
func (s Publications) OpenFiles(ctx context.Context) ([]Publication, error) {
	all, err := list(s.Data.Writer(ctx).Select("name", "delivery").Where("state IN ?", openStates))
	if err != nil {
		return nil, fmt.Errorf("read the open files: %w", err)
	}
	return all, nil
}

// FileRivals returns the other files that have, or are to have, the name of a file at its destination.
func (s Publications) FileRivals(ctx context.Context, p *Publication) ([]Publication, error) {
	all, err := list(s.Data.Writer(ctx).Where("destination = ? AND name = ? AND id <> ?", p.Destination, p.Name, p.ID).
		Order("id"))
	if err != nil {
		return nil, fmt.Errorf("read the rivals of %s: %w", p.Part(), err)
	}
	return all, nil
}
