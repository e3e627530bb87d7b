-- Where report files are delivered, and the files that are subscribed to. credentials is sealed. source, scope, format,
-- completeness, corrections and options are JSON. Without a lane the size of a file decides.

-- +goose Up
CREATE TABLE IF NOT EXISTS destination (
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  address TEXT NOT NULL,
  prefix TEXT NOT NULL DEFAULT '',
  login TEXT NOT NULL DEFAULT '',
  credentials TEXT NULL,
  host_key TEXT NULL,
  ca TEXT NULL,
  options TEXT NULL,
  enabled INTEGER NOT NULL DEFAULT 1,
  updated_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  PRIMARY KEY (name)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS subscription (
  name TEXT NOT NULL,
  source TEXT NOT NULL,
  scope TEXT NULL,
  format TEXT NOT NULL,
  path TEXT NOT NULL,
  destination TEXT NOT NULL,
  cron TEXT NOT NULL,
  timezone TEXT NOT NULL DEFAULT 'UTC',
  period TEXT NOT NULL DEFAULT 'day',
  on_empty TEXT NOT NULL DEFAULT 'send',
  on_exists TEXT NOT NULL DEFAULT 'replace',
  verify TEXT NOT NULL DEFAULT 'readback',
  manifest INTEGER NOT NULL DEFAULT 1,
  rows_max INTEGER NOT NULL DEFAULT 0,
  completeness TEXT NULL,
  corrections TEXT NULL,
  lane TEXT NOT NULL DEFAULT '',
  owner TEXT NOT NULL DEFAULT '',
  customer TEXT NOT NULL DEFAULT '',
  enabled INTEGER NOT NULL DEFAULT 1,
  since DATETIME NOT NULL,
  updated_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  PRIMARY KEY (name)
) WITHOUT ROWID;

INSERT OR IGNORE INTO lane (media, name, pool_size) VALUES ('system', 'files', 8), ('system', 'large_files', 2);

-- Edits of both tables are recorded.
INSERT OR IGNORE INTO audit_row (table_name, row_key) VALUES ('destination', ''), ('subscription', '');

-- +goose Down
DELETE FROM audit_row WHERE table_name IN ('destination', 'subscription');
DELETE FROM lane WHERE media = 'system' AND name IN ('files', 'large_files');
DROP TABLE IF EXISTS subscription;
DROP TABLE IF EXISTS destination;
