-- Entries of a platform's log of operations are changes too: changed_at is when an object was changed at the platform,
-- changed_by who changed it, and operation the entry's id. Their version is the time of the change.

-- +goose Up
ALTER TABLE config_change ADD COLUMN changed_at DATETIME(3) NULL;
ALTER TABLE config_change ADD COLUMN changed_by VARCHAR(255) NOT NULL DEFAULT '';
ALTER TABLE config_change ADD COLUMN operation VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE config_change DROP COLUMN operation;
ALTER TABLE config_change DROP COLUMN changed_by;
ALTER TABLE config_change DROP COLUMN changed_at;
