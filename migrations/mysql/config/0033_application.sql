-- The application that follows the ends of a task's subtasks; '' = none.

-- +goose Up
ALTER TABLE cron_task ADD COLUMN application VARCHAR(64) NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE cron_task DROP COLUMN application;
