package ledger

import (
	"context"
	"fmt"
	"strings"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/task"
)

// LogTable returns the table that holds a run's subtasks: that of the UTC day in the run's id, whatever the clock
// shows.
func LogTable(runID int64) string { return logTableOf(task.LogDay(runID)) }

// sameLogTable reports whether the rows of two runs are in one table.
func sameLogTable(a, b int64) bool { return a == b || task.LogDay(a) == task.LogDay(b) }

func logTableOf(d day.Day) string {
	return sqldb.LogTablePrefix + digitsOf(d)
}

func digitsOf(d day.Day) string { return strings.ReplaceAll(d.String(), "-", "") }

// EnsureLogTable creates the log table of a UTC day, and that of its failures, if they do not exist.
func (s RunRows) EnsureLogTable(ctx context.Context, d day.Day) error {
	suffix := " WITHOUT ROWID"
	integer, instant := "INTEGER", "DATETIME"
	text := func(name string, characters int) string { return name + " " + s.Data.TextType(name, characters) }
	if s.Data.Dialect() == sqldb.MySQLDialect {
		suffix = " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
		integer, instant = "BIGINT", "DATETIME(3)"
	}
	// No index on state: only the count that ends a fan-out reads a day's rows by state.
	log := ` (
  run_id ` + integer + ` NOT NULL,
  account_id ` + integer + ` NOT NULL,
  ` + text("part", 96) + ` NOT NULL,
  ` + text("state", 16) + ` NOT NULL,
  delivery ` + integer + ` NOT NULL,
  attempt ` + integer + ` NOT NULL,
  ` + text("node", 64) + ` NOT NULL DEFAULT '',
  created_at ` + instant + ` NOT NULL,
  started_at ` + instant + ` NULL,
  ended_at ` + instant + ` NULL,
  ` + text("error_class", 16) + ` NOT NULL DEFAULT '',
  ` + text("error_text", ErrorTextMax) + ` NOT NULL DEFAULT '',
  rows_written ` + integer + ` NOT NULL DEFAULT 0,
  api_calls ` + integer + ` NOT NULL DEFAULT 0,
  ` + text("batch", 32) + ` NOT NULL DEFAULT '',
  PRIMARY KEY (run_id, account_id, part)
)`
	failures := ` (
  run_id ` + integer + ` NOT NULL,
  account_id ` + integer + ` NOT NULL,
  ` + text("part", 96) + ` NOT NULL,
  delivery ` + integer + ` NOT NULL,
  attempt ` + integer + ` NOT NULL,
  ` + text("state", 16) + ` NOT NULL,
  ` + text("node", 64) + ` NOT NULL,
  started_at ` + instant + ` NULL,
  ended_at ` + instant + ` NULL,
  ` + text("error_class", 16) + ` NOT NULL,
  ` + text("error_text", ErrorTextMax) + ` NOT NULL,
  calls ` + integer + ` NOT NULL,
  PRIMARY KEY (run_id, account_id, part, delivery)
)`
	for _, t := range [][2]string{{logTableOf(d), log}, {failureTableOf(d), failures}} {
		sql := "CREATE TABLE IF NOT EXISTS " + t[0] + t[1] + suffix + sqldb.Placing(s.Data, t[0])
		if err := s.Data.Writer(ctx).Exec(sql).Error; err != nil {
			return fmt.Errorf("create %s: %w", t[0], err)
		}
	}
	return nil
}

// LogDays returns the UTC days that have a log table, oldest first.
func (s RunRows) LogDays(ctx context.Context) ([]day.Day, error) {
	query := "SELECT table_name FROM information_schema.tables" +
		" WHERE table_schema = DATABASE() AND table_name LIKE 'task\\_log\\_%' ORDER BY table_name"
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'task!_log!_%' ESCAPE '!' ORDER BY name"
	}
	var names []string
	if err := s.Data.Writer(ctx).Raw(query).Scan(&names).Error; err != nil {
		return nil, fmt.Errorf("list log tables: %w", err)
	}
	var days []day.Day
	for _, name := range names {
		if !sqldb.LogTablePattern.MatchString(name) {
			continue
		}
		digits := strings.TrimPrefix(name, sqldb.LogTablePrefix)
		d, err := day.Parse(digits[:4] + "-" + digits[4:6] + "-" + digits[6:])
		if err == nil {
			days = append(days, d)
		}
	}
	return days, nil
}

// DropLogTable drops a day's log table and that of its failures. Dead subtasks are in subtask_dead and stay.
func (s RunRows) DropLogTable(ctx context.Context, d day.Day) error {
	// The log goes last: after an error the day is found by it.
	for _, table := range []string{failureTableOf(d), logTableOf(d)} {
		if err := s.Data.Writer(ctx).Exec("DROP TABLE IF EXISTS " + table).Error; err != nil {
			return fmt.Errorf("drop %s: %w", table, err)
		}
	}
	return nil
}
