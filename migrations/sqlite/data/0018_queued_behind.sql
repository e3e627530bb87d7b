-- Whether subtasks may be queued behind those of a run: to look for them means to ask all shards. Of the runs that are there nothing is known.

-- +goose Up
ALTER TABLE run ADD COLUMN queued_behind INTEGER NOT NULL DEFAULT 1;

-- +goose Down
ALTER TABLE run DROP COLUMN queued_behind;
