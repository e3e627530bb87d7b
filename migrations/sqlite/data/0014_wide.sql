-- The business's own figures, copied from the partner's database, and the wide table that joins them with the
-- platforms' reports and the configuration. Money is in millionths of the account's currency. NULL is an unknown value.

-- +goose Up

-- Copies of the partner's rows, by their id there. external_id (of the account) and object_id are the platform's;
-- account_id is ours, NULL while the account is not known. note is the reason why a row is counted for less than it
-- names.
CREATE TABLE IF NOT EXISTS partner_daily (
  partner_id INTEGER NOT NULL,
  day DATE NOT NULL,
  game TEXT NOT NULL,
  os TEXT NOT NULL,
  media TEXT NOT NULL,
  external_id TEXT NOT NULL,
  account_id INTEGER NULL,
  level TEXT NOT NULL,
  object_id TEXT NOT NULL,
  new_users INTEGER NULL,
  returning_users INTEGER NULL,
  pay_amount_d1 INTEGER NULL,
  pay_amount_d3 INTEGER NULL,
  pay_amount_d7 INTEGER NULL,
  pay_amount_d14 INTEGER NULL,
  pay_amount_d30 INTEGER NULL,
  note TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL,
  updated_at DATETIME NOT NULL,
  PRIMARY KEY (partner_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS partner_daily_updated_at ON partner_daily (updated_at);
CREATE INDEX IF NOT EXISTS partner_daily_account_day ON partner_daily (account_id, day);

-- How far the partner's table was read: all rows up to (changed_at, last_id) are copied. version is that of the load
-- that may write.
CREATE TABLE IF NOT EXISTS partner_cursor (
  source TEXT NOT NULL,
  changed_at TEXT NOT NULL,
  last_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (source)
) WITHOUT ROWID;

-- The days of accounts that wide_daily has rows of. mark rises with each change of the rows' sources; dirty is the mark
-- that the rows do not show yet. The day 1970-01-01 stands for the account's configuration. version is the fence of a
-- rebuild.
CREATE TABLE IF NOT EXISTS wide_day (
  account_id INTEGER NOT NULL,
  day DATE NOT NULL,
  media TEXT NOT NULL,
  mark INTEGER NOT NULL,
  dirty INTEGER NULL,
  version INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, day)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS wide_day_dirty ON wide_day (media, dirty);

-- A day's figures of accounts, campaigns, ad groups and creatives: the platform's, the partner's, and the names of the
-- objects.
CREATE TABLE IF NOT EXISTS wide_daily (
  day DATE NOT NULL,
  account_id INTEGER NOT NULL,
  level TEXT NOT NULL,
  object_id TEXT NOT NULL,
  media TEXT NOT NULL,
  external_id TEXT NULL,
  account_name TEXT NULL,
  campaign_id TEXT NULL,
  campaign_name TEXT NULL,
  adgroup_id TEXT NULL,
  adgroup_name TEXT NULL,
  creative_id TEXT NULL,
  creative_name TEXT NULL,
  game TEXT NOT NULL,
  os TEXT NOT NULL,
  currency TEXT NULL,
  day_zone TEXT NULL,
  cost INTEGER NULL,
  impressions INTEGER NULL,
  clicks INTEGER NULL,
  downloads INTEGER NULL,
  installs INTEGER NULL,
  activations INTEGER NULL,
  registrations INTEGER NULL,
  conversions INTEGER NULL,
  conversions_event INTEGER NULL,
  deep_conversions INTEGER NULL,
  first_pays INTEGER NULL,
  pays INTEGER NULL,
  pay_amount INTEGER NULL,
  pay_amount_d1 INTEGER NULL,
  pay_amount_d3 INTEGER NULL,
  pay_amount_d7 INTEGER NULL,
  pay_amount_d14 INTEGER NULL,
  pay_amount_d30 INTEGER NULL,
  next_day_retained INTEGER NULL,
  partner_new_users INTEGER NULL,
  partner_returning_users INTEGER NULL,
  partner_pay_amount_d1 INTEGER NULL,
  partner_pay_amount_d3 INTEGER NULL,
  partner_pay_amount_d7 INTEGER NULL,
  partner_pay_amount_d14 INTEGER NULL,
  partner_pay_amount_d30 INTEGER NULL,
  version INTEGER NOT NULL,
  updated_at DATETIME NOT NULL,
  PRIMARY KEY (day, account_id, level, object_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS wide_daily_updated_at ON wide_daily (updated_at);

-- Views per level, so that nobody adds up spend over levels.
CREATE VIEW IF NOT EXISTS wide_daily_account AS SELECT * FROM wide_daily WHERE level = 'account';
CREATE VIEW IF NOT EXISTS wide_daily_campaign AS SELECT * FROM wide_daily WHERE level = 'campaign';
CREATE VIEW IF NOT EXISTS wide_daily_adgroup AS SELECT * FROM wide_daily WHERE level = 'adgroup';
CREATE VIEW IF NOT EXISTS wide_daily_creative AS SELECT * FROM wide_daily WHERE level = 'creative';

-- Deleted rows of wide_daily, and of partner_daily, whose day is 1970-01-01.
ALTER TABLE report_tombstone ADD COLUMN partner_id INTEGER NULL;

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
