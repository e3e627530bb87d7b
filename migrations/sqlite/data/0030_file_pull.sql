-- Pulls of reports that a platform makes as files, while their jobs are under way: one row for each subtask. pull holds
-- the pull's version and its jobs as JSON. A change of the row names the revision that it has read.

-- +goose Up
CREATE TABLE IF NOT EXISTS file_pull (
  run_id INTEGER NOT NULL,
  account_id INTEGER NOT NULL,
  part TEXT NOT NULL,
  revision INTEGER NOT NULL,
  pull TEXT NOT NULL,
  PRIMARY KEY (run_id, account_id, part)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS file_pull;
