-- The quotas of namespaces; 0 is any number. job_audit has what people and programs changed besides jobs.

-- +goose Up
CREATE TABLE IF NOT EXISTS job_quota (
  namespace VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  jobs BIGINT NOT NULL DEFAULT 0,
  bytes BIGINT NOT NULL DEFAULT 0,
  rate_jobs BIGINT NOT NULL DEFAULT 0,
  rate_seconds BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (namespace)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS job_audit (
  id BIGINT NOT NULL AUTO_INCREMENT,
  at DATETIME(3) NOT NULL,
  namespace VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  actor VARCHAR(64) NOT NULL,
  action VARCHAR(64) NOT NULL,
  target VARCHAR(255) NOT NULL,
  detail VARCHAR(1000) NOT NULL,
  PRIMARY KEY (id),
  KEY namespace (namespace, id),
  KEY at (at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS job_audit;
DROP TABLE IF EXISTS job_quota;
