-- Each media's keys may be on a separate Redis server: the processes that reach it, and the server's identity, are kept
-- for each media.

-- +goose Up

-- Processes of the previous release write no media: they reach the common Redis.
ALTER TABLE redis_reached ADD COLUMN media VARCHAR(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '', DROP PRIMARY KEY, ADD PRIMARY KEY (process, media);

-- The server that keeps a media's limits, by its run id. A process that reaches another one makes no calls.
CREATE TABLE IF NOT EXISTS redis_server (
  media VARCHAR(32) NOT NULL,
  run_id VARCHAR(64) NOT NULL,
  since DATETIME(3) NOT NULL,
  PRIMARY KEY (media)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS redis_server;
DELETE FROM redis_reached WHERE media <> '';
ALTER TABLE redis_reached DROP PRIMARY KEY, ADD PRIMARY KEY (process), DROP COLUMN media;
