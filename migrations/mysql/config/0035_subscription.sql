-- Where report files are delivered, and the files that are subscribed to. credentials is sealed. source, scope, format,
-- completeness, corrections and options are JSON. Without a lane the size of a file decides.

-- +goose Up
CREATE TABLE IF NOT EXISTS destination (
  name VARCHAR(64) NOT NULL,
  kind VARCHAR(8) NOT NULL,
  address VARCHAR(512) NOT NULL,
  prefix VARCHAR(512) NOT NULL DEFAULT '',
  login VARCHAR(128) NOT NULL DEFAULT '',
  credentials TEXT NULL,
  host_key TEXT NULL,
  ca TEXT NULL,
  options TEXT NULL,
  enabled TINYINT NOT NULL DEFAULT 1,
  updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS subscription (
  name VARCHAR(64) NOT NULL,
  source MEDIUMTEXT NOT NULL,
  scope TEXT NULL,
  format TEXT NOT NULL,
  path VARCHAR(512) NOT NULL,
  destination VARCHAR(64) NOT NULL,
  cron VARCHAR(128) NOT NULL,
  timezone VARCHAR(64) NOT NULL DEFAULT 'UTC',
  period VARCHAR(16) NOT NULL DEFAULT 'day',
  on_empty VARCHAR(16) NOT NULL DEFAULT 'send',
  on_exists VARCHAR(16) NOT NULL DEFAULT 'replace',
  verify VARCHAR(16) NOT NULL DEFAULT 'readback',
  manifest TINYINT NOT NULL DEFAULT 1,
  rows_max BIGINT NOT NULL DEFAULT 0,
  completeness TEXT NULL,
  corrections TEXT NULL,
  lane VARCHAR(32) NOT NULL DEFAULT '',
  owner VARCHAR(128) NOT NULL DEFAULT '',
  customer VARCHAR(128) NOT NULL DEFAULT '',
  enabled TINYINT NOT NULL DEFAULT 1,
  since DATETIME(3) NOT NULL,
  updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

INSERT IGNORE INTO lane (media, name, pool_size) VALUES ('system', 'files', 8), ('system', 'large_files', 2);

-- Edits of both tables are recorded.
INSERT IGNORE INTO audit_row (table_name, row_key) VALUES ('destination', ''), ('subscription', '');

-- +goose Down
DELETE FROM audit_row WHERE table_name IN ('destination', 'subscription');
DELETE FROM lane WHERE media = 'system' AND name IN ('files', 'large_files');
DROP TABLE IF EXISTS subscription;
DROP TABLE IF EXISTS destination;
