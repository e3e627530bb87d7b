-- ready_at: since when a file waits for nothing but its delivery. A published file's webhook is called at webhook_at, and
-- again after a failure, which is webhook_error.

-- +goose Up
ALTER TABLE publication ADD COLUMN ready_at DATETIME NULL;
ALTER TABLE publication ADD COLUMN webhook_at DATETIME NULL;
ALTER TABLE publication ADD COLUMN webhook_error TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE publication DROP COLUMN ready_at;
ALTER TABLE publication DROP COLUMN webhook_at;
ALTER TABLE publication DROP COLUMN webhook_error;
