-- The order of any work. serial_key: the template of the key whose subtasks run one at a time, over all tasks; '' = by
-- account or part, as before. exclusive_over: next to what an exclusive subtask lets nothing run.
-- exclusive_drain_seconds: how long it may make others wait until they are idle.

-- +goose Up
ALTER TABLE cron_task ADD COLUMN serial_key TEXT NOT NULL DEFAULT '';
ALTER TABLE cron_task ADD COLUMN exclusive_over TEXT NOT NULL DEFAULT 'lane';
ALTER TABLE cron_task ADD COLUMN exclusive_drain_seconds INTEGER NOT NULL DEFAULT 60;

-- +goose Down
ALTER TABLE cron_task DROP COLUMN serial_key;
ALTER TABLE cron_task DROP COLUMN exclusive_over;
ALTER TABLE cron_task DROP COLUMN exclusive_drain_seconds;
