-- What a token allows, and how many requests that read (consume) or write (publish) may succeed in limit_seconds; 0 is
-- any number.

-- +goose Up
ALTER TABLE job_token ADD COLUMN roles TEXT NOT NULL DEFAULT 'produce,consume,admin';
ALTER TABLE job_token ADD COLUMN read_limit INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job_token ADD COLUMN write_limit INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job_token ADD COLUMN limit_seconds INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE job_token DROP COLUMN roles;
ALTER TABLE job_token DROP COLUMN read_limit;
ALTER TABLE job_token DROP COLUMN write_limit;
ALTER TABLE job_token DROP COLUMN limit_seconds;
