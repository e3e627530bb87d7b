-- The quotas of namespaces; 0 is any number. job_audit has what people and programs changed besides jobs.

-- +goose Up
CREATE TABLE IF NOT EXISTS job_quota (
  namespace TEXT NOT NULL,
  jobs INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  rate_jobs INTEGER NOT NULL DEFAULT 0,
  rate_seconds INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (namespace)
);

CREATE TABLE IF NOT EXISTS job_audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at DATETIME NOT NULL,
  namespace TEXT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  detail TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS job_audit_namespace ON job_audit (namespace, id);
CREATE INDEX IF NOT EXISTS job_audit_at ON job_audit (at);

-- +goose Down
DROP TABLE IF EXISTS job_audit;
DROP TABLE IF EXISTS job_quota;
