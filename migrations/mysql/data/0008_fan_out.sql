-- Indexes to find the oldest tick of each task, and the orders, that are fanned out, without reading those that wait
-- behind them.

-- +goose Up
ALTER TABLE run ADD KEY fan_out (state, kind, task_id, id);

-- +goose Down
ALTER TABLE run DROP KEY fan_out;
