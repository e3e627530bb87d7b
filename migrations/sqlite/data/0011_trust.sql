-- What figures that can be trusted need: which holes of coverage were ordered, which rows of results were deleted, and
-- where the levels of a report do not add up.

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

-- Where an account's figure of a settled day is not the sum of a level below it. pulled_again_run_id is the run that was ordered
-- for it, confirmed_at when it was seen after both levels had been pulled again.
CREATE TABLE IF NOT EXISTS reconciliation (
  account_id INTEGER NOT NULL,
  day DATE NOT NULL,
  level TEXT NOT NULL,
  metric TEXT NOT NULL,
  media TEXT NOT NULL,
  account_value INTEGER NOT NULL,
  sum_value INTEGER NOT NULL,
  first_seen_at DATETIME NOT NULL,
  last_seen_at DATETIME NOT NULL,
  pulled_again_run_id INTEGER NOT NULL DEFAULT 0,
  confirmed_at DATETIME NULL,
  state TEXT NOT NULL,
  PRIMARY KEY (account_id, day, level, metric)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS reconciliation_state ON reconciliation (media, state, day, account_id);
CREATE INDEX IF NOT EXISTS reconciliation_last_seen_at ON reconciliation (last_seen_at);

-- +goose Down
DROP TABLE IF EXISTS reconciliation;
DROP TABLE IF EXISTS report_tombstone;
DROP TABLE IF EXISTS hole;
