-- Subtasks order runs: under_* is the subtask, under_name tells its orders apart, and ancestors are the runs above, of
-- which root_run_id is the outermost. own_params is a print of the changes of params with which a run was ordered.

-- +goose Up
ALTER TABLE manual_order ADD COLUMN under_run_id INTEGER NULL;
ALTER TABLE manual_order ADD COLUMN under_account_id INTEGER NULL;
ALTER TABLE manual_order ADD COLUMN under_part TEXT NULL;
ALTER TABLE manual_order ADD COLUMN under_name TEXT NULL;
ALTER TABLE manual_order ADD COLUMN root_run_id INTEGER NULL;
ALTER TABLE manual_order ADD COLUMN ancestors TEXT NULL;
CREATE UNIQUE INDEX manual_order_under ON manual_order (under_run_id, under_account_id, under_part, under_name);
CREATE INDEX manual_order_root ON manual_order (root_run_id);
ALTER TABLE run ADD COLUMN own_params TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE run DROP COLUMN own_params;
DROP INDEX manual_order_root;
DROP INDEX manual_order_under;
ALTER TABLE manual_order DROP COLUMN ancestors;
ALTER TABLE manual_order DROP COLUMN root_run_id;
ALTER TABLE manual_order DROP COLUMN under_name;
ALTER TABLE manual_order DROP COLUMN under_part;
ALTER TABLE manual_order DROP COLUMN under_account_id;
ALTER TABLE manual_order DROP COLUMN under_run_id;
