-- When a notice was written, by the clock of the process that wrote it. Notices of earlier releases have none.

-- +goose Up
ALTER TABLE outcome_notice ADD COLUMN written_at DATETIME(3) NULL, ADD KEY written_at (written_at);

-- +goose Down
ALTER TABLE outcome_notice DROP KEY written_at, DROP COLUMN written_at;
