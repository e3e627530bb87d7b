-- Views of the levels that were added later, so that nobody adds up spend over levels, and the images and videos that
-- each creative shows.

-- +goose Up

-- removed_at is when a pull of the creative no longer had the asset; NULL while the creative shows it. signature is ''
-- until the asset itself was pulled.
CREATE TABLE IF NOT EXISTS creative_asset (
  account_id INTEGER NOT NULL,
  creative_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  asset_id TEXT NOT NULL,
  media TEXT NOT NULL,
  signature TEXT NOT NULL DEFAULT '',
  first_seen_at DATETIME NOT NULL,
  last_seen_at DATETIME NOT NULL,
  removed_at DATETIME NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (account_id, creative_id, kind, asset_id)
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS creative_asset_asset ON creative_asset (account_id, kind, asset_id);
CREATE INDEX IF NOT EXISTS creative_asset_signature ON creative_asset (signature);

CREATE VIEW IF NOT EXISTS report_daily_campaign AS SELECT * FROM report_daily WHERE level = 'campaign';
CREATE VIEW IF NOT EXISTS report_daily_creative AS SELECT * FROM report_daily WHERE level = 'creative';
CREATE VIEW IF NOT EXISTS report_hourly_campaign AS SELECT * FROM report_hourly WHERE level = 'campaign';
CREATE VIEW IF NOT EXISTS report_hourly_creative AS SELECT * FROM report_hourly WHERE level = 'creative';

-- Each asset of a creative has the creative's whole figures: they may be added up over the creatives of one asset and
-- over days, never over the assets of a creative. assets is the number of assets that the creative shows.
CREATE VIEW IF NOT EXISTS report_daily_creative_asset AS
SELECT r.day, r.account_id, r.media, r.object_id AS creative_id, a.kind, a.asset_id, a.signature, a.removed_at,
  (SELECT COUNT(*) FROM creative_asset n WHERE n.account_id = r.account_id AND n.creative_id = r.object_id AND n.removed_at IS NULL) AS assets,
  r.currency, r.day_zone, r.cost, r.impressions, r.clicks, r.downloads, r.installs, r.activations, r.registrations, r.conversions, r.conversions_event, r.deep_conversions,
  r.first_pays, r.pays, r.pay_amount, r.pay_amount_d1, r.pay_amount_d3, r.pay_amount_d7, r.pay_amount_d14, r.pay_amount_d30, r.next_day_retained,
  r.version, r.updated_at
FROM report_daily r JOIN creative_asset a ON a.account_id = r.account_id AND a.creative_id = r.object_id
WHERE r.level = 'creative';

-- +goose Down
DROP VIEW IF EXISTS report_daily_creative_asset;
DROP VIEW IF EXISTS report_hourly_creative;
DROP VIEW IF EXISTS report_hourly_campaign;
DROP VIEW IF EXISTS report_daily_creative;
DROP VIEW IF EXISTS report_daily_campaign;
DROP TABLE IF EXISTS creative_asset;
