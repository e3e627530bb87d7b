-- The job queue. Jobs of a day are in tables like job_kept, by the day of their id and a hash of their queue, which the
-- program creates and drops (job_YYYYMMDD_N). job_kept has those that live longer.
--
-- band orders the jobs of a queue: 0 to 9 may be claimed, the lowest first (9 minus the priority); 10 is added while the
-- last try is under way. ready_at is when a job may be claimed, or when its claim lapses.

-- +goose Up
CREATE TABLE IF NOT EXISTS job_kept (
  queue_id INTEGER NOT NULL,
  id BLOB NOT NULL,
  band INTEGER NOT NULL,
  ready_at DATETIME NOT NULL,
  expires_at DATETIME NULL,
  tries INTEGER NOT NULL,
  claims INTEGER NOT NULL DEFAULT 0,
  body BLOB NOT NULL,
  attributes BLOB NULL,
  PRIMARY KEY (queue_id, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS job_kept_ready ON job_kept (queue_id, band, ready_at);

-- Jobs whose tries are spent.
CREATE TABLE IF NOT EXISTS job_dead (
  queue_id INTEGER NOT NULL,
  id BLOB NOT NULL,
  band INTEGER NOT NULL,
  died_at DATETIME NOT NULL,
  claims INTEGER NOT NULL,
  error TEXT NOT NULL,
  body BLOB NOT NULL,
  attributes BLOB NULL,
  PRIMARY KEY (queue_id, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS job_dead_died ON job_dead (queue_id, died_at);
CREATE INDEX IF NOT EXISTS job_dead_old ON job_dead (died_at);

-- The names of the queues. id is the first 8 bytes of the SHA-256 of namespace, a zero byte and name, as a signed
-- number.
CREATE TABLE IF NOT EXISTS job_queue (
  id INTEGER NOT NULL,
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  used_at DATETIME NOT NULL,
  paused INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
) WITHOUT ROWID;

-- The tokens of namespaces. hash is the hexadecimal SHA-256 of a token.
CREATE TABLE IF NOT EXISTS job_token (
  namespace TEXT NOT NULL,
  hash TEXT NOT NULL,
  prefix TEXT NOT NULL,
  description TEXT NOT NULL,
  created_at DATETIME NOT NULL,
  PRIMARY KEY (namespace, hash)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS job_token;
DROP TABLE IF EXISTS job_queue;
DROP TABLE IF EXISTS job_dead;
DROP TABLE IF EXISTS job_kept;
