-- What figures need to be trusted: which holes of coverage were ordered, which rows of results were deleted, where the
-- levels of a report do not add up, and what belongs to no object.

-- +goose Up

-- The days of a scope that a run was ordered for after coverage lacked them: when last, and how often.
CREATE TABLE IF NOT EXISTS hole (
  account_id INTEGER NOT NULL,
  report TEXT NOT NULL,
  level TEXT NOT NULL,
  day DATE NOT NULL,
  ordered_at DATETIME NOT NULL,
  run_id INTEGER NOT NULL DEFAULT 0,
  tries INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, report, level, day)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS hole_ordered_at ON hole (ordered_at);

-- Deleted rows of report_daily, report_hourly, summary_daily and summary_hourly, by the columns of their keys; columns
-- that a table does not have are NULL. version is that of the pull, or the rebuild, that deleted the row.
CREATE TABLE IF NOT EXISTS report_tombstone (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  table_name TEXT NOT NULL,
  day DATE NOT NULL,
  hour INTEGER NULL,
  account_id INTEGER NULL,
  level TEXT NULL,
  object_id TEXT NULL,
  game TEXT NULL,
  media TEXT NULL,
  os TEXT NULL,
  currency TEXT NULL,
  day_zone TEXT NULL,
  version INTEGER NOT NULL,
  deleted_at DATETIME NOT NULL
);
CREATE INDEX IF NOT EXISTS report_tombstone_deleted_at ON report_tombstone (deleted_at);

-- Where an account's figure of a settled day is not the sum of a level below it. pulled_again_run_id is the run that
-- was ordered for it, confirmed_at the time when it still differed after both levels had been pulled again.
CREATE TABLE IF NOT EXISTS reconciliation (
  account_id INTEGER NOT NULL,
  day DATE NOT NULL,
  level TEXT NOT NULL,
  metric TEXT NOT NULL,
  media TEXT NOT NULL,
  account_value INTEGER NOT NULL,
  sum_value INTEGER NOT NULL,
  first_seen_at DATETIME NOT NULL,
  last_seen_at DATETIME NOT NULL,
  pulled_again_run_id INTEGER NOT NULL DEFAULT 0,
  confirmed_at DATETIME NULL,
  state TEXT NOT NULL,
  PRIMARY KEY (account_id, day, level, metric)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS reconciliation_state ON reconciliation (media, state, day, account_id);
CREATE INDEX IF NOT EXISTS reconciliation_last_seen_at ON reconciliation (last_seen_at);

-- The part of an account's figures that belongs to no object of a level below, by the levels that were pulled whole.
-- NULL where the platform has the figure at only one of the two. See docs/adr/0004-unattributed-is-a-view.md.
CREATE VIEW IF NOT EXISTS report_daily_unattributed AS
SELECT a.day, a.account_id, c.level, 'unattributed' AS object_id, MAX(a.media) AS media, MAX(a.currency) AS currency, MAX(a.day_zone) AS day_zone,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.cost) ELSE MAX(a.cost) - SUM(s.cost) END AS cost,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.impressions) ELSE MAX(a.impressions) - SUM(s.impressions) END AS impressions,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.clicks) ELSE MAX(a.clicks) - SUM(s.clicks) END AS clicks,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.downloads) ELSE MAX(a.downloads) - SUM(s.downloads) END AS downloads,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.installs) ELSE MAX(a.installs) - SUM(s.installs) END AS installs,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.activations) ELSE MAX(a.activations) - SUM(s.activations) END AS activations,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.registrations) ELSE MAX(a.registrations) - SUM(s.registrations) END AS registrations,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.conversions) ELSE MAX(a.conversions) - SUM(s.conversions) END AS conversions,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.conversions_event) ELSE MAX(a.conversions_event) - SUM(s.conversions_event) END AS conversions_event,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.deep_conversions) ELSE MAX(a.deep_conversions) - SUM(s.deep_conversions) END AS deep_conversions,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.first_pays) ELSE MAX(a.first_pays) - SUM(s.first_pays) END AS first_pays,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pays) ELSE MAX(a.pays) - SUM(s.pays) END AS pays,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount) ELSE MAX(a.pay_amount) - SUM(s.pay_amount) END AS pay_amount,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d1) ELSE MAX(a.pay_amount_d1) - SUM(s.pay_amount_d1) END AS pay_amount_d1,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d3) ELSE MAX(a.pay_amount_d3) - SUM(s.pay_amount_d3) END AS pay_amount_d3,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d7) ELSE MAX(a.pay_amount_d7) - SUM(s.pay_amount_d7) END AS pay_amount_d7,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d14) ELSE MAX(a.pay_amount_d14) - SUM(s.pay_amount_d14) END AS pay_amount_d14,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.pay_amount_d30) ELSE MAX(a.pay_amount_d30) - SUM(s.pay_amount_d30) END AS pay_amount_d30,
  CASE WHEN COUNT(s.account_id) = 0 THEN MAX(a.next_day_retained) ELSE MAX(a.next_day_retained) - SUM(s.next_day_retained) END AS next_day_retained
FROM report_daily a
JOIN coverage c ON c.account_id = a.account_id AND c.report = 'report_daily' AND c.level <> 'account' AND c.day = a.day AND c.complete_version > 0
LEFT JOIN report_daily s ON s.day = a.day AND s.account_id = a.account_id AND s.level = c.level
WHERE a.level = 'account'
GROUP BY a.day, a.account_id, c.level;

-- +goose Down
DROP VIEW IF EXISTS report_daily_unattributed;
DROP TABLE IF EXISTS reconciliation;
DROP TABLE IF EXISTS report_tombstone;
DROP TABLE IF EXISTS hole;
