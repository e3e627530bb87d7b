-- Tokens of any length that a platform may give, and why a refresh rests.

-- +goose Up
-- access_token, refresh_token: sealed. rest_reason: why the last refresh failed; '' = it did not, or a new pair has come since.
ALTER TABLE media_token ADD COLUMN rest_reason TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE media_token DROP COLUMN rest_reason;
