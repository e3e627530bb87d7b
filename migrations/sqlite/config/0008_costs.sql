-- Limits of rows, of calls that cost differently, and limits whose number is unknown.

-- +goose Up
-- unit: what calls counts: 'calls' or 'rows'. costs: for a limit of calls, what calls to some endpoints cost,
-- 'report/get=5, list/*=2'; others cost cost. calls_max: the number up to which calls is raised while the platform does
-- not refuse; 0 = calls is known.
ALTER TABLE rate_limit ADD COLUMN unit TEXT NOT NULL DEFAULT 'calls';
ALTER TABLE rate_limit ADD COLUMN costs TEXT NOT NULL DEFAULT '';
ALTER TABLE rate_limit ADD COLUMN calls_max INTEGER NOT NULL DEFAULT 0;
DROP INDEX rate_limit_rule;
CREATE UNIQUE INDEX rate_limit_rule ON rate_limit (media, endpoint, scope, period_ms, unit);

-- What was learned about limits with a calls_max, for each app or platform. refused = 0: no call was ever refused.
CREATE TABLE IF NOT EXISTS rate_limit_learned (
  media TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  scope TEXT NOT NULL,
  subject TEXT NOT NULL,
  period_ms INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  learned_at DATETIME NOT NULL,
  refused INTEGER NOT NULL DEFAULT 0,
  refused_at DATETIME NULL,
  PRIMARY KEY (media, endpoint, scope, subject, period_ms)
);

-- +goose Down
DROP TABLE IF EXISTS rate_limit_learned;
DELETE FROM rate_limit WHERE unit <> 'calls';
DROP INDEX rate_limit_rule;
CREATE UNIQUE INDEX rate_limit_rule ON rate_limit (media, endpoint, scope, period_ms);
ALTER TABLE rate_limit DROP COLUMN unit;
ALTER TABLE rate_limit DROP COLUMN costs;
ALTER TABLE rate_limit DROP COLUMN calls_max;
