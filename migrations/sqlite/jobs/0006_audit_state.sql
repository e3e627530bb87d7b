-- An entry of job_audit is written before its change and completed after it. begun is a change that is under way, or
-- whose process has ended in between.

-- +goose Up
ALTER TABLE job_audit ADD COLUMN state TEXT NOT NULL DEFAULT 'done';
ALTER TABLE job_audit ADD COLUMN failure TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE job_audit DROP COLUMN failure;
ALTER TABLE job_audit DROP COLUMN state;
