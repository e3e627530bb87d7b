-- The data database: the tables that the engine writes. Every statement can be repeated (see config/0001_config.sql).

-- +goose Up

-- One row: the leader, by database time. epoch only rises; every write of a leader joins this row.
CREATE TABLE IF NOT EXISTS leader (
  id INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  holder TEXT NOT NULL,
  expires_at DATETIME NOT NULL,
  PRIMARY KEY (id)
) WITHOUT ROWID;

INSERT OR IGNORE INTO leader (id, epoch, holder, expires_at) VALUES (1, 0, '', '1970-01-01 00:00:00.000');

CREATE TABLE IF NOT EXISTS task_schedule (
  task_id INTEGER NOT NULL,
  hash TEXT NOT NULL,
  since DATETIME NOT NULL,
  PRIMARY KEY (task_id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS tick (
  task_id INTEGER NOT NULL,
  planned_at DATETIME NOT NULL,
  run_id INTEGER NOT NULL,
  made_at DATETIME NOT NULL,
  answers TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (task_id, planned_at)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tick_run ON tick (run_id);

-- Orders by hand. Any producer writes them; only the leader makes their runs, which take run_id.
CREATE TABLE IF NOT EXISTS manual_order (
  run_id INTEGER NOT NULL,
  task_id INTEGER NOT NULL,
  request TEXT NOT NULL,
  ordered_by TEXT NOT NULL,
  ordered_at DATETIME NOT NULL,
  taken INTEGER NOT NULL DEFAULT 0,
  error_text TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (run_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS manual_order_open_orders ON manual_order (taken, run_id);

CREATE TABLE IF NOT EXISTS run (
  id INTEGER NOT NULL,
  task_id INTEGER NOT NULL,
  task_name TEXT NOT NULL,
  media TEXT NOT NULL,
  handler TEXT NOT NULL,
  lane TEXT NOT NULL,
  task_revision INTEGER NOT NULL,
  settings TEXT NOT NULL,
  kind TEXT NOT NULL,
  planned_at DATETIME NOT NULL,
  origin_run_id INTEGER NULL,
  state TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  fan_out_cursor INTEGER NOT NULL DEFAULT 0,
  offsets TEXT NULL,
  total INTEGER NULL,
  succeeded INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  expired INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  superseded INTEGER NOT NULL DEFAULT 0,
  error_text TEXT NOT NULL DEFAULT '',
  created_at DATETIME NOT NULL,
  fanned_out_at DATETIME NULL,
  ended_at DATETIME NULL,
  PRIMARY KEY (id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS run_open_runs ON run (state, id);
CREATE INDEX IF NOT EXISTS run_task ON run (task_id, id);

CREATE TABLE IF NOT EXISTS subtask_due (
  run_id INTEGER NOT NULL,
  account_id INTEGER NOT NULL,
  part TEXT NOT NULL,
  state TEXT NOT NULL,
  media TEXT NOT NULL,
  lane TEXT NOT NULL,
  due_at DATETIME NOT NULL,
  delivery INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  topic TEXT NOT NULL DEFAULT '',
  topic_partition INTEGER NOT NULL DEFAULT -1,
  topic_offset INTEGER NOT NULL DEFAULT -1,
  PRIMARY KEY (run_id, account_id, part)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS subtask_due_due ON subtask_due (state, due_at);

CREATE TABLE IF NOT EXISTS subtask_dead (
  run_id INTEGER NOT NULL,
  account_id INTEGER NOT NULL,
  part TEXT NOT NULL,
  task_id INTEGER NOT NULL,
  media TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  error_class TEXT NOT NULL,
  error_print TEXT NOT NULL,
  error_text TEXT NOT NULL,
  dead_at DATETIME NOT NULL,
  PRIMARY KEY (run_id, account_id, part)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS subtask_dead_account ON subtask_dead (account_id, dead_at);
CREATE INDEX IF NOT EXISTS subtask_dead_task ON subtask_dead (task_id, dead_at);
CREATE INDEX IF NOT EXISTS subtask_dead_print ON subtask_dead (error_print, dead_at);

-- What is known of (account, report, level, day). The row fences every write of its scope.
CREATE TABLE IF NOT EXISTS coverage (
  account_id INTEGER NOT NULL,
  report TEXT NOT NULL,
  level TEXT NOT NULL,
  day DATE NOT NULL,
  media TEXT NOT NULL,
  claimed_version INTEGER NOT NULL DEFAULT 0,
  claimed_by TEXT NOT NULL DEFAULT '',
  complete_version INTEGER NOT NULL DEFAULT 0,
  pulled_at DATETIME NULL,
  run_id INTEGER NOT NULL DEFAULT 0,
  row_count INTEGER NOT NULL DEFAULT 0,
  high_water INTEGER NOT NULL DEFAULT 0,
  dirty INTEGER NULL,
  state TEXT NOT NULL DEFAULT '',
  note TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (account_id, report, level, day)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS coverage_dirty ON coverage (media, dirty);

CREATE TABLE IF NOT EXISTS binding_applied (
  account_id INTEGER NOT NULL,
  from_day DATE NOT NULL,
  to_day DATE NOT NULL,
  game TEXT NOT NULL,
  os TEXT NOT NULL,
  PRIMARY KEY (account_id, from_day)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS report_daily (
  day DATE NOT NULL,
  account_id INTEGER NOT NULL,
  level TEXT NOT NULL,
  object_id TEXT NOT NULL,
  media TEXT NOT NULL,
  currency TEXT NOT NULL,
  day_zone TEXT NOT NULL,
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
  version INTEGER NOT NULL,
  updated_at DATETIME NOT NULL,
  PRIMARY KEY (day, account_id, level, object_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS report_daily_updated_at ON report_daily (updated_at);

CREATE TABLE IF NOT EXISTS report_hourly (
  day DATE NOT NULL,
  account_id INTEGER NOT NULL,
  level TEXT NOT NULL,
  object_id TEXT NOT NULL,
  hour INTEGER NOT NULL,
  media TEXT NOT NULL,
  currency TEXT NOT NULL,
  day_zone TEXT NOT NULL,
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
  version INTEGER NOT NULL,
  updated_at DATETIME NOT NULL,
  PRIMARY KEY (day, account_id, level, object_id, hour)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS report_hourly_updated_at ON report_hourly (updated_at);

CREATE TABLE IF NOT EXISTS summary_daily (
  day DATE NOT NULL,
  game TEXT NOT NULL,
  media TEXT NOT NULL,
  os TEXT NOT NULL,
  currency TEXT NOT NULL,
  day_zone TEXT NOT NULL,
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
  version INTEGER NOT NULL,
  updated_at DATETIME NOT NULL,
  PRIMARY KEY (day, game, media, os, currency, day_zone)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS summary_daily_updated_at ON summary_daily (updated_at);

CREATE TABLE IF NOT EXISTS summary_hourly (
  day DATE NOT NULL,
  hour INTEGER NOT NULL,
  game TEXT NOT NULL,
  media TEXT NOT NULL,
  os TEXT NOT NULL,
  currency TEXT NOT NULL,
  day_zone TEXT NOT NULL,
  start_utc DATETIME NOT NULL,
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
  version INTEGER NOT NULL,
  updated_at DATETIME NOT NULL,
  PRIMARY KEY (day, hour, game, media, os, currency, day_zone)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS summary_hourly_updated_at ON summary_hourly (updated_at);

-- Every name that a configuration object has had, with the time when it was first seen.
CREATE TABLE IF NOT EXISTS object_name (
  account_id INTEGER NOT NULL,
  level TEXT NOT NULL,
  object_id TEXT NOT NULL,
  since DATETIME NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (account_id, level, object_id, since)
) WITHOUT ROWID;

-- The fence of a summary's rebuild, per (table, media, day).
CREATE TABLE IF NOT EXISTS summary_fence (
  summary TEXT NOT NULL,
  media TEXT NOT NULL,
  day DATE NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (summary, media, day)
) WITHOUT ROWID;

-- Views per level, so that nobody adds up spend over levels.
CREATE VIEW IF NOT EXISTS report_daily_account AS SELECT * FROM report_daily WHERE level = 'account';
CREATE VIEW IF NOT EXISTS report_daily_adgroup AS SELECT * FROM report_daily WHERE level = 'adgroup';
CREATE VIEW IF NOT EXISTS report_hourly_account AS SELECT * FROM report_hourly WHERE level = 'account';
CREATE VIEW IF NOT EXISTS report_hourly_adgroup AS SELECT * FROM report_hourly WHERE level = 'adgroup';

-- +goose Down
DROP VIEW IF EXISTS report_hourly_adgroup;
DROP VIEW IF EXISTS report_hourly_account;
DROP VIEW IF EXISTS report_daily_adgroup;
DROP VIEW IF EXISTS report_daily_account;
DROP TABLE IF EXISTS object_name;
DROP TABLE IF EXISTS summary_fence;
DROP TABLE IF EXISTS summary_hourly;
DROP TABLE IF EXISTS summary_daily;
DROP TABLE IF EXISTS report_hourly;
DROP TABLE IF EXISTS report_daily;
DROP TABLE IF EXISTS binding_applied;
DROP TABLE IF EXISTS coverage;
DROP TABLE IF EXISTS subtask_dead;
DROP TABLE IF EXISTS subtask_due;
DROP TABLE IF EXISTS run;
DROP TABLE IF EXISTS manual_order;
DROP TABLE IF EXISTS tick;
DROP TABLE IF EXISTS task_schedule;
DROP TABLE IF EXISTS leader;
