-- The differences that pulls of configuration found, field by field. version is the pull's: microseconds in UTC.

-- +goose Up
CREATE TABLE IF NOT EXISTS config_change (
  account_id BIGINT NOT NULL,
  version BIGINT NOT NULL,
  level VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  object_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  field VARCHAR(96) NOT NULL,
  before_value TEXT NOT NULL,
  after_value TEXT NOT NULL,
  seen_at DATETIME(3) NOT NULL,
  PRIMARY KEY (account_id, version, level, object_id, field)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS config_change;
