-- The data database: the tables that the engine writes. Every statement can be repeated (see config/0001_config.sql).

-- +goose Up

-- One row: the leader, by database time. epoch only rises; every write of a leader joins this row.
CREATE TABLE IF NOT EXISTS leader (
  id TINYINT NOT NULL,
  epoch BIGINT NOT NULL,
  holder VARCHAR(64) NOT NULL,
  expires_at DATETIME(3) NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

INSERT IGNORE INTO leader (id, epoch, holder, expires_at) VALUES (1, 0, '', '1970-01-01 00:00:00.000');

CREATE TABLE IF NOT EXISTS task_schedule (
  task_id BIGINT NOT NULL,
  hash CHAR(32) NOT NULL,
  since DATETIME(3) NOT NULL,
  PRIMARY KEY (task_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS tick (
  task_id BIGINT NOT NULL,
  planned_at DATETIME(3) NOT NULL,
  run_id BIGINT NOT NULL,
  made_at DATETIME(3) NOT NULL,
  answers VARCHAR(512) NOT NULL DEFAULT '',
  PRIMARY KEY (task_id, planned_at),
  KEY run (run_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Orders by hand. Any producer writes them; only the leader makes their runs, which take run_id.
CREATE TABLE IF NOT EXISTS manual_order (
  run_id BIGINT NOT NULL,
  task_id BIGINT NOT NULL,
  request MEDIUMTEXT NOT NULL,
  ordered_by VARCHAR(96) NOT NULL,
  ordered_at DATETIME(3) NOT NULL,
  taken TINYINT NOT NULL DEFAULT 0,
  error_text VARCHAR(512) NOT NULL DEFAULT '',
  PRIMARY KEY (run_id),
  KEY open_orders (taken, run_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS run (
  id BIGINT NOT NULL,
  task_id BIGINT NOT NULL,
  task_name VARCHAR(96) NOT NULL,
  media VARCHAR(32) NOT NULL,
  handler VARCHAR(96) NOT NULL,
  lane VARCHAR(32) NOT NULL,
  task_revision BIGINT NOT NULL,
  settings MEDIUMTEXT NOT NULL,
  kind VARCHAR(16) NOT NULL,
  planned_at DATETIME(3) NOT NULL,
  origin_run_id BIGINT NULL,
  state VARCHAR(16) NOT NULL,
  epoch BIGINT NOT NULL,
  fan_out_cursor BIGINT NOT NULL DEFAULT 0,
  offsets TEXT NULL,
  total BIGINT NULL,
  succeeded BIGINT NOT NULL DEFAULT 0,
  failed BIGINT NOT NULL DEFAULT 0,
  expired BIGINT NOT NULL DEFAULT 0,
  cancelled BIGINT NOT NULL DEFAULT 0,
  superseded BIGINT NOT NULL DEFAULT 0,
  error_text VARCHAR(512) NOT NULL DEFAULT '',
  created_at DATETIME(3) NOT NULL,
  fanned_out_at DATETIME(3) NULL,
  ended_at DATETIME(3) NULL,
  PRIMARY KEY (id),
  KEY open_runs (state, id),
  KEY task (task_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS subtask_due (
  run_id BIGINT NOT NULL,
  account_id BIGINT NOT NULL,
  part VARCHAR(96) NOT NULL,
  state VARCHAR(16) NOT NULL,
  media VARCHAR(32) NOT NULL,
  lane VARCHAR(32) NOT NULL,
  due_at DATETIME(3) NOT NULL,
  delivery INT NOT NULL,
  attempt INT NOT NULL,
  reason VARCHAR(255) NOT NULL DEFAULT '',
  topic VARCHAR(128) NOT NULL DEFAULT '',
  topic_partition INT NOT NULL DEFAULT -1,
  topic_offset BIGINT NOT NULL DEFAULT -1,
  PRIMARY KEY (run_id, account_id, part),
  KEY due (state, due_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS subtask_dead (
  run_id BIGINT NOT NULL,
  account_id BIGINT NOT NULL,
  part VARCHAR(96) NOT NULL,
  task_id BIGINT NOT NULL,
  media VARCHAR(32) NOT NULL,
  attempt INT NOT NULL,
  error_class VARCHAR(16) NOT NULL,
  error_print VARCHAR(191) NOT NULL,
  error_text VARCHAR(2048) NOT NULL,
  dead_at DATETIME(3) NOT NULL,
  PRIMARY KEY (run_id, account_id, part),
  KEY account (account_id, dead_at),
  KEY task (task_id, dead_at),
  KEY print (error_print, dead_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What is known of (account, report, level, day). The row fences every write of its scope.
CREATE TABLE IF NOT EXISTS coverage (
  account_id BIGINT NOT NULL,
  report VARCHAR(32) NOT NULL,
  level VARCHAR(32) NOT NULL,
  day DATE NOT NULL,
  media VARCHAR(32) NOT NULL,
  claimed_version BIGINT NOT NULL DEFAULT 0,
  claimed_by VARCHAR(160) NOT NULL DEFAULT '',
  complete_version BIGINT NOT NULL DEFAULT 0,
  pulled_at DATETIME(3) NULL,
  run_id BIGINT NOT NULL DEFAULT 0,
  row_count BIGINT NOT NULL DEFAULT 0,
  high_water BIGINT NOT NULL DEFAULT 0,
  dirty BIGINT NULL,
  state VARCHAR(16) NOT NULL DEFAULT '',
  note VARCHAR(255) NOT NULL DEFAULT '',
  PRIMARY KEY (account_id, report, level, day),
  KEY dirty (media, dirty)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS binding_applied (
  account_id BIGINT NOT NULL,
  from_day DATE NOT NULL,
  to_day DATE NOT NULL,
  game VARCHAR(64) NOT NULL,
  os VARCHAR(16) NOT NULL,
  PRIMARY KEY (account_id, from_day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS report_daily (
  day DATE NOT NULL,
  account_id BIGINT NOT NULL,
  level VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  object_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  media VARCHAR(32) NOT NULL,
  currency CHAR(3) NOT NULL,
  day_zone VARCHAR(64) NOT NULL,
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
  version BIGINT NOT NULL,
  updated_at DATETIME(3) NOT NULL,
  PRIMARY KEY (day, account_id, level, object_id),
  KEY updated_at (updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin
PARTITION BY RANGE COLUMNS (day) (PARTITION later VALUES LESS THAN (MAXVALUE));

CREATE TABLE IF NOT EXISTS report_hourly (
  day DATE NOT NULL,
  account_id BIGINT NOT NULL,
  level VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  object_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  hour TINYINT NOT NULL,
  media VARCHAR(32) NOT NULL,
  currency CHAR(3) NOT NULL,
  day_zone VARCHAR(64) NOT NULL,
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
  version BIGINT NOT NULL,
  updated_at DATETIME(3) NOT NULL,
  PRIMARY KEY (day, account_id, level, object_id, hour),
  KEY updated_at (updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin
PARTITION BY RANGE COLUMNS (day) (PARTITION later VALUES LESS THAN (MAXVALUE));

CREATE TABLE IF NOT EXISTS summary_daily (
  day DATE NOT NULL,
  game VARCHAR(64) NOT NULL,
  media VARCHAR(32) NOT NULL,
  os VARCHAR(16) NOT NULL,
  currency CHAR(3) NOT NULL,
  day_zone VARCHAR(64) NOT NULL,
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
  version BIGINT NOT NULL,
  updated_at DATETIME(3) NOT NULL,
  PRIMARY KEY (day, game, media, os, currency, day_zone),
  KEY updated_at (updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS summary_hourly (
  day DATE NOT NULL,
  hour TINYINT NOT NULL,
  game VARCHAR(64) NOT NULL,
  media VARCHAR(32) NOT NULL,
  os VARCHAR(16) NOT NULL,
  currency CHAR(3) NOT NULL,
  day_zone VARCHAR(64) NOT NULL,
  start_utc DATETIME(3) NOT NULL,
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
  version BIGINT NOT NULL,
  updated_at DATETIME(3) NOT NULL,
  PRIMARY KEY (day, hour, game, media, os, currency, day_zone),
  KEY updated_at (updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Every name that a configuration object has had, with the time when it was first seen.
CREATE TABLE IF NOT EXISTS object_name (
  account_id BIGINT NOT NULL,
  level VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  object_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  since DATETIME(3) NOT NULL,
  name VARCHAR(255) NOT NULL,
  PRIMARY KEY (account_id, level, object_id, since)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The fence of a summary's rebuild, per (table, media, day).
CREATE TABLE IF NOT EXISTS summary_fence (
  summary VARCHAR(32) NOT NULL,
  media VARCHAR(32) NOT NULL,
  day DATE NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (summary, media, day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Views per level, so that nobody adds up spend over levels.
CREATE OR REPLACE VIEW report_daily_account AS SELECT * FROM report_daily WHERE level = 'account';
CREATE OR REPLACE VIEW report_daily_adgroup AS SELECT * FROM report_daily WHERE level = 'adgroup';
CREATE OR REPLACE VIEW report_hourly_account AS SELECT * FROM report_hourly WHERE level = 'account';
CREATE OR REPLACE VIEW report_hourly_adgroup AS SELECT * FROM report_hourly WHERE level = 'adgroup';

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
