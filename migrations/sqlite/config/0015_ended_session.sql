-- Browser sessions that were ended early: no producer accepts their cookies.

-- +goose Up
CREATE TABLE IF NOT EXISTS ended_session (
  id TEXT NOT NULL,
  until_at TEXT NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX IF NOT EXISTS ended_session_until ON ended_session (until_at);

-- +goose Down
DROP TABLE IF EXISTS ended_session;
