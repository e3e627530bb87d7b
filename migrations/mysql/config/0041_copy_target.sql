-- A copy may write another table than copy_NAME: partner_daily, which has one copy at most. So system.copy does what
-- system.partner did.

-- +goose Up
ALTER TABLE table_copy
  ADD COLUMN target VARCHAR(64) NULL AFTER source_table,
  ADD UNIQUE KEY target (target);
INSERT IGNORE INTO cron_task (name, media, handler, cron, timezone, lane, timeout_seconds, enabled)
  SELECT 'system.copy', media, 'system.copy', cron, timezone, lane, 3600, enabled FROM cron_task
  WHERE handler = 'system.partner' LIMIT 1;
DELETE FROM cron_task WHERE handler = 'system.partner';

-- +goose Down
DELETE FROM table_copy WHERE target IS NOT NULL;
ALTER TABLE table_copy DROP KEY target, DROP COLUMN target;
