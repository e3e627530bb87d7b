-- The config database: the tables that operators edit. Every statement can be repeated, because MySQL commits each
-- CREATE TABLE separately and a migration that was interrupted must be able to run again.

-- +goose Up
CREATE TABLE IF NOT EXISTS cron_task (
  id BIGINT NOT NULL AUTO_INCREMENT,
  name VARCHAR(96) NOT NULL,
  media VARCHAR(32) NOT NULL,
  handler VARCHAR(96) NOT NULL,
  cron VARCHAR(128) NOT NULL,
  timezone VARCHAR(64) NOT NULL DEFAULT 'UTC',
  lane VARCHAR(32) NOT NULL DEFAULT 'normal',
  scope VARCHAR(64) NOT NULL DEFAULT 'active',
  params TEXT NULL,
  timeout_seconds INT NOT NULL DEFAULT 300,
  ttl_seconds INT NOT NULL DEFAULT 0,
  retry_max INT NOT NULL DEFAULT 5,
  retry_base_seconds INT NOT NULL DEFAULT 10,
  overlap VARCHAR(16) NOT NULL DEFAULT 'skip',
  catch_up VARCHAR(16) NOT NULL DEFAULT 'latest',
  catch_up_window_seconds INT NOT NULL DEFAULT 86400,
  concurrency VARCHAR(16) NOT NULL DEFAULT 'parallel',
  fan_out_rate INT NOT NULL DEFAULT 0,
  after_tasks VARCHAR(512) NOT NULL DEFAULT '',
  enabled TINYINT NOT NULL DEFAULT 1,
  revision BIGINT NOT NULL DEFAULT 1,
  updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  PRIMARY KEY (id),
  UNIQUE KEY name (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lane (
  media VARCHAR(32) NOT NULL,
  name VARCHAR(32) NOT NULL,
  pool_size INT NOT NULL,
  partitions INT NOT NULL DEFAULT 0,
  updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  PRIMARY KEY (media, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS media_app (
  media VARCHAR(32) NOT NULL,
  app_id VARCHAR(64) NOT NULL,
  secret VARCHAR(1024) NOT NULL,
  enabled TINYINT NOT NULL DEFAULT 1,
  updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  PRIMARY KEY (media, app_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS media_token (
  id BIGINT NOT NULL AUTO_INCREMENT,
  media VARCHAR(32) NOT NULL,
  app_id VARCHAR(64) NOT NULL,
  login VARCHAR(128) NOT NULL,
  access_token VARCHAR(2048) NOT NULL,
  refresh_token VARCHAR(2048) NOT NULL,
  access_expires_at DATETIME(3) NOT NULL,
  refresh_expires_at DATETIME(3) NOT NULL,
  generation BIGINT NOT NULL DEFAULT 1,
  intent_holder VARCHAR(64) NOT NULL DEFAULT '',
  intent_until DATETIME(3) NULL,
  intent_tries INT NOT NULL DEFAULT 0,
  state VARCHAR(16) NOT NULL DEFAULT 'ok',
  state_reason VARCHAR(512) NOT NULL DEFAULT '',
  updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  PRIMARY KEY (id),
  UNIQUE KEY login (media, app_id, login)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS media_account (
  id BIGINT NOT NULL AUTO_INCREMENT,
  media VARCHAR(32) NOT NULL,
  external_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(255) NOT NULL DEFAULT '',
  token_id BIGINT NOT NULL,
  tier VARCHAR(16) NOT NULL DEFAULT 'active',
  timezone VARCHAR(64) NOT NULL DEFAULT 'Asia/Shanghai',
  currency CHAR(3) NOT NULL DEFAULT 'CNY',
  parked VARCHAR(512) NOT NULL DEFAULT '',
  created_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  PRIMARY KEY (id),
  UNIQUE KEY external (media, external_id),
  KEY fan_out (media, tier, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS game (
  code VARCHAR(64) NOT NULL,
  name VARCHAR(255) NOT NULL DEFAULT '',
  PRIMARY KEY (code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS account_binding (
  account_id BIGINT NOT NULL,
  from_day DATE NOT NULL,
  to_day DATE NOT NULL DEFAULT '9999-12-31',
  game VARCHAR(64) NOT NULL,
  os VARCHAR(16) NOT NULL,
  updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  PRIMARY KEY (account_id, from_day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS rate_limit (
  id BIGINT NOT NULL AUTO_INCREMENT,
  media VARCHAR(32) NOT NULL,
  endpoint VARCHAR(128) NOT NULL,
  scope VARCHAR(16) NOT NULL,
  period_ms BIGINT NOT NULL,
  calls INT NOT NULL,
  each_endpoint TINYINT NOT NULL DEFAULT 0,
  share DOUBLE NOT NULL DEFAULT 0.95,
  enabled TINYINT NOT NULL DEFAULT 1,
  updated_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  PRIMARY KEY (id),
  UNIQUE KEY rule (media, endpoint, scope, period_ms)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS audit_log (
  id BIGINT NOT NULL AUTO_INCREMENT,
  at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  actor VARCHAR(96) NOT NULL,
  action VARCHAR(64) NOT NULL,
  object VARCHAR(191) NOT NULL,
  before_value TEXT NULL,
  after_value TEXT NULL,
  PRIMARY KEY (id),
  KEY object (object, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

INSERT IGNORE INTO lane (media, name, pool_size) VALUES
  ('*', 'important', 64), ('*', 'normal', 32), ('*', 'offline', 8);

INSERT IGNORE INTO game (code, name) VALUES ('unassigned', 'accounts without a binding');

-- +goose Down
DROP TABLE IF EXISTS audit_log;
DROP TABLE IF EXISTS rate_limit;
DROP TABLE IF EXISTS account_binding;
DROP TABLE IF EXISTS game;
DROP TABLE IF EXISTS media_account;
DROP TABLE IF EXISTS media_token;
DROP TABLE IF EXISTS media_app;
DROP TABLE IF EXISTS lane;
DROP TABLE IF EXISTS cron_task;
