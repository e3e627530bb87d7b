-- The row that an UPDATE or DELETE by a list of keys begins with, before the list: Vitess plans none that begins with
-- the list. It never changes.

-- +goose Up
CREATE TABLE IF NOT EXISTS one_row (
  id TINYINT NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT IGNORE INTO one_row (id) VALUES (1);

-- +goose Down
DROP TABLE IF EXISTS one_row;
