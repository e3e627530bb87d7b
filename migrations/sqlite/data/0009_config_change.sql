-- The differences that pulls of configuration found, field by field. version is the pull's: microseconds in UTC.

-- +goose Up
CREATE TABLE IF NOT EXISTS config_change (
  account_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  level TEXT NOT NULL,
  object_id TEXT NOT NULL,
  field TEXT NOT NULL,
  before_value TEXT NOT NULL,
  after_value TEXT NOT NULL,
  seen_at DATETIME NOT NULL,
  PRIMARY KEY (account_id, version, level, object_id, field)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS config_change;
