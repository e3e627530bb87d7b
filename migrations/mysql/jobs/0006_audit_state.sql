-- An entry of job_audit is written before its change and completed after it. begun is a change that is under way, or
-- whose process has ended in between.

-- +goose Up
ALTER TABLE job_audit
  ADD COLUMN state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'done',
  ADD COLUMN failure VARCHAR(512) NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE job_audit DROP COLUMN state, DROP COLUMN failure;
