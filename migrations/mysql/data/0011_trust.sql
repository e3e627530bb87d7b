-- What figures that can be trusted need: which holes of coverage were ordered.

-- +goose Up

-- The days of a scope that a run was ordered for since coverage lacked them: when the last time, and how often.
CREATE TABLE IF NOT EXISTS hole (
  account_id BIGINT NOT NULL,
  report VARCHAR(32) NOT NULL,
  level VARCHAR(32) NOT NULL,
  day DATE NOT NULL,
  ordered_at DATETIME(3) NOT NULL,
  run_id BIGINT NOT NULL DEFAULT 0,
  tries INT NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, report, level, day),
  KEY ordered_at (ordered_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS hole;
