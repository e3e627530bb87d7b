-- Indexes to find the oldest tick of each task, and the orders, that are fanned out, without reading those that wait
-- behind them.

-- +goose Up
CREATE INDEX run_fan_out ON run (state, kind, task_id, id);

-- +goose Down
DROP INDEX run_fan_out;
