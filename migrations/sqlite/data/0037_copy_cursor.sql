-- How far each copy of a table has come. read_from is the table and the column that cursor_value belongs to. version is
-- the fence: a run may write while it is the run's own. run_at, row_count and error_text are of the last run.

-- +goose Up
CREATE TABLE IF NOT EXISTS copy_cursor (
  name TEXT NOT NULL,
  read_from TEXT NOT NULL,
  cursor_value TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL DEFAULT 0,
  run_at DATETIME NULL,
  row_count INTEGER NOT NULL DEFAULT 0,
  error_text TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (name)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS copy_cursor;
