-- A new field of reports is tried with one call before pulls ask for it.

-- +goose Up
-- accepted_at: since when pulls request a field of state asked; NULL = it is tried first. trial_at: no trial before
-- this time. trial_note: why the last trial decided nothing. state may be refused: the platform refused the field when
-- it was tried.
ALTER TABLE report_field ADD COLUMN accepted_at DATETIME(3) NULL;
ALTER TABLE report_field ADD COLUMN trial_at DATETIME(3) NULL;
ALTER TABLE report_field ADD COLUMN trial_note VARCHAR(512) NOT NULL DEFAULT '';

-- Fields that pulls request already need no trial.
UPDATE report_field SET accepted_at = updated_at, updated_at = updated_at WHERE state = 'asked';

-- +goose Down
ALTER TABLE report_field DROP COLUMN trial_note;
ALTER TABLE report_field DROP COLUMN trial_at;
ALTER TABLE report_field DROP COLUMN accepted_at;
