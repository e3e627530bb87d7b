-- How far a lane's fan-outs may run ahead of its consumers. 0 = the default for each of the three.

-- +goose Up
ALTER TABLE lane
  ADD COLUMN backlog_max BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN late_seconds INT NOT NULL DEFAULT 0,
  ADD COLUMN importance INT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE lane DROP COLUMN importance, DROP COLUMN late_seconds, DROP COLUMN backlog_max;
