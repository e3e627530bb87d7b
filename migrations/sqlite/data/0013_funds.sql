-- The money of accounts, in millionths of its currency: the balance, and the money received and spent on each day. NULL
-- is what a platform does not report.

-- +goose Up
CREATE TABLE IF NOT EXISTS account_balance (
  account_id INTEGER NOT NULL,
  fund TEXT NOT NULL,
  media TEXT NOT NULL,
  currency TEXT NOT NULL,
  balance INTEGER NULL,
  valid_balance INTEGER NULL,
  version INTEGER NOT NULL,
  updated_at DATETIME NOT NULL,
  PRIMARY KEY (account_id, fund)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS account_balance_updated_at ON account_balance (updated_at);

CREATE TABLE IF NOT EXISTS fund_daily (
  day DATE NOT NULL,
  account_id INTEGER NOT NULL,
  fund TEXT NOT NULL,
  media TEXT NOT NULL,
  currency TEXT NOT NULL,
  day_zone TEXT NOT NULL,
  deposit INTEGER NULL,
  paid INTEGER NULL,
  transfer_in INTEGER NULL,
  transfer_out INTEGER NULL,
  balance INTEGER NULL,
  version INTEGER NOT NULL,
  updated_at DATETIME NOT NULL,
  PRIMARY KEY (day, account_id, fund)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS fund_daily_updated_at ON fund_daily (updated_at);

-- Deleted rows of both tables; day is 1970-01-01 for account_balance.
ALTER TABLE report_tombstone ADD COLUMN fund TEXT NULL;

-- +goose Down
ALTER TABLE report_tombstone DROP COLUMN fund;
DROP TABLE IF EXISTS fund_daily;
DROP TABLE IF EXISTS account_balance;
