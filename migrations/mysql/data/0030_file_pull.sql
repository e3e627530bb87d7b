-- Pulls of reports that a platform makes as files, while their jobs are under way: one row for each subtask. pull holds
-- the pull's version and its jobs as JSON. A change of the row names the revision that it has read.

-- +goose Up
CREATE TABLE IF NOT EXISTS file_pull (
  run_id BIGINT NOT NULL,
  account_id BIGINT NOT NULL,
  part VARCHAR(96) NOT NULL,
  revision BIGINT NOT NULL,
  pull LONGTEXT NOT NULL,
  PRIMARY KEY (run_id, account_id, part)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS file_pull;
