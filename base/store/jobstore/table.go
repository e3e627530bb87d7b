package jobstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"adsync/base/sqldb"
)

const (
	// hashes is how many tables a day has.
	hashes = 4
	// keptDelay is the delay from which a job is published into job_kept: it would outlive its day's table.
	keptDelay = 12 * time.Hour
	// daysOpen is how many days a day's tables hold jobs. Then their rest moves to job_kept.
	daysOpen = 2

	keptTable = "job_kept"
	deadTable = "job_dead"
	dayLayout = "20060102"
)

var dayTable = regexp.MustCompile(`^job_(\d{8})_\d$`)

// tables remembers which tables of days exist.
type tables struct {
	mu    sync.Mutex
	known map[string]bool
}

func (t *tables) has(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return name == keptTable || t.known[name]
}

func (t *tables) add(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = map[string]bool{}
	}
	t.known[name] = true
}

func (t *tables) set(names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = map[string]bool{}
	for _, name := range names {
		t.known[name] = true
	}
}

// all returns the known tables of a queue's hash, job_kept first and then the days from the oldest on; of all hashes
// if the hash is -1.
func (t *tables) all(hash int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := []string{}
	for name := range t.known {
		if hash < 0 || strings.HasSuffix(name, fmt.Sprintf("_%d", hash)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append([]string{keptTable}, names...)
}

// OutlivesDay reports whether a job is published where it may stay: its day's table would be emptied before it ends.
func OutlivesDay(delay, ttl time.Duration) bool { return delay >= keptDelay || ttl == 0 }

func hashOf(q QueueID) int { return int(uint64(q) % hashes) } //nolint:gosec // It is below hashes.

func dayTableOf(day time.Time, hash int) string {
	return fmt.Sprintf("job_%s_%d", day.UTC().Format(dayLayout), hash)
}

// home returns the table into which a job is published.
func home(q QueueID, id ID) string {
	if id.kept() {
		return keptTable
	}
	return dayTableOf(id.Published(), hashOf(q))
}

// places returns the tables in which a job may be: its day's, before that is emptied, and job_kept, once that may have
// begun.
func places(q QueueID, id ID, now time.Time) []string {
	age := startOf(now).Sub(startOf(id.Published()))
	switch {
	case id.kept() || age > 30*24*time.Hour:
		return []string{keptTable}
	case age < (daysOpen-1)*24*time.Hour:
		return []string{home(q, id)}
	}
	return []string{home(q, id), keptTable}
}

func startOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// ensure creates a table of a day.
func (s *Store) ensure(ctx context.Context, name string) error {
	if s.tables.has(name) {
		return nil
	}
	if err := s.createLike(ctx, name); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	s.tables.add(name)
	return nil
}

func (s *Store) createLike(ctx context.Context, name string) error {
	if s.db.Dialect() != sqldb.SQLiteDialect {
		return s.db.Writer(ctx).Exec("CREATE TABLE IF NOT EXISTS " + name + " LIKE " + keptTable).Error
	}
	var texts []string
	err := s.db.Writer(ctx).Raw("SELECT sql FROM sqlite_master WHERE tbl_name = ? AND type IN ('table', 'index') AND "+
		"sql IS NOT NULL ORDER BY type DESC", keptTable).Scan(&texts).Error
	if err != nil {
		return err
	}
	for _, text := range texts {
		text = strings.ReplaceAll(text, keptTable, name)
		for _, kind := range []string{"CREATE TABLE ", "CREATE INDEX "} {
			if rest, is := strings.CutPrefix(text, kind); is {
				text = kind + "IF NOT EXISTS " + strings.TrimPrefix(rest, "IF NOT EXISTS ")
			}
		}
		if err := s.db.Writer(ctx).Exec(text).Error; err != nil {
			return err
		}
	}
	return nil
}

// Prepare reads which tables there are, and creates those of today and tomorrow. Call it at the start and then each
// hour.
func (s *Store) Prepare(ctx context.Context, now time.Time) error {
	names, err := s.db.Tables(ctx)
	if err != nil {
		return err
	}
	s.tables.set(slices.DeleteFunc(names, func(name string) bool { return !dayTable.MatchString(name) }))
	for _, name := range s.tables.all(-1) {
		if err := s.complete(ctx, name); err != nil {
			return fmt.Errorf("complete %s: %w", name, err)
		}
	}
	for hash := range hashes {
		for _, day := range []time.Time{now, now.Add(24 * time.Hour)} {
			if err := s.ensure(ctx, dayTableOf(day, hash)); err != nil {
				return err
			}
		}
	}
	return nil
}

// addedColumns are the columns that tables of days of earlier versions lack, in their order, with their types in MySQL
// and in SQLite.
var addedColumns = []struct{ name, mysql, sqlite string }{
	{"backoff", "VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT ''", "TEXT NOT NULL DEFAULT ''"},
	{"ttr", "INT UNSIGNED NOT NULL DEFAULT 0", "INTEGER NOT NULL DEFAULT 0"},
	{"state", "MEDIUMBLOB NULL", "BLOB NULL"},
	{"released", "INT UNSIGNED NOT NULL DEFAULT 0", "INTEGER NOT NULL DEFAULT 0"},
}

// complete adds the columns that an earlier version's table of a day does not have.
func (s *Store) complete(ctx context.Context, name string) error {
	has, err := s.columnsOf(ctx, name)
	for _, c := range addedColumns {
		if isMissing(err) {
			return nil
		}
		if err == nil && slices.Contains(has, c.name) {
			continue
		}
		kind := c.mysql
		if s.db.Dialect() == sqldb.SQLiteDialect {
			kind = c.sqlite
		}
		adding := s.db.Writer(ctx).Exec("ALTER TABLE " + name + " ADD COLUMN " + c.name + " " + kind).Error
		has, err = s.columnsOf(ctx, name)
		if adding != nil && !isMissing(err) && !slices.Contains(has, c.name) { // Or another process was faster.
			return adding
		}
	}
	return nil
}

func (s *Store) columnsOf(ctx context.Context, table string) ([]string, error) {
	found, err := s.db.Writer(ctx).Raw("SELECT * FROM " + table + " LIMIT 0").Rows()
	if err != nil {
		return nil, err
	}
	defer found.Close()
	columns, err := found.Columns()
	return columns, errors.Join(err, found.Err())
}

// movedAtOnce is how many jobs one transaction moves.
const movedAtOnce = 500

// Retire moves what is left of the tables of past days to job_kept, without what has expired, and drops them. It may
// be repeated, and run concurrently.
func (s *Store) Retire(ctx context.Context, now time.Time) error {
	for _, name := range s.tables.all(-1) {
		match := dayTable.FindStringSubmatch(name)
		if match == nil {
			continue
		}
		day, err := time.Parse(dayLayout, match[1])
		if err != nil || startOf(now).Sub(day) < daysOpen*24*time.Hour {
			continue
		}
		if err := s.retire(ctx, name, now); err != nil && !isMissing(err) {
			return fmt.Errorf("retire %s: %w", name, err)
		}
	}
	return nil
}

func (s *Store) retire(ctx context.Context, name string, now time.Time) error {
	for {
		moved, err := s.move(ctx, name, now)
		if err != nil {
			return err
		}
		if moved == 0 {
			break
		}
	}
	if err := s.db.Writer(ctx).Exec("DROP TABLE IF EXISTS " + name).Error; err != nil {
		return err
	}
	s.tables.mu.Lock()
	delete(s.tables.known, name)
	s.tables.mu.Unlock()
	return nil
}
