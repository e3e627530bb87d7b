-- How far a lane's fan-outs may run ahead of its consumers. 0 = the default for each of the three.

-- +goose Up
ALTER TABLE lane ADD COLUMN backlog_max INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lane ADD COLUMN late_seconds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lane ADD COLUMN importance INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE lane DROP COLUMN importance;
ALTER TABLE lane DROP COLUMN late_seconds;
ALTER TABLE lane DROP COLUMN backlog_max;
