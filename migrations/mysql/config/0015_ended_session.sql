-- Browser sessions that were ended early: no producer accepts their cookies.

-- +goose Up
CREATE TABLE IF NOT EXISTS ended_session (
  id VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  until_at DATETIME(3) NOT NULL,
  PRIMARY KEY (id),
  KEY ended_session_until (until_at)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS ended_session;
