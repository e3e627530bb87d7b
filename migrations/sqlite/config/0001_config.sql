-- The config database: the tables that operators edit. Every statement can be repeated, because MySQL commits each
-- CREATE TABLE separately and a migration that was interrupted must be able to run again.

-- +goose Up
CREATE TABLE IF NOT EXISTS cron_task (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  media TEXT NOT NULL,
  handler TEXT NOT NULL,
  cron TEXT NOT NULL,
  timezone TEXT NOT NULL DEFAULT 'UTC',
  lane TEXT NOT NULL DEFAULT 'normal',
  scope TEXT NOT NULL DEFAULT 'active',
  params TEXT NULL,
  timeout_seconds INTEGER NOT NULL DEFAULT 300,
  ttl_seconds INTEGER NOT NULL DEFAULT 0,
  retry_max INTEGER NOT NULL DEFAULT 5,
  retry_base_seconds INTEGER NOT NULL DEFAULT 10,
  overlap TEXT NOT NULL DEFAULT 'skip',
  catch_up TEXT NOT NULL DEFAULT 'latest',
  catch_up_window_seconds INTEGER NOT NULL DEFAULT 86400,
  concurrency TEXT NOT NULL DEFAULT 'parallel',
  fan_out_rate INTEGER NOT NULL DEFAULT 0,
  after_tasks TEXT NOT NULL DEFAULT '',
  enabled INTEGER NOT NULL DEFAULT 1,
  revision INTEGER NOT NULL DEFAULT 1,
  updated_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);
CREATE UNIQUE INDEX IF NOT EXISTS cron_task_name ON cron_task (name);

CREATE TABLE IF NOT EXISTS lane (
  media TEXT NOT NULL,
  name TEXT NOT NULL,
  pool_size INTEGER NOT NULL,
  partitions INTEGER NOT NULL DEFAULT 0,
  updated_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  PRIMARY KEY (media, name)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS media_app (
  media TEXT NOT NULL,
  app_id TEXT NOT NULL,
  secret TEXT NOT NULL,
  enabled INTEGER NOT NULL DEFAULT 1,
  updated_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  PRIMARY KEY (media, app_id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS media_token (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  media TEXT NOT NULL,
  app_id TEXT NOT NULL,
  login TEXT NOT NULL,
  access_token TEXT NOT NULL,
  refresh_token TEXT NOT NULL,
  access_expires_at DATETIME NOT NULL,
  refresh_expires_at DATETIME NOT NULL,
  generation INTEGER NOT NULL DEFAULT 1,
  intent_holder TEXT NOT NULL DEFAULT '',
  intent_until DATETIME NULL,
  intent_tries INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL DEFAULT 'ok',
  state_reason TEXT NOT NULL DEFAULT '',
  updated_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);
CREATE UNIQUE INDEX IF NOT EXISTS media_token_login ON media_token (media, app_id, login);

CREATE TABLE IF NOT EXISTS media_account (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  media TEXT NOT NULL,
  external_id TEXT NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  token_id INTEGER NOT NULL,
  tier TEXT NOT NULL DEFAULT 'active',
  timezone TEXT NOT NULL DEFAULT 'Asia/Shanghai',
  currency TEXT NOT NULL DEFAULT 'CNY',
  parked TEXT NOT NULL DEFAULT '',
  created_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  updated_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);
CREATE UNIQUE INDEX IF NOT EXISTS media_account_external ON media_account (media, external_id);
CREATE INDEX IF NOT EXISTS media_account_fan_out ON media_account (media, tier, id);

CREATE TABLE IF NOT EXISTS game (
  code TEXT NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (code)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS account_binding (
  account_id INTEGER NOT NULL,
  from_day DATE NOT NULL,
  to_day DATE NOT NULL DEFAULT '9999-12-31',
  game TEXT NOT NULL,
  os TEXT NOT NULL,
  updated_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  PRIMARY KEY (account_id, from_day)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS rate_limit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  media TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  scope TEXT NOT NULL,
  period_ms INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  each_endpoint INTEGER NOT NULL DEFAULT 0,
  share REAL NOT NULL DEFAULT 0.95,
  enabled INTEGER NOT NULL DEFAULT 1,
  updated_at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))
);
CREATE UNIQUE INDEX IF NOT EXISTS rate_limit_rule ON rate_limit (media, endpoint, scope, period_ms);

CREATE TABLE IF NOT EXISTS audit_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  object TEXT NOT NULL,
  before_value TEXT NULL,
  after_value TEXT NULL
);
CREATE INDEX IF NOT EXISTS audit_log_object ON audit_log (object, id);

INSERT OR IGNORE INTO lane (media, name, pool_size) VALUES
  ('*', 'important', 64), ('*', 'normal', 32), ('*', 'offline', 8);

INSERT OR IGNORE INTO game (code, name) VALUES ('unassigned', 'accounts without a binding');

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
