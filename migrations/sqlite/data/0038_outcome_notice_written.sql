-- When a notice was written, by the clock of the process that wrote it. Notices of earlier releases have none.

-- +goose Up
ALTER TABLE outcome_notice ADD COLUMN written_at DATETIME NULL;
CREATE INDEX IF NOT EXISTS outcome_notice_written_at ON outcome_notice (written_at);

-- +goose Down
DROP INDEX IF EXISTS outcome_notice_written_at;
ALTER TABLE outcome_notice DROP COLUMN written_at;
