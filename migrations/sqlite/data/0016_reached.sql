-- Which processes reach Redis: one that does not must know whether others do, and use all of the calls that it would else take its part of.

-- +goose Up
CREATE TABLE IF NOT EXISTS redis_reached (
  process TEXT NOT NULL,
  seen_at TEXT NOT NULL,
  PRIMARY KEY (process)
);

-- +goose Down
DROP TABLE IF EXISTS redis_reached;
