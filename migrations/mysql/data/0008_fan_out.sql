-- The oldest tick of each task that is being fanned out, and the orders that are, found without reading what waits behind them.

-- +goose Up
ALTER TABLE run ADD KEY fan_out (state, kind, task_id, id);

-- +goose Down
ALTER TABLE run DROP KEY fan_out;
