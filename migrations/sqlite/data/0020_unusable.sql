-- Values of platforms' rows that could not be used, and a character set for the tables that had the server's default.

-- +goose Up

-- How many values of the scope's day could not be used by the last pull that covered it.
ALTER TABLE coverage ADD COLUMN unusable INTEGER NOT NULL DEFAULT 0;

-- These values by field. kind is their effect: attribute, future, figure or key. why is the reason of one of them.
CREATE TABLE IF NOT EXISTS unusable_value (
  account_id INTEGER NOT NULL,
  report TEXT NOT NULL,
  level TEXT NOT NULL,
  day DATE NOT NULL,
  field TEXT NOT NULL,
  kind TEXT NOT NULL,
  media TEXT NOT NULL,
  number INTEGER NOT NULL,
  why TEXT NOT NULL,
  seen_at DATETIME NOT NULL,
  PRIMARY KEY (account_id, report, level, day, field, kind)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS unusable_value;
ALTER TABLE coverage DROP COLUMN unusable;
