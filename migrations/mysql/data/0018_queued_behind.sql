-- Whether subtasks may be queued behind those of a run: a search for them queries all shards. For existing runs it is
-- unknown.

-- +goose Up
ALTER TABLE run ADD COLUMN queued_behind TINYINT NOT NULL DEFAULT 1;

-- +goose Down
ALTER TABLE run DROP COLUMN queued_behind;
