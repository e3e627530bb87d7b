-- Pulls of outside workers: outside_pull has a row for each claim, outside_part the rows that a worker has staged, as
-- JSON. answer is that of the pull's end, which repeated calls get too; '' = the pull is open. The id begins with the
-- account's.

-- +goose Up
CREATE TABLE IF NOT EXISTS outside_pull (
  account_id BIGINT NOT NULL,
  id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  media VARCHAR(32) NOT NULL,
  report VARCHAR(32) NOT NULL,
  level VARCHAR(16) NOT NULL,
  day DATE NOT NULL,
  version BIGINT NOT NULL,
  run_id BIGINT NOT NULL,
  answer TEXT NOT NULL,
  created_at DATETIME(3) NOT NULL,
  PRIMARY KEY (account_id, id),
  KEY created (created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS outside_part (
  account_id BIGINT NOT NULL,
  pull_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  part INT NOT NULL,
  rows_json LONGTEXT NOT NULL,
  PRIMARY KEY (account_id, pull_id, part)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS outside_part;
DROP TABLE IF EXISTS outside_pull;
