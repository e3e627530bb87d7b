-- How missed ticks are caught up, and how long an exclusive subtask may block others.

-- +goose Up
ALTER TABLE cron_task ADD COLUMN catch_up_order TEXT NOT NULL DEFAULT 'oldest_first';
ALTER TABLE cron_task ADD COLUMN catch_up_spread_seconds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cron_task ADD COLUMN exclusive_max_seconds INTEGER NOT NULL DEFAULT 60;

-- +goose Down
ALTER TABLE cron_task DROP COLUMN catch_up_order;
ALTER TABLE cron_task DROP COLUMN catch_up_spread_seconds;
ALTER TABLE cron_task DROP COLUMN exclusive_max_seconds;
