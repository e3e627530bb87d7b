-- Platforms without Go code, whose work outside workers do. limits is a JSON list of rules as GET /api/v1/platforms
-- shows them.

-- +goose Up
CREATE TABLE IF NOT EXISTS media_external (
  name TEXT NOT NULL,
  timezone TEXT NOT NULL,
  currency TEXT NOT NULL,
  limits TEXT NOT NULL,
  enabled INTEGER NOT NULL DEFAULT 1,
  updated_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  PRIMARY KEY (name)
) WITHOUT ROWID;

-- Its edits are recorded.
INSERT OR IGNORE INTO audit_row (table_name, row_key) VALUES ('media_external', '');

-- +goose Down
DELETE FROM audit_row WHERE table_name = 'media_external';
DROP TABLE IF EXISTS media_external;
