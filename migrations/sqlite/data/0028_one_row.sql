-- The row that an UPDATE or DELETE by a list of keys begins with, before the list: Vitess plans none that begins with
-- the list. It never changes.

-- +goose Up
CREATE TABLE IF NOT EXISTS one_row (
  id INTEGER NOT NULL,
  PRIMARY KEY (id)
);
INSERT OR IGNORE INTO one_row (id) VALUES (1);

-- +goose Down
DROP TABLE IF EXISTS one_row;
