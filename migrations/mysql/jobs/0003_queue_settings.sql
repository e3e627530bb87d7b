-- settings of a queue are JSON. rate_at is the moment, in microseconds since 1970, at which the claims so far have used
-- up a queue's rate. A queue whose concurrency is limited has a row in job_slot for each claim, which counts until
-- held_until.
--
-- backoff of a job is "base factor cap", in seconds, next to that of its queue.
--
-- job_key has the keys of publications that are not repeated until held_until. hash is the SHA-256 of a key.

-- +goose Up
ALTER TABLE job_queue ADD COLUMN settings VARCHAR(1000) NOT NULL DEFAULT '', ADD COLUMN rate_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE job_kept ADD COLUMN backoff VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '';

CREATE TABLE IF NOT EXISTS job_slot (
  queue_id BIGINT NOT NULL,
  id BINARY(16) NOT NULL,
  held_until DATETIME(3) NOT NULL,
  PRIMARY KEY (queue_id, id),
  KEY held (held_until)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS job_key (
  queue_id BIGINT NOT NULL,
  hash BINARY(32) NOT NULL,
  id BINARY(16) NOT NULL,
  held_until DATETIME(3) NOT NULL,
  PRIMARY KEY (queue_id, hash),
  KEY held (held_until)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS job_key;
DROP TABLE IF EXISTS job_slot;
ALTER TABLE job_kept DROP COLUMN backoff;
ALTER TABLE job_queue DROP COLUMN settings, DROP COLUMN rate_at;
