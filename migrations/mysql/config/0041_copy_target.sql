-- A copy may write another table than copy_NAME: partner_daily, which has one copy at most. It replaces the task
-- system.partner.

-- +goose Up
ALTER TABLE table_copy
  ADD COLUMN target VARCHAR(64) NULL AFTER source_table,
  ADD UNIQUE KEY target (target);
DELETE FROM cron_task WHERE handler = 'system.partner';

-- +goose Down
ALTER TABLE table_copy DROP KEY target, DROP COLUMN target;
