-- How missed ticks are caught up, and how long an exclusive subtask may block others.

-- +goose Up
ALTER TABLE cron_task
  ADD COLUMN catch_up_order VARCHAR(16) NOT NULL DEFAULT 'oldest_first' AFTER catch_up_window_seconds,
  ADD COLUMN catch_up_spread_seconds INT NOT NULL DEFAULT 0 AFTER catch_up_order,
  ADD COLUMN exclusive_max_seconds INT NOT NULL DEFAULT 60 AFTER concurrency;

-- +goose Down
ALTER TABLE cron_task DROP COLUMN catch_up_order, DROP COLUMN catch_up_spread_seconds, DROP COLUMN exclusive_max_seconds;
