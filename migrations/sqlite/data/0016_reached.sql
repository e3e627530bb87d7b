-- Which processes reach Redis: a process that does not reach it must know whether others do, because those use all of
-- the calls, of which it would otherwise take its part.

-- +goose Up
CREATE TABLE IF NOT EXISTS redis_reached (
  process TEXT NOT NULL,
  seen_at TEXT NOT NULL,
  PRIMARY KEY (process)
);

-- +goose Down
DROP TABLE IF EXISTS redis_reached;
