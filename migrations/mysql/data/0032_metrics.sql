-- Figures that at least two platforms have: starts of downloads, key actions, payments on the day of activation, orders
-- and their amount, and forms. Views keep the columns with which they were created, so they are created again.

-- +goose Up
ALTER TABLE report_daily
  ADD COLUMN download_starts BIGINT NULL,
  ADD COLUMN key_actions BIGINT NULL,
  ADD COLUMN pays_d1 BIGINT NULL,
  ADD COLUMN orders BIGINT NULL,
  ADD COLUMN order_amount BIGINT NULL,
  ADD COLUMN forms BIGINT NULL;
ALTER TABLE report_hourly
  ADD COLUMN download_starts BIGINT NULL,
  ADD COLUMN key_actions BIGINT NULL,
  ADD COLUMN pays_d1 BIGINT NULL,
  ADD COLUMN orders BIGINT NULL,
  ADD COLUMN order_amount BIGINT NULL,
  ADD COLUMN forms BIGINT NULL;
ALTER TABLE summary_daily
  ADD COLUMN download_starts BIGINT NULL,
  ADD COLUMN key_actions BIGINT NULL,
  ADD COLUMN pays_d1 BIGINT NULL,
  ADD COLUMN orders BIGINT NULL,
  ADD COLUMN order_amount BIGINT NULL,
  ADD COLUMN forms BIGINT NULL;
ALTER TABLE summary_hourly
  ADD COLUMN download_starts BIGINT NULL,
  ADD COLUMN key_actions BIGINT NULL,
  ADD COLUMN pays_d1 BIGINT NULL,
  ADD COLUMN orders BIGINT NULL,
  ADD COLUMN order_amount BIGINT NULL,
  ADD COLUMN forms BIGINT NULL;
ALTER TABLE wide_daily
  ADD COLUMN download_starts BIGINT NULL,
  ADD COLUMN key_actions BIGINT NULL,
  ADD COLUMN pays_d1 BIGINT NULL,
  ADD COLUMN orders BIGINT NULL,
  ADD COLUMN order_amount BIGINT NULL,
  ADD COLUMN forms BIGINT NULL;

CREATE OR REPLACE VIEW report_daily_account AS SELECT * FROM report_daily WHERE level = 'account';
CREATE OR REPLACE VIEW report_daily_campaign AS SELECT * FROM report_daily WHERE level = 'campaign';
CREATE OR REPLACE VIEW report_daily_adgroup AS SELECT * FROM report_daily WHERE level = 'adgroup';
CREATE OR REPLACE VIEW report_daily_creative AS SELECT * FROM report_daily WHERE level = 'creative';
CREATE OR REPLACE VIEW report_hourly_account AS SELECT * FROM report_hourly WHERE level = 'account';
CREATE OR REPLACE VIEW report_hourly_campaign AS SELECT * FROM report_hourly WHERE level = 'campaign';
CREATE OR REPLACE VIEW report_hourly_adgroup AS SELECT * FROM report_hourly WHERE level = 'adgroup';
CREATE OR REPLACE VIEW report_hourly_creative AS SELECT * FROM report_hourly WHERE level = 'creative';
CREATE OR REPLACE VIEW wide_daily_account AS SELECT * FROM wide_daily WHERE level = 'account';
CREATE OR REPLACE VIEW wide_daily_campaign AS SELECT * FROM wide_daily WHERE level = 'campaign';
CREATE OR REPLACE VIEW wide_daily_adgroup AS SELECT * FROM wide_daily WHERE level = 'adgroup';
CREATE OR REPLACE VIEW wide_daily_creative AS SELECT * FROM wide_daily WHERE level = 'creative';

CREATE OR REPLACE VIEW report_daily_creative_asset AS
SELECT r.day, r.account_id, r.media, r.object_id AS creative_id, a.kind, a.asset_id, a.signature, a.removed_at,
  (SELECT COUNT(*) FROM creative_asset n WHERE n.account_id = r.account_id AND n.creative_id = r.object_id AND n.removed_at IS NULL) AS assets,
  r.currency, r.day_zone, r.cost, r.impressions, r.clicks, r.downloads, r.installs, r.activations, r.registrations, r.conversions, r.conversions_event, r.deep_conversions,
  r.first_pays, r.pays, r.pay_amount, r.pay_amount_d1, r.pay_amount_d3, r.pay_amount_d7, r.pay_amount_d14, r.pay_amount_d30, r.next_day_retained,
  r.download_starts, r.key_actions, r.pays_d1, r.orders, r.order_amount, r.forms,
  r.version, r.updated_at
FROM report_daily r JOIN creative_asset a ON a.account_id = r.account_id AND a.creative_id = r.object_id
WHERE r.level = 'creative';

CREATE OR REPLACE VIEW report_daily_unattributed AS
SELECT a.day, a.account_id, c.level, 'unattributed' AS object_id, MAX(a.media) AS media, MAX(a.currency) AS currency, MAX(a.day_zone) AS day_zone,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.cost) ELSE MAX(a.cost) - SUM(s.cost) END AS SIGNED) AS cost,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.impressions) ELSE MAX(a.impressions) - SUM(s.impressions) END AS SIGNED) AS impressions,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.clicks) ELSE MAX(a.clicks) - SUM(s.clicks) END AS SIGNED) AS clicks,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.downloads) ELSE MAX(a.downloads) - SUM(s.downloads) END AS SIGNED) AS downloads,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.installs) ELSE MAX(a.installs) - SUM(s.installs) END AS SIGNED) AS installs,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.activations) ELSE MAX(a.activations) - SUM(s.activations) END AS SIGNED) AS activations,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.registrations) ELSE MAX(a.registrations) - SUM(s.registrations) END AS SIGNED) AS registrations,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.conversions) ELSE MAX(a.conversions) - SUM(s.conversions) END AS SIGNED) AS conversions,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.conversions_event) ELSE MAX(a.conversions_event) - SUM(s.conversions_event) END AS SIGNED) AS conversions_event,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.deep_conversions) ELSE MAX(a.deep_conversions) - SUM(s.deep_conversions) END AS SIGNED) AS deep_conversions,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.first_pays) ELSE MAX(a.first_pays) - SUM(s.first_pays) END AS SIGNED) AS first_pays,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pays) ELSE MAX(a.pays) - SUM(s.pays) END AS SIGNED) AS pays,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount) ELSE MAX(a.pay_amount) - SUM(s.pay_amount) END AS SIGNED) AS pay_amount,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d1) ELSE MAX(a.pay_amount_d1) - SUM(s.pay_amount_d1) END AS SIGNED) AS pay_amount_d1,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d3) ELSE MAX(a.pay_amount_d3) - SUM(s.pay_amount_d3) END AS SIGNED) AS pay_amount_d3,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d7) ELSE MAX(a.pay_amount_d7) - SUM(s.pay_amount_d7) END AS SIGNED) AS pay_amount_d7,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d14) ELSE MAX(a.pay_amount_d14) - SUM(s.pay_amount_d14) END AS SIGNED) AS pay_amount_d14,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d30) ELSE MAX(a.pay_amount_d30) - SUM(s.pay_amount_d30) END AS SIGNED) AS pay_amount_d30,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.next_day_retained) ELSE MAX(a.next_day_retained) - SUM(s.next_day_retained) END AS SIGNED) AS next_day_retained,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.download_starts) ELSE MAX(a.download_starts) - SUM(s.download_starts) END AS SIGNED) AS download_starts,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.key_actions) ELSE MAX(a.key_actions) - SUM(s.key_actions) END AS SIGNED) AS key_actions,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pays_d1) ELSE MAX(a.pays_d1) - SUM(s.pays_d1) END AS SIGNED) AS pays_d1,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.orders) ELSE MAX(a.orders) - SUM(s.orders) END AS SIGNED) AS orders,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.order_amount) ELSE MAX(a.order_amount) - SUM(s.order_amount) END AS SIGNED) AS order_amount,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.forms) ELSE MAX(a.forms) - SUM(s.forms) END AS SIGNED) AS forms
FROM report_daily a
JOIN coverage c ON c.account_id = a.account_id AND c.report = 'report_daily' AND c.level <> 'account' AND c.day = a.day AND c.complete_version > 0
LEFT JOIN report_daily s ON s.day = a.day AND s.account_id = a.account_id AND s.level = CONVERT(c.level USING ascii) COLLATE ascii_bin
WHERE a.level = 'account'
GROUP BY a.day, a.account_id, c.level;

-- +goose Down
CREATE OR REPLACE VIEW report_daily_creative_asset AS
SELECT r.day, r.account_id, r.media, r.object_id AS creative_id, a.kind, a.asset_id, a.signature, a.removed_at,
  (SELECT COUNT(*) FROM creative_asset n WHERE n.account_id = r.account_id AND n.creative_id = r.object_id AND n.removed_at IS NULL) AS assets,
  r.currency, r.day_zone, r.cost, r.impressions, r.clicks, r.downloads, r.installs, r.activations, r.registrations, r.conversions, r.conversions_event, r.deep_conversions,
  r.first_pays, r.pays, r.pay_amount, r.pay_amount_d1, r.pay_amount_d3, r.pay_amount_d7, r.pay_amount_d14, r.pay_amount_d30, r.next_day_retained,
  r.version, r.updated_at
FROM report_daily r JOIN creative_asset a ON a.account_id = r.account_id AND a.creative_id = r.object_id
WHERE r.level = 'creative';

CREATE OR REPLACE VIEW report_daily_unattributed AS
SELECT a.day, a.account_id, c.level, 'unattributed' AS object_id, MAX(a.media) AS media, MAX(a.currency) AS currency, MAX(a.day_zone) AS day_zone,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.cost) ELSE MAX(a.cost) - SUM(s.cost) END AS SIGNED) AS cost,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.impressions) ELSE MAX(a.impressions) - SUM(s.impressions) END AS SIGNED) AS impressions,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.clicks) ELSE MAX(a.clicks) - SUM(s.clicks) END AS SIGNED) AS clicks,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.downloads) ELSE MAX(a.downloads) - SUM(s.downloads) END AS SIGNED) AS downloads,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.installs) ELSE MAX(a.installs) - SUM(s.installs) END AS SIGNED) AS installs,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.activations) ELSE MAX(a.activations) - SUM(s.activations) END AS SIGNED) AS activations,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.registrations) ELSE MAX(a.registrations) - SUM(s.registrations) END AS SIGNED) AS registrations,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.conversions) ELSE MAX(a.conversions) - SUM(s.conversions) END AS SIGNED) AS conversions,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.conversions_event) ELSE MAX(a.conversions_event) - SUM(s.conversions_event) END AS SIGNED) AS conversions_event,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.deep_conversions) ELSE MAX(a.deep_conversions) - SUM(s.deep_conversions) END AS SIGNED) AS deep_conversions,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.first_pays) ELSE MAX(a.first_pays) - SUM(s.first_pays) END AS SIGNED) AS first_pays,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pays) ELSE MAX(a.pays) - SUM(s.pays) END AS SIGNED) AS pays,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount) ELSE MAX(a.pay_amount) - SUM(s.pay_amount) END AS SIGNED) AS pay_amount,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d1) ELSE MAX(a.pay_amount_d1) - SUM(s.pay_amount_d1) END AS SIGNED) AS pay_amount_d1,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d3) ELSE MAX(a.pay_amount_d3) - SUM(s.pay_amount_d3) END AS SIGNED) AS pay_amount_d3,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d7) ELSE MAX(a.pay_amount_d7) - SUM(s.pay_amount_d7) END AS SIGNED) AS pay_amount_d7,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d14) ELSE MAX(a.pay_amount_d14) - SUM(s.pay_amount_d14) END AS SIGNED) AS pay_amount_d14,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d30) ELSE MAX(a.pay_amount_d30) - SUM(s.pay_amount_d30) END AS SIGNED) AS pay_amount_d30,
  CAST(CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.next_day_retained) ELSE MAX(a.next_day_retained) - SUM(s.next_day_retained) END AS SIGNED) AS next_day_retained
FROM report_daily a
JOIN coverage c ON c.account_id = a.account_id AND c.report = 'report_daily' AND c.level <> 'account' AND c.day = a.day AND c.complete_version > 0
LEFT JOIN report_daily s ON s.day = a.day AND s.account_id = a.account_id AND s.level = CONVERT(c.level USING ascii) COLLATE ascii_bin
WHERE a.level = 'account'
GROUP BY a.day, a.account_id, c.level;

ALTER TABLE report_daily
  DROP COLUMN download_starts,
  DROP COLUMN key_actions,
  DROP COLUMN pays_d1,
  DROP COLUMN orders,
  DROP COLUMN order_amount,
  DROP COLUMN forms;
ALTER TABLE report_hourly
  DROP COLUMN download_starts,
  DROP COLUMN key_actions,
  DROP COLUMN pays_d1,
  DROP COLUMN orders,
  DROP COLUMN order_amount,
  DROP COLUMN forms;
ALTER TABLE summary_daily
  DROP COLUMN download_starts,
  DROP COLUMN key_actions,
  DROP COLUMN pays_d1,
  DROP COLUMN orders,
  DROP COLUMN order_amount,
  DROP COLUMN forms;
ALTER TABLE summary_hourly
  DROP COLUMN download_starts,
  DROP COLUMN key_actions,
  DROP COLUMN pays_d1,
  DROP COLUMN orders,
  DROP COLUMN order_amount,
  DROP COLUMN forms;
ALTER TABLE wide_daily
  DROP COLUMN download_starts,
  DROP COLUMN key_actions,
  DROP COLUMN pays_d1,
  DROP COLUMN orders,
  DROP COLUMN order_amount,
  DROP COLUMN forms;

CREATE OR REPLACE VIEW report_daily_account AS SELECT * FROM report_daily WHERE level = 'account';
CREATE OR REPLACE VIEW report_daily_campaign AS SELECT * FROM report_daily WHERE level = 'campaign';
CREATE OR REPLACE VIEW report_daily_adgroup AS SELECT * FROM report_daily WHERE level = 'adgroup';
CREATE OR REPLACE VIEW report_daily_creative AS SELECT * FROM report_daily WHERE level = 'creative';
CREATE OR REPLACE VIEW report_hourly_account AS SELECT * FROM report_hourly WHERE level = 'account';
CREATE OR REPLACE VIEW report_hourly_campaign AS SELECT * FROM report_hourly WHERE level = 'campaign';
CREATE OR REPLACE VIEW report_hourly_adgroup AS SELECT * FROM report_hourly WHERE level = 'adgroup';
CREATE OR REPLACE VIEW report_hourly_creative AS SELECT * FROM report_hourly WHERE level = 'creative';
CREATE OR REPLACE VIEW wide_daily_account AS SELECT * FROM wide_daily WHERE level = 'account';
CREATE OR REPLACE VIEW wide_daily_campaign AS SELECT * FROM wide_daily WHERE level = 'campaign';
CREATE OR REPLACE VIEW wide_daily_adgroup AS SELECT * FROM wide_daily WHERE level = 'adgroup';
CREATE OR REPLACE VIEW wide_daily_creative AS SELECT * FROM wide_daily WHERE level = 'creative';
