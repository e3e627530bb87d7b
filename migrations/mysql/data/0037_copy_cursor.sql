-- How far each copy of a table has come. read_from is the table and the column that cursor_value belongs to. version is
-- the fence: a run may write while it is the run's own. run_at, row_count and error_text are of the last run.

-- +goose Up
CREATE TABLE IF NOT EXISTS copy_cursor (
  name VARCHAR(64) NOT NULL,
  read_from VARCHAR(512) NOT NULL,
  cursor_value VARCHAR(64) NOT NULL DEFAULT '',
  version BIGINT NOT NULL DEFAULT 0,
  run_at DATETIME(3) NULL,
  row_count BIGINT NOT NULL DEFAULT 0,
  error_text VARCHAR(2048) NOT NULL DEFAULT '',
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS copy_cursor;
