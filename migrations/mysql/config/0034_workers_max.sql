-- How many subtasks of a lane all consumers do at a time together; 0 = no limit.

-- +goose Up
ALTER TABLE lane ADD COLUMN workers_max INT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE lane DROP COLUMN workers_max;
