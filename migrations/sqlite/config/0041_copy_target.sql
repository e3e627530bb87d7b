-- A copy may write another table than copy_NAME: partner_daily, which has one copy at most. So system.copy does what
-- system.partner did.

-- +goose Up
ALTER TABLE table_copy ADD COLUMN target TEXT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS table_copy_target ON table_copy (target);
INSERT OR IGNORE INTO cron_task (name, media, handler, cron, timezone, lane, timeout_seconds, enabled)
  SELECT 'system.copy', media, 'system.copy', cron, timezone, lane, 3600, enabled FROM cron_task
  WHERE handler = 'system.partner' LIMIT 1;
DELETE FROM cron_task WHERE handler = 'system.partner';

-- +goose Down
DELETE FROM table_copy WHERE target IS NOT NULL;
DROP INDEX IF EXISTS table_copy_target;
ALTER TABLE table_copy DROP COLUMN target;
