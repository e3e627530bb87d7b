-- The run that redrives a dead subtask; 0 = none. The row is deleted when that run has ended.

-- +goose Up
ALTER TABLE subtask_dead
  ADD COLUMN redrive_run_id BIGINT NOT NULL DEFAULT 0,
  ADD KEY redrive (redrive_run_id, account_id, part),
  ADD KEY died (dead_at),
  ADD KEY media (media, dead_at);

-- +goose Down
ALTER TABLE subtask_dead DROP KEY media, DROP KEY died, DROP KEY redrive, DROP COLUMN redrive_run_id;
