-- What figures need to be trusted: which holes of coverage were ordered, which rows of results were deleted, where the
-- levels of a report do not add up, and what belongs to no object.

-- +goose Up

-- The days of a scope that a run was ordered for after coverage lacked them: when last, and how often.
CREATE TABLE IF NOT EXISTS hole (
  account_id BIGINT NOT NULL,
  report VARCHAR(32) NOT NULL,
  level VARCHAR(32) NOT NULL,
  day DATE NOT NULL,
  ordered_at DATETIME(3) NOT NULL,
  run_id BIGINT NOT NULL DEFAULT 0,
  tries INT NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, report, level, day),
  KEY ordered_at (ordered_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Deleted rows of report_daily, report_hourly, summary_daily and summary_hourly, by the columns of their keys; columns
-- that a table does not have are NULL. version is that of the pull, or the rebuild, that deleted the row.
CREATE TABLE IF NOT EXISTS report_tombstone (
  id BIGINT NOT NULL AUTO_INCREMENT,
  table_name VARCHAR(32) NOT NULL,
  day DATE NOT NULL,
  hour TINYINT NULL,
  account_id BIGINT NULL,
  level VARCHAR(32) NULL,
  object_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  game VARCHAR(64) NULL,
  media VARCHAR(32) NULL,
  os VARCHAR(16) NULL,
  currency CHAR(3) NULL,
  day_zone VARCHAR(64) NULL,
  version BIGINT NOT NULL,
  deleted_at DATETIME(3) NOT NULL,
  PRIMARY KEY (id),
  KEY deleted_at (deleted_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Where an account's figure of a settled day is not the sum of a level below it. pulled_again_run_id is the run that
-- was ordered for it, confirmed_at the time when it still differed after both levels had been pulled again.
CREATE TABLE IF NOT EXISTS reconciliation (
  account_id BIGINT NOT NULL,
  day DATE NOT NULL,
  level VARCHAR(32) NOT NULL,
  metric VARCHAR(32) NOT NULL,
  media VARCHAR(32) NOT NULL,
  account_value BIGINT NOT NULL,
  sum_value BIGINT NOT NULL,
  first_seen_at DATETIME(3) NOT NULL,
  last_seen_at DATETIME(3) NOT NULL,
  pulled_again_run_id BIGINT NOT NULL DEFAULT 0,
  confirmed_at DATETIME(3) NULL,
  state VARCHAR(16) NOT NULL,
  PRIMARY KEY (account_id, day, level, metric),
  KEY state (media, state, day, account_id),
  KEY last_seen_at (last_seen_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The part of an account's figures that belongs to no object of a level below, by the levels that were pulled whole.
-- NULL where the platform has the figure at only one of the two. See docs/adr/0004-unattributed-is-a-view.md.
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

-- +goose Down
DROP VIEW IF EXISTS report_daily_unattributed;
DROP TABLE IF EXISTS reconciliation;
DROP TABLE IF EXISTS report_tombstone;
DROP TABLE IF EXISTS hole;
