-- One row for each file that is, or is to be, delivered. delivery is the try that may change the row: a later one takes
-- the row over. token is where the try's upload is found. due_at is the moment of the cron, and NULL for a file that was
-- ordered by hand. need is the SHA-256 of what the file waits for; missing lists what an incomplete file lacks, as JSON.
-- A published file is verified once more at check_at, and made again and compared at compare_at, until correct_until. A
-- run for that is ordered at revisit_at.

-- +goose Up
CREATE TABLE IF NOT EXISTS publication (
  id BIGINT NOT NULL,
  subscription VARCHAR(64) NOT NULL,
  from_day DATE NOT NULL,
  to_day DATE NOT NULL,
  revision INT NOT NULL,
  sequence BIGINT NOT NULL,
  destination VARCHAR(64) NOT NULL,
  name VARCHAR(512) NOT NULL,
  customer VARCHAR(128) NOT NULL DEFAULT '',
  state VARCHAR(16) NOT NULL,
  lane VARCHAR(32) NOT NULL DEFAULT '',
  run_id BIGINT NOT NULL DEFAULT 0,
  delivery BIGINT NOT NULL DEFAULT 0,
  node VARCHAR(128) NOT NULL DEFAULT '',
  token VARCHAR(1200) NOT NULL DEFAULT '',
  row_count BIGINT NULL,
  column_count INT NULL,
  byte_size BIGINT NULL,
  sha256 CHAR(64) NOT NULL DEFAULT '',
  need CHAR(64) NOT NULL DEFAULT '',
  incomplete TINYINT NOT NULL DEFAULT 0,
  missing MEDIUMTEXT NULL,
  error_text VARCHAR(2048) NOT NULL DEFAULT '',
  due_at DATETIME(3) NULL,
  latest_at DATETIME(3) NULL,
  planned_at DATETIME(3) NOT NULL,
  rendered_at DATETIME(3) NULL,
  uploaded_at DATETIME(3) NULL,
  verified_at DATETIME(3) NULL,
  visible_at DATETIME(3) NULL,
  check_at DATETIME(3) NULL,
  published_at DATETIME(3) NULL,
  compare_at DATETIME(3) NULL,
  revisit_at DATETIME(3) NULL,
  compared CHAR(64) NOT NULL DEFAULT '',
  correct_until DATETIME(3) NULL,
  updated_at DATETIME(3) NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY period (subscription, from_day, to_day, revision),
  KEY of_destination (destination, name),
  KEY due (subscription, due_at, sequence),
  KEY by_state (state, planned_at),
  KEY revisit (state, revisit_at),
  KEY by_time (planned_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What files wait for: days of accounts, as JSON, by SHA-256. Files of one scope and period share a row.
CREATE TABLE IF NOT EXISTS publication_need (
  sha256 CHAR(64) NOT NULL,
  need MEDIUMTEXT NOT NULL,
  used_at DATETIME(3) NOT NULL,
  PRIMARY KEY (sha256),
  KEY used_at (used_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How destinations are: while one cannot be used its files wait, and one of them tries it again at probe_at.
CREATE TABLE IF NOT EXISTS destination_state (
  destination VARCHAR(64) NOT NULL,
  down_since DATETIME(3) NULL,
  probe_at DATETIME(3) NULL,
  tries INT NOT NULL DEFAULT 0,
  error_text VARCHAR(2048) NOT NULL DEFAULT '',
  success_at DATETIME(3) NULL,
  PRIMARY KEY (destination)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Who uses the connections of destinations. One whose user has died is free at expires_at.
CREATE TABLE IF NOT EXISTS destination_slot (
  destination VARCHAR(64) NOT NULL,
  slot INT NOT NULL,
  delivery BIGINT NOT NULL,
  expires_at DATETIME(3) NOT NULL,
  PRIMARY KEY (destination, slot)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS destination_slot;
DROP TABLE IF EXISTS destination_state;
DROP TABLE IF EXISTS publication_need;
DROP TABLE IF EXISTS publication;
