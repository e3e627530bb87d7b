-- The run that redrives a dead subtask; 0 = none. The row is deleted when that run has ended.

-- +goose Up
ALTER TABLE subtask_dead ADD COLUMN redrive_run_id INTEGER NOT NULL DEFAULT 0;
CREATE INDEX subtask_dead_redrive ON subtask_dead (redrive_run_id, account_id, part);
CREATE INDEX subtask_dead_died ON subtask_dead (dead_at);
CREATE INDEX subtask_dead_media ON subtask_dead (media, dead_at);

-- +goose Down
DROP INDEX subtask_dead_media;
DROP INDEX subtask_dead_died;
DROP INDEX subtask_dead_redrive;
ALTER TABLE subtask_dead DROP COLUMN redrive_run_id;
