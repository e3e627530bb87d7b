-- How far the partner's rows are copied is in copy_cursor, as for the other copies of tables.

-- +goose Up
DROP TABLE IF EXISTS partner_cursor;

-- +goose Down
CREATE TABLE IF NOT EXISTS partner_cursor (
  source TEXT NOT NULL,
  changed_at TEXT NOT NULL,
  last_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (source)
) WITHOUT ROWID;
