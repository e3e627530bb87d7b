-- settings of a queue are JSON. rate_at is the moment, in microseconds since 1970, at which the claims so far have used
-- up a queue's rate. A queue whose concurrency is limited has a row in job_slot for each claim, which counts until
-- held_until.
--
-- backoff of a job is "base factor cap", in seconds, next to that of its queue.
--
-- job_key has the keys of publications that are not repeated until held_until. hash is the SHA-256 of a key.

-- +goose Up
ALTER TABLE job_queue ADD COLUMN settings TEXT NOT NULL DEFAULT '';
ALTER TABLE job_queue ADD COLUMN rate_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job_kept ADD COLUMN backoff TEXT NOT NULL DEFAULT '';

CREATE TABLE IF NOT EXISTS job_slot (
  queue_id INTEGER NOT NULL,
  id BLOB NOT NULL,
  held_until DATETIME NOT NULL,
  PRIMARY KEY (queue_id, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS job_slot_held ON job_slot (held_until);

CREATE TABLE IF NOT EXISTS job_key (
  queue_id INTEGER NOT NULL,
  hash BLOB NOT NULL,
  id BLOB NOT NULL,
  held_until DATETIME NOT NULL,
  PRIMARY KEY (queue_id, hash)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS job_key_held ON job_key (held_until);

-- +goose Down
DROP TABLE IF EXISTS job_key;
DROP TABLE IF EXISTS job_slot;
ALTER TABLE job_kept DROP COLUMN backoff;
ALTER TABLE job_queue DROP COLUMN settings;
ALTER TABLE job_queue DROP COLUMN rate_at;
