-- ttr of a job, in seconds, is how long each of its claims lasts, whatever its consumer asks for; 0 is what that asks
-- for. state is what a worker kept with a job that it released; released counts these, each of which also took a
-- number of a claim.
--
-- job_watched has the jobs of subtasks that other programs work, and how each ended, until the ledger has the outcome
-- of its subtask. A job is open as long as it is in job_kept. held ones are not claimed. look_at is when the leader
-- looks at one next.

-- +goose Up
ALTER TABLE job_kept ADD COLUMN ttr INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job_kept ADD COLUMN state BLOB NULL;
ALTER TABLE job_kept ADD COLUMN released INTEGER NOT NULL DEFAULT 0;

CREATE TABLE IF NOT EXISTS job_watched (
  queue_id INTEGER NOT NULL,
  id BLOB NOT NULL,
  run_id INTEGER NOT NULL,
  account_id INTEGER NOT NULL,
  part TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  task_id INTEGER NOT NULL,
  media TEXT NOT NULL,
  held INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL DEFAULT 'open',
  rows_written INTEGER NOT NULL DEFAULT 0,
  error TEXT NOT NULL,
  ended_at DATETIME NULL,
  look_at DATETIME NOT NULL,
  PRIMARY KEY (queue_id, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS job_watched_look ON job_watched (look_at);

-- +goose Down
DROP TABLE IF EXISTS job_watched;
ALTER TABLE job_kept DROP COLUMN released;
ALTER TABLE job_kept DROP COLUMN state;
ALTER TABLE job_kept DROP COLUMN ttr;
