-- More properties of a platform's limit than its number.

-- +goose Up
-- cost: how much of calls one call uses. calendar_zone: the time zone in which the windows of a minute, an hour or a
-- day begin; '' = they slide. penalty_ms: how long the platform refuses all calls after the limit was exceeded; 0 = its
-- refusals name it, or it is unknown.
ALTER TABLE rate_limit ADD COLUMN cost INTEGER NOT NULL DEFAULT 1;
ALTER TABLE rate_limit ADD COLUMN calendar_zone TEXT NOT NULL DEFAULT '';
ALTER TABLE rate_limit ADD COLUMN penalty_ms INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE rate_limit DROP COLUMN cost;
ALTER TABLE rate_limit DROP COLUMN calendar_zone;
ALTER TABLE rate_limit DROP COLUMN penalty_ms;
