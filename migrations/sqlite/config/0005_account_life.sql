-- The life of an account: who set its tier and why, what a probe found, why and since when it is parked, and whether
-- its past was pulled. Accounts that exist already count as pulled: their past is not pulled again.

-- +goose Up
ALTER TABLE media_account ADD COLUMN tier_by TEXT NOT NULL DEFAULT 'auto';
ALTER TABLE media_account ADD COLUMN tier_since DATETIME NULL;
ALTER TABLE media_account ADD COLUMN tier_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE media_account ADD COLUMN probed_at DATETIME NULL;
ALTER TABLE media_account ADD COLUMN parked_since DATETIME NULL;
ALTER TABLE media_account ADD COLUMN parked_until DATETIME NULL;
ALTER TABLE media_account ADD COLUMN parked_tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE media_account ADD COLUMN unparked_at DATETIME NULL;
ALTER TABLE media_account ADD COLUMN initialise_at DATETIME NULL;
ALTER TABLE media_account ADD COLUMN initialised_at DATETIME NULL DEFAULT '1970-01-01 00:00:00.000';

-- +goose Down
ALTER TABLE media_account DROP COLUMN initialised_at;
ALTER TABLE media_account DROP COLUMN initialise_at;
ALTER TABLE media_account DROP COLUMN unparked_at;
ALTER TABLE media_account DROP COLUMN parked_tries;
ALTER TABLE media_account DROP COLUMN parked_until;
ALTER TABLE media_account DROP COLUMN parked_since;
ALTER TABLE media_account DROP COLUMN probed_at;
ALTER TABLE media_account DROP COLUMN tier_reason;
ALTER TABLE media_account DROP COLUMN tier_since;
ALTER TABLE media_account DROP COLUMN tier_by;
