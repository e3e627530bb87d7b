-- Limits of rows, of calls that cost differently, and limits whose number is unknown.

-- +goose Up
-- unit: what calls counts: 'calls' or 'rows'. costs: for a limit of calls, what calls to some endpoints cost,
-- 'report/get=5, list/*=2'; others cost cost. calls_max: the number up to which calls is raised while the platform does
-- not refuse; 0 = calls is known.
ALTER TABLE rate_limit
  ADD COLUMN unit VARCHAR(8) NOT NULL DEFAULT 'calls',
  ADD COLUMN costs VARCHAR(1024) NOT NULL DEFAULT '',
  ADD COLUMN calls_max INT NOT NULL DEFAULT 0,
  DROP KEY rule,
  ADD UNIQUE KEY rule (media, endpoint, scope, period_ms, unit);

-- What was learned about limits with a calls_max, for each app or platform. refused = 0: no call was ever refused.
CREATE TABLE IF NOT EXISTS rate_limit_learned (
  media VARCHAR(32) NOT NULL,
  endpoint VARCHAR(128) NOT NULL,
  scope VARCHAR(16) NOT NULL,
  subject VARCHAR(64) NOT NULL,
  period_ms BIGINT NOT NULL,
  calls INT NOT NULL,
  learned_at DATETIME(3) NOT NULL,
  refused INT NOT NULL DEFAULT 0,
  refused_at DATETIME(3) NULL,
  PRIMARY KEY (media, endpoint, scope, subject, period_ms)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS rate_limit_learned;
DELETE FROM rate_limit WHERE unit <> 'calls';
ALTER TABLE rate_limit DROP KEY rule, ADD UNIQUE KEY rule (media, endpoint, scope, period_ms), DROP COLUMN unit, DROP COLUMN costs, DROP COLUMN calls_max;
