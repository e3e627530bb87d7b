-- The job queue. Jobs of a day are in tables like job_kept, by the day of their id and a hash of their queue, which the
-- program creates and drops (job_YYYYMMDD_N). job_kept has those that live longer.
--
-- band orders the jobs of a queue: 0 to 9 may be claimed, the lowest first (9 minus the priority); 10 is added while the
-- last try is under way. ready_at is when a job may be claimed, or when its claim lapses.

-- +goose Up
CREATE TABLE IF NOT EXISTS job_kept (
  queue_id BIGINT NOT NULL,
  id BINARY(16) NOT NULL,
  band TINYINT NOT NULL,
  ready_at DATETIME(3) NOT NULL,
  expires_at DATETIME(3) NULL,
  tries SMALLINT UNSIGNED NOT NULL,
  claims INT UNSIGNED NOT NULL DEFAULT 0,
  body MEDIUMBLOB NOT NULL,
  attributes BLOB NULL,
  PRIMARY KEY (queue_id, id),
  KEY ready (queue_id, band, ready_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Jobs whose tries are spent.
CREATE TABLE IF NOT EXISTS job_dead (
  queue_id BIGINT NOT NULL,
  id BINARY(16) NOT NULL,
  band TINYINT NOT NULL,
  died_at DATETIME(3) NOT NULL,
  claims INT UNSIGNED NOT NULL,
  error TEXT NOT NULL,
  body MEDIUMBLOB NOT NULL,
  attributes BLOB NULL,
  PRIMARY KEY (queue_id, id),
  KEY died (queue_id, died_at),
  KEY old (died_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The names of the queues. id is the first 8 bytes of the SHA-256 of namespace, a zero byte and name, as a signed
-- number.
CREATE TABLE IF NOT EXISTS job_queue (
  id BIGINT NOT NULL,
  namespace VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  used_at DATETIME(3) NOT NULL,
  paused TINYINT NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The tokens of namespaces. hash is the hexadecimal SHA-256 of a token.
CREATE TABLE IF NOT EXISTS job_token (
  namespace VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  hash CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  prefix VARCHAR(16) NOT NULL,
  description VARCHAR(255) NOT NULL,
  created_at DATETIME(3) NOT NULL,
  PRIMARY KEY (namespace, hash)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS job_token;
DROP TABLE IF EXISTS job_queue;
DROP TABLE IF EXISTS job_dead;
DROP TABLE IF EXISTS job_kept;
