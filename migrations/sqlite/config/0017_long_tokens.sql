-- Tokens of any length, and the reason why a refresh rests.

-- +goose Up
-- access_token, refresh_token: encrypted. rest_reason: why the last refresh failed; '' = it succeeded, or a new pair
-- was stored since.
ALTER TABLE media_token ADD COLUMN rest_reason TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE media_token DROP COLUMN rest_reason;
