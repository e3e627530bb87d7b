-- Tables of other databases that are copied into tables copy_NAME of the data database. source is a name of the setting
-- sources. key_columns are separated by commas. Without a cursor and a window the whole table is read.

-- +goose Up
CREATE TABLE IF NOT EXISTS table_copy (
  name VARCHAR(64) NOT NULL,
  source VARCHAR(64) NOT NULL,
  source_table VARCHAR(129) NOT NULL,
  key_columns VARCHAR(1024) NOT NULL,
  cursor_column VARCHAR(64) NULL,
  overlap_seconds INT NOT NULL DEFAULT 900,
  window_days INT NULL,
  day_column VARCHAR(64) NULL,
  enabled TINYINT NOT NULL DEFAULT 1,
  updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Its edits are recorded.
INSERT IGNORE INTO audit_row (table_name, row_key) VALUES ('table_copy', '');

-- +goose Down
DELETE FROM audit_row WHERE table_name = 'table_copy';
DROP TABLE IF EXISTS table_copy;
