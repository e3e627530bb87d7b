-- Tokens of any length that a platform may give, and why a refresh rests.

-- +goose Up
-- access_token, refresh_token: sealed. rest_reason: why the last refresh failed; '' = it did not, or a new pair has come since.
ALTER TABLE media_token
  MODIFY COLUMN access_token TEXT NOT NULL,
  MODIFY COLUMN refresh_token TEXT NOT NULL,
  ADD COLUMN rest_reason VARCHAR(512) NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE media_token
  DROP COLUMN rest_reason,
  MODIFY COLUMN refresh_token VARCHAR(2048) NOT NULL,
  MODIFY COLUMN access_token VARCHAR(2048) NOT NULL;
