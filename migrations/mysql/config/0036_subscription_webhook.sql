-- The address that is called when a file of a subscription is published, and the sealed key that signs the call; '' and
-- NULL = none.

-- +goose Up
ALTER TABLE subscription ADD COLUMN webhook VARCHAR(512) NOT NULL DEFAULT '', ADD COLUMN webhook_secret TEXT NULL;

-- +goose Down
ALTER TABLE subscription DROP COLUMN webhook, DROP COLUMN webhook_secret;
