-- Subtasks order runs: under_* is the subtask, under_name tells its orders apart, and ancestors are the runs above, of
-- which root_run_id is the outermost. own_params is a print of the changes of params with which a run was ordered.

-- +goose Up
ALTER TABLE manual_order ADD COLUMN under_run_id BIGINT NULL, ADD COLUMN under_account_id BIGINT NULL,
  ADD COLUMN under_part VARCHAR(96) NULL, ADD COLUMN under_name VARCHAR(96) NULL, ADD COLUMN root_run_id BIGINT NULL,
  ADD COLUMN ancestors VARCHAR(255) NULL,
  ADD UNIQUE KEY under (under_run_id, under_account_id, under_part, under_name), ADD KEY root (root_run_id);
ALTER TABLE run ADD COLUMN own_params VARCHAR(32) NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE run DROP COLUMN own_params;
ALTER TABLE manual_order DROP KEY under, DROP KEY root, DROP COLUMN under_run_id, DROP COLUMN under_account_id,
  DROP COLUMN under_part, DROP COLUMN under_name, DROP COLUMN root_run_id, DROP COLUMN ancestors;
