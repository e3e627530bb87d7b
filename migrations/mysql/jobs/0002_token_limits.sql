-- What a token allows, and how many requests that read (consume) or write (publish) may succeed in limit_seconds; 0 is
-- any number.

-- +goose Up
ALTER TABLE job_token ADD COLUMN roles VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
  DEFAULT 'produce,consume,admin', ADD COLUMN read_limit BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN write_limit BIGINT NOT NULL DEFAULT 0, ADD COLUMN limit_seconds BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE job_token DROP COLUMN roles, DROP COLUMN read_limit, DROP COLUMN write_limit, DROP COLUMN limit_seconds;
