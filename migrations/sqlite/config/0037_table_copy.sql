-- Tables of other databases that are copied into tables copy_NAME of the data database. source is a name of the setting
-- sources. key_columns are separated by commas. Without a cursor and a window the whole table is read.

-- +goose Up
CREATE TABLE IF NOT EXISTS table_copy (
  name TEXT NOT NULL,
  source TEXT NOT NULL,
  source_table TEXT NOT NULL,
  key_columns TEXT NOT NULL,
  cursor_column TEXT NULL,
  overlap_seconds INTEGER NOT NULL DEFAULT 900,
  window_days INTEGER NULL,
  day_column TEXT NULL,
  enabled INTEGER NOT NULL DEFAULT 1,
  updated_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  PRIMARY KEY (name)
) WITHOUT ROWID;

-- Its edits are recorded.
INSERT OR IGNORE INTO audit_row (table_name, row_key) VALUES ('table_copy', '');

-- +goose Down
DELETE FROM audit_row WHERE table_name = 'table_copy';
DROP TABLE IF EXISTS table_copy;
