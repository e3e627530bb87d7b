-- Tokens of any length, and the reason why a refresh rests.

-- +goose Up
-- access_token, refresh_token: encrypted. rest_reason: why the last refresh failed; '' = it succeeded, or a new pair
-- was stored since.
ALTER TABLE media_token
  MODIFY COLUMN access_token TEXT NOT NULL,
  MODIFY COLUMN refresh_token TEXT NOT NULL,
  ADD COLUMN rest_reason VARCHAR(512) NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE media_token
  DROP COLUMN rest_reason,
  MODIFY COLUMN refresh_token VARCHAR(2048) NOT NULL,
  MODIFY COLUMN access_token VARCHAR(2048) NOT NULL;
