-- The business's own figures, copied from the partner's database, and the wide table that joins them with the
-- platforms' reports and the configuration. Money is in millionths of the account's currency. NULL is an unknown value.

-- +goose Up

-- Copies of the partner's rows, by their id there. external_id (of the account) and object_id are the platform's;
-- account_id is ours, NULL while the account is not known. note is the reason why a row is counted for less than it
-- names.
CREATE TABLE IF NOT EXISTS partner_daily (
  partner_id BIGINT NOT NULL,
  day DATE NOT NULL,
  game VARCHAR(64) NOT NULL,
  os VARCHAR(16) NOT NULL,
  media VARCHAR(32) NOT NULL,
  external_id VARCHAR(64) NOT NULL,
  account_id BIGINT NULL,
  level VARCHAR(16) NOT NULL,
  object_id VARCHAR(64) NOT NULL,
  new_users BIGINT NULL,
  returning_users BIGINT NULL,
  pay_amount_d1 BIGINT NULL,
  pay_amount_d3 BIGINT NULL,
  pay_amount_d7 BIGINT NULL,
  pay_amount_d14 BIGINT NULL,
  pay_amount_d30 BIGINT NULL,
  note VARCHAR(64) NOT NULL DEFAULT '',
  version BIGINT NOT NULL,
  updated_at DATETIME(3) NOT NULL,
  PRIMARY KEY (partner_id),
  KEY updated_at (updated_at),
  KEY account_day (account_id, day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- How far the partner's table was read: all rows up to (changed_at, last_id) are copied. version is that of the load
-- that may write.
CREATE TABLE IF NOT EXISTS partner_cursor (
  source VARCHAR(64) NOT NULL,
  changed_at VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  last_id BIGINT NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (source)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The days of accounts that wide_daily has rows of. mark rises with each change of the rows' sources; dirty is the mark
-- that the rows do not show yet. The day 1970-01-01 stands for the account's configuration. version is the fence of a
-- rebuild.
CREATE TABLE IF NOT EXISTS wide_day (
  account_id BIGINT NOT NULL,
  day DATE NOT NULL,
  media VARCHAR(32) NOT NULL,
  mark BIGINT NOT NULL,
  dirty BIGINT NULL,
  version BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, day),
  KEY dirty (media, dirty)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- A day's figures of accounts, campaigns, ad groups and creatives: the platform's, the partner's, and the names of the
-- objects.
CREATE TABLE IF NOT EXISTS wide_daily (
  day DATE NOT NULL,
  account_id BIGINT NOT NULL,
  level VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  object_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  media VARCHAR(32) NOT NULL,
  external_id VARCHAR(64) NULL,
  account_name VARCHAR(255) NULL,
  campaign_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  campaign_name VARCHAR(255) NULL,
  adgroup_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  adgroup_name VARCHAR(255) NULL,
  creative_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  creative_name VARCHAR(255) NULL,
  game VARCHAR(64) NOT NULL,
  os VARCHAR(16) NOT NULL,
  currency CHAR(3) NULL,
  day_zone VARCHAR(64) NULL,
  cost BIGINT NULL,
  impressions BIGINT NULL,
  clicks BIGINT NULL,
  downloads BIGINT NULL,
  installs BIGINT NULL,
  activations BIGINT NULL,
  registrations BIGINT NULL,
  conversions BIGINT NULL,
  conversions_event BIGINT NULL,
  deep_conversions BIGINT NULL,
  first_pays BIGINT NULL,
  pays BIGINT NULL,
  pay_amount BIGINT NULL,
  pay_amount_d1 BIGINT NULL,
  pay_amount_d3 BIGINT NULL,
  pay_amount_d7 BIGINT NULL,
  pay_amount_d14 BIGINT NULL,
  pay_amount_d30 BIGINT NULL,
  next_day_retained BIGINT NULL,
  partner_new_users BIGINT NULL,
  partner_returning_users BIGINT NULL,
  partner_pay_amount_d1 BIGINT NULL,
  partner_pay_amount_d3 BIGINT NULL,
  partner_pay_amount_d7 BIGINT NULL,
  partner_pay_amount_d14 BIGINT NULL,
  partner_pay_amount_d30 BIGINT NULL,
  version BIGINT NOT NULL,
  updated_at DATETIME(3) NOT NULL,
  PRIMARY KEY (day, account_id, level, object_id),
  KEY updated_at (updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin
PARTITION BY RANGE COLUMNS (day) (PARTITION later VALUES LESS THAN (MAXVALUE));

-- Views per level, so that nobody adds up spend over levels.
CREATE OR REPLACE VIEW wide_daily_account AS SELECT * FROM wide_daily WHERE level = 'account';
CREATE OR REPLACE VIEW wide_daily_campaign AS SELECT * FROM wide_daily WHERE level = 'campaign';
CREATE OR REPLACE VIEW wide_daily_adgroup AS SELECT * FROM wide_daily WHERE level = 'adgroup';
CREATE OR REPLACE VIEW wide_daily_creative AS SELECT * FROM wide_daily WHERE level = 'creative';

-- Deleted rows of wide_daily, and of partner_daily, whose day is 1970-01-01.
ALTER TABLE report_tombstone ADD COLUMN partner_id BIGINT NULL;

-- +goose Down
ALTER TABLE report_tombstone DROP COLUMN partner_id;
DROP VIEW IF EXISTS wide_daily_creative;
DROP VIEW IF EXISTS wide_daily_adgroup;
DROP VIEW IF EXISTS wide_daily_campaign;
DROP VIEW IF EXISTS wide_daily_account;
DROP TABLE IF EXISTS wide_daily;
DROP TABLE IF EXISTS wide_day;
DROP TABLE IF EXISTS partner_cursor;
DROP TABLE IF EXISTS partner_daily;
