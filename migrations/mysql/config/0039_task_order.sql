-- The order of any work. serial_key: the template of the key whose subtasks run one at a time, over all tasks; '' = by
-- account or part, as before. exclusive_over: next to what an exclusive subtask lets nothing run.
-- exclusive_drain_seconds: how long it may make others wait until they are idle.

-- +goose Up
ALTER TABLE cron_task
  ADD COLUMN serial_key VARCHAR(200) NOT NULL DEFAULT '' AFTER concurrency,
  ADD COLUMN exclusive_over VARCHAR(16) NOT NULL DEFAULT 'lane' AFTER serial_key,
  ADD COLUMN exclusive_drain_seconds INT NOT NULL DEFAULT 60 AFTER exclusive_max_seconds;

-- +goose Down
ALTER TABLE cron_task DROP COLUMN serial_key, DROP COLUMN exclusive_over, DROP COLUMN exclusive_drain_seconds;
