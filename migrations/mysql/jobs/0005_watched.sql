-- ttr of a job, in seconds, is how long each of its claims lasts, whatever its consumer asks for; 0 is what that asks
-- for. state is what a worker kept with a job that it released; released counts these, each of which also took a
-- number of a claim.
--
-- job_watched has the jobs of subtasks that other programs work, and how each ended, until the ledger has the outcome
-- of its subtask. A job is open as long as it is in job_kept. held ones are not claimed. look_at is when the leader
-- looks at one next.

-- +goose Up
ALTER TABLE job_kept ADD COLUMN ttr INT UNSIGNED NOT NULL DEFAULT 0, ADD COLUMN state MEDIUMBLOB NULL,
  ADD COLUMN released INT UNSIGNED NOT NULL DEFAULT 0;

CREATE TABLE IF NOT EXISTS job_watched (
  queue_id BIGINT NOT NULL,
  id BINARY(16) NOT NULL,
  run_id BIGINT NOT NULL,
  account_id BIGINT NOT NULL,
  part VARCHAR(96) NOT NULL,
  attempt INT NOT NULL,
  task_id BIGINT NOT NULL,
  media VARCHAR(32) NOT NULL,
  held TINYINT NOT NULL DEFAULT 0,
  state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'open',
  rows_written BIGINT NOT NULL DEFAULT 0,
  error TEXT NOT NULL,
  ended_at DATETIME(3) NULL,
  look_at DATETIME(3) NOT NULL,
  PRIMARY KEY (queue_id, id),
  KEY look (look_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS job_watched;
ALTER TABLE job_kept DROP COLUMN ttr, DROP COLUMN state, DROP COLUMN released;
