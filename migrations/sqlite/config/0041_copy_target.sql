-- A copy may write another table than copy_NAME: partner_daily, which has one copy at most. It replaces the task
-- system.partner.

-- +goose Up
ALTER TABLE table_copy ADD COLUMN target TEXT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS table_copy_target ON table_copy (target);
DELETE FROM cron_task WHERE handler = 'system.partner';

-- +goose Down
DROP INDEX IF EXISTS table_copy_target;
ALTER TABLE table_copy DROP COLUMN target;
