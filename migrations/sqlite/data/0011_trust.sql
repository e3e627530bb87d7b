-- What figures that can be trusted need: which holes of coverage were ordered, and which rows of results were deleted.

-- +goose Up

-- The days of a scope that a run was ordered for since coverage lacked them: when the last time, and how often.
CREATE TABLE IF NOT EXISTS hole (
  account_id INTEGER NOT NULL,
  report TEXT NOT NULL,
  level TEXT NOT NULL,
  day DATE NOT NULL,
  ordered_at DATETIME NOT NULL,
  run_id INTEGER NOT NULL DEFAULT 0,
  tries INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, report, level, day)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS hole_ordered_at ON hole (ordered_at);

-- Deleted rows of report_daily, report_hourly, summary_daily and summary_hourly, by the columns of their keys; what a table has
-- not is NULL. version is that of the pull, or the rebuild, that deleted the row.
CREATE TABLE IF NOT EXISTS report_tombstone (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  table_name TEXT NOT NULL,
  day DATE NOT NULL,
  hour INTEGER NULL,
  account_id INTEGER NULL,
  level TEXT NULL,
  object_id TEXT NULL,
  game TEXT NULL,
  media TEXT NULL,
  os TEXT NULL,
  currency TEXT NULL,
  day_zone TEXT NULL,
  version INTEGER NOT NULL,
  deleted_at DATETIME NOT NULL
);
CREATE INDEX IF NOT EXISTS report_tombstone_deleted_at ON report_tombstone (deleted_at);

-- +goose Down
DROP TABLE IF EXISTS report_tombstone;
DROP TABLE IF EXISTS hole;
