-- Pulls of outside workers: outside_pull has a row for each claim, outside_part the rows that a worker has staged, as
-- JSON. answer is that of the pull's end, which repeated calls get too; '' = the pull is open. The id begins with the
-- account's.

-- +goose Up
CREATE TABLE IF NOT EXISTS outside_pull (
  account_id INTEGER NOT NULL,
  id TEXT NOT NULL,
  media TEXT NOT NULL,
  report TEXT NOT NULL,
  level TEXT NOT NULL,
  day DATE NOT NULL,
  version INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  answer TEXT NOT NULL,
  created_at DATETIME NOT NULL,
  PRIMARY KEY (account_id, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS outside_pull_created ON outside_pull (created_at);

CREATE TABLE IF NOT EXISTS outside_part (
  account_id INTEGER NOT NULL,
  pull_id TEXT NOT NULL,
  part INTEGER NOT NULL,
  rows_json TEXT NOT NULL,
  PRIMARY KEY (account_id, pull_id, part)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS outside_part;
DROP TABLE IF EXISTS outside_pull;
