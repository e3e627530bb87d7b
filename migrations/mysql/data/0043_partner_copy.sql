-- How far the partner's rows are copied is in copy_cursor, as for the other copies of tables.

-- +goose Up
DROP TABLE IF EXISTS partner_cursor;

-- +goose Down
CREATE TABLE IF NOT EXISTS partner_cursor (
  source VARCHAR(64) NOT NULL,
  changed_at VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  last_id BIGINT NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (source)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
