-- The number of API calls that the deliveries of a run's subtasks made. It shows which tasks use up a platform's limits.

-- +goose Up
ALTER TABLE run ADD COLUMN api_calls INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE run DROP COLUMN api_calls;
