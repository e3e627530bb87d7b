-- The application that follows the ends of the subtasks that make a subscription's files; '' = none.

-- +goose Up
ALTER TABLE subscription ADD COLUMN application TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE subscription DROP COLUMN application;
