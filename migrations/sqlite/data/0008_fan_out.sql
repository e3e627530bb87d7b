-- The oldest tick of each task that is being fanned out, and the orders that are, found without reading what waits behind them.

-- +goose Up
CREATE INDEX run_fan_out ON run (state, kind, task_id, id);

-- +goose Down
DROP INDEX run_fan_out;
