-- What figures that can be trusted need: which holes of coverage were ordered, and which rows of results were deleted.

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

-- +goose Down
DROP TABLE IF EXISTS report_tombstone;
DROP TABLE IF EXISTS hole;
