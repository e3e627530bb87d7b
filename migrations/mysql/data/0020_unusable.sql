-- Values of platforms' rows that could not be used, and a character set for the tables that had the server's default.

-- +goose Up

-- How many values of the scope's day could not be used by the last pull that covered it.
ALTER TABLE coverage ADD COLUMN unusable INT NOT NULL DEFAULT 0;

-- These values by field. kind is their effect: attribute, future, figure or key. why is the reason of one of them.
CREATE TABLE IF NOT EXISTS unusable_value (
  account_id BIGINT NOT NULL,
  report VARCHAR(32) NOT NULL,
  level VARCHAR(16) NOT NULL,
  day DATE NOT NULL,
  field VARCHAR(96) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  media VARCHAR(32) NOT NULL,
  number INT NOT NULL,
  why VARCHAR(255) NOT NULL,
  seen_at DATETIME(3) NOT NULL,
  PRIMARY KEY (account_id, report, level, day, field, kind)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

ALTER TABLE redis_reached CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS unusable_value;
ALTER TABLE coverage DROP COLUMN unusable;
