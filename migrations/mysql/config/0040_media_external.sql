-- Platforms without Go code, whose work outside workers do. limits is a JSON list of rules as GET /api/v1/platforms
-- shows them.

-- +goose Up
CREATE TABLE IF NOT EXISTS media_external (
  name VARCHAR(32) NOT NULL,
  timezone VARCHAR(64) NOT NULL,
  currency CHAR(3) NOT NULL,
  limits TEXT NOT NULL,
  enabled TINYINT NOT NULL DEFAULT 1,
  updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Its edits are recorded.
INSERT IGNORE INTO audit_row (table_name, row_key) VALUES ('media_external', '');

-- +goose Down
DELETE FROM audit_row WHERE table_name = 'media_external';
DROP TABLE IF EXISTS media_external;
