-- What figures that can be trusted need: which holes of coverage were ordered, which rows of results were deleted, and
-- where the levels of a report do not add up.

-- +goose Up

-- The days of a scope that a run was ordered for since coverage lacked them: when the last time, and how often.
CREATE TABLE IF NOT EXISTS hole (
  account_id BIGINT NOT NULL,
  report VARCHAR(32) NOT NULL,
  level VARCHAR(32) NOT NULL,
  day DATE NOT NULL,
  ordered_at DATETIME(3) NOT NULL,
  run_id BIGINT NOT NULL DEFAULT 0,
  tries INT NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, report, level, day),
  KEY ordered_at (ordered_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Deleted rows of report_daily, report_hourly, summary_daily and summary_hourly, by the columns of their keys; what a table has
-- not is NULL. version is that of the pull, or the rebuild, that deleted the row.
CREATE TABLE IF NOT EXISTS report_tombstone (
  id BIGINT NOT NULL AUTO_INCREMENT,
  table_name VARCHAR(32) NOT NULL,
  day DATE NOT NULL,
  hour TINYINT NULL,
  account_id BIGINT NULL,
  level VARCHAR(32) NULL,
  object_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  game VARCHAR(64) NULL,
  media VARCHAR(32) NULL,
  os VARCHAR(16) NULL,
  currency CHAR(3) NULL,
  day_zone VARCHAR(64) NULL,
  version BIGINT NOT NULL,
  deleted_at DATETIME(3) NOT NULL,
  PRIMARY KEY (id),
  KEY deleted_at (deleted_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Where an account's figure of a settled day is not the sum of a level below it. pulled_again_run_id is the run that was ordered
-- for it, confirmed_at when it was seen after both levels had been pulled again.
CREATE TABLE IF NOT EXISTS reconciliation (
  account_id BIGINT NOT NULL,
  day DATE NOT NULL,
  level VARCHAR(32) NOT NULL,
  metric VARCHAR(32) NOT NULL,
  media VARCHAR(32) NOT NULL,
  account_value BIGINT NOT NULL,
  sum_value BIGINT NOT NULL,
  first_seen_at DATETIME(3) NOT NULL,
  last_seen_at DATETIME(3) NOT NULL,
  pulled_again_run_id BIGINT NOT NULL DEFAULT 0,
  confirmed_at DATETIME(3) NULL,
  state VARCHAR(16) NOT NULL,
  PRIMARY KEY (account_id, day, level, metric),
  KEY state (media, state, day, account_id),
  KEY last_seen_at (last_seen_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS reconciliation;
DROP TABLE IF EXISTS report_tombstone;
DROP TABLE IF EXISTS hole;
