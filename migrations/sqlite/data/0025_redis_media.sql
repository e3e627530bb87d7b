-- Each media's keys may be on a separate Redis server: the processes that reach it, and the server's identity, are kept
-- for each media.

-- +goose Up

-- What the table has lasts for seconds.
DROP TABLE IF EXISTS redis_reached;
CREATE TABLE redis_reached (
  process TEXT NOT NULL,
  media TEXT NOT NULL DEFAULT '',
  seen_at TEXT NOT NULL,
  PRIMARY KEY (process, media)
);

-- The server that keeps a media's limits, by its run id. A process that reaches another one makes no calls.
CREATE TABLE IF NOT EXISTS redis_server (
  media TEXT NOT NULL,
  run_id TEXT NOT NULL,
  since TEXT NOT NULL,
  PRIMARY KEY (media)
);

-- +goose Down
DROP TABLE IF EXISTS redis_server;
DROP TABLE IF EXISTS redis_reached;
CREATE TABLE redis_reached (
  process TEXT NOT NULL,
  seen_at TEXT NOT NULL,
  PRIMARY KEY (process)
);
