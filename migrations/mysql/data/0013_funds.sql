-- The money of accounts, in millionths of its currency: the balance, and the money received and spent on each day. NULL
-- is what a platform does not report.

-- +goose Up
CREATE TABLE IF NOT EXISTS account_balance (
  account_id BIGINT NOT NULL,
  fund VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  media VARCHAR(32) NOT NULL,
  currency CHAR(3) NOT NULL,
  balance BIGINT NULL,
  valid_balance BIGINT NULL,
  version BIGINT NOT NULL,
  updated_at DATETIME(3) NOT NULL,
  PRIMARY KEY (account_id, fund),
  KEY updated_at (updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS fund_daily (
  day DATE NOT NULL,
  account_id BIGINT NOT NULL,
  fund VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  media VARCHAR(32) NOT NULL,
  currency CHAR(3) NOT NULL,
  day_zone VARCHAR(64) NOT NULL,
  deposit BIGINT NULL,
  paid BIGINT NULL,
  transfer_in BIGINT NULL,
  transfer_out BIGINT NULL,
  balance BIGINT NULL,
  version BIGINT NOT NULL,
  updated_at DATETIME(3) NOT NULL,
  PRIMARY KEY (day, account_id, fund),
  KEY updated_at (updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Deleted rows of both tables; day is 1970-01-01 for account_balance.
ALTER TABLE report_tombstone ADD COLUMN fund VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL;

-- +goose Down
ALTER TABLE report_tombstone DROP COLUMN fund;
DROP TABLE IF EXISTS fund_daily;
DROP TABLE IF EXISTS account_balance;
