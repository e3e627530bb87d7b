-- One row for each file that is, or is to be, delivered. delivery is the try that may change the row: a later one takes
-- the row over. token is where the try's upload is found. due_at is the moment of the cron, and NULL for a file that was
-- ordered by hand. need is the SHA-256 of what the file waits for; missing lists what an incomplete file lacks, as JSON.
-- A published file is verified once more at check_at, and made again and compared at compare_at, until correct_until. A
-- run for that is ordered at revisit_at.

-- +goose Up
CREATE TABLE IF NOT EXISTS publication (
  id INTEGER NOT NULL,
  subscription TEXT NOT NULL,
  from_day DATE NOT NULL,
  to_day DATE NOT NULL,
  revision INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  destination TEXT NOT NULL,
  name TEXT NOT NULL,
  customer TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL,
  lane TEXT NOT NULL DEFAULT '',
  run_id INTEGER NOT NULL DEFAULT 0,
  delivery INTEGER NOT NULL DEFAULT 0,
  node TEXT NOT NULL DEFAULT '',
  token TEXT NOT NULL DEFAULT '',
  row_count INTEGER NULL,
  column_count INTEGER NULL,
  byte_size INTEGER NULL,
  sha256 TEXT NOT NULL DEFAULT '',
  need TEXT NOT NULL DEFAULT '',
  incomplete INTEGER NOT NULL DEFAULT 0,
  missing TEXT NULL,
  error_text TEXT NOT NULL DEFAULT '',
  due_at DATETIME NULL,
  latest_at DATETIME NULL,
  planned_at DATETIME NOT NULL,
  rendered_at DATETIME NULL,
  uploaded_at DATETIME NULL,
  verified_at DATETIME NULL,
  visible_at DATETIME NULL,
  check_at DATETIME NULL,
  published_at DATETIME NULL,
  compare_at DATETIME NULL,
  revisit_at DATETIME NULL,
  compared TEXT NOT NULL DEFAULT '',
  correct_until DATETIME NULL,
  updated_at DATETIME NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (subscription, from_day, to_day, revision)
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS publication_of_destination ON publication (destination, name);
CREATE INDEX IF NOT EXISTS publication_due ON publication (subscription, due_at, sequence);
CREATE INDEX IF NOT EXISTS publication_by_state ON publication (state, planned_at);
CREATE INDEX IF NOT EXISTS publication_revisit ON publication (state, revisit_at);
CREATE INDEX IF NOT EXISTS publication_by_time ON publication (planned_at);

-- What files wait for: days of accounts, as JSON, by SHA-256. Files of one scope and period share a row.
CREATE TABLE IF NOT EXISTS publication_need (
  sha256 TEXT NOT NULL,
  need TEXT NOT NULL,
  used_at DATETIME NOT NULL,
  PRIMARY KEY (sha256)
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS publication_need_used_at ON publication_need (used_at);

-- How destinations are: while one cannot be used its files wait, and one of them tries it again at probe_at.
CREATE TABLE IF NOT EXISTS destination_state (
  destination TEXT NOT NULL,
  down_since DATETIME NULL,
  probe_at DATETIME NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  error_text TEXT NOT NULL DEFAULT '',
  success_at DATETIME NULL,
  PRIMARY KEY (destination)
) WITHOUT ROWID;

-- Who uses the connections of destinations. One whose user has died is free at expires_at.
CREATE TABLE IF NOT EXISTS destination_slot (
  destination TEXT NOT NULL,
  slot INTEGER NOT NULL,
  delivery INTEGER NOT NULL,
  expires_at DATETIME NOT NULL,
  PRIMARY KEY (destination, slot)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS destination_slot;
DROP TABLE IF EXISTS destination_state;
DROP TABLE IF EXISTS publication_need;
DROP TABLE IF EXISTS publication;
