-- The life of an account: who set its tier and why, what a probe found, why and since when it is parked, and whether
-- its past was pulled. Accounts that exist already count as pulled: their past is not pulled again.

-- +goose Up
ALTER TABLE media_account
  ADD COLUMN tier_by VARCHAR(16) NOT NULL DEFAULT 'auto',
  ADD COLUMN tier_since DATETIME(3) NULL,
  ADD COLUMN tier_reason VARCHAR(64) NOT NULL DEFAULT '',
  ADD COLUMN probed_at DATETIME(3) NULL,
  ADD COLUMN parked_since DATETIME(3) NULL,
  ADD COLUMN parked_until DATETIME(3) NULL,
  ADD COLUMN parked_tries INT NOT NULL DEFAULT 0,
  ADD COLUMN unparked_at DATETIME(3) NULL,
  ADD COLUMN initialise_at DATETIME(3) NULL,
  ADD COLUMN initialised_at DATETIME(3) NULL DEFAULT '1970-01-01 00:00:00.000';

-- +goose Down
ALTER TABLE media_account
  DROP COLUMN initialised_at, DROP COLUMN initialise_at, DROP COLUMN unparked_at, DROP COLUMN parked_tries, DROP COLUMN parked_until,
  DROP COLUMN parked_since, DROP COLUMN probed_at, DROP COLUMN tier_reason, DROP COLUMN tier_since, DROP COLUMN tier_by;
