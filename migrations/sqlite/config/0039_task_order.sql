-- serial_key: the template of the key whose subtasks run one at a time, over all tasks; '' = by account or part.

-- +goose Up
ALTER TABLE cron_task ADD COLUMN serial_key TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE cron_task DROP COLUMN serial_key;
