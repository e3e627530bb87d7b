-- What figures that can be trusted need: which holes of coverage were ordered.

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

-- +goose Down
DROP TABLE IF EXISTS hole;
