-- More properties of a platform's limit than its number.

-- +goose Up
-- cost: how much of calls one call uses. calendar_zone: the time zone in which the windows of a minute, an hour or a
-- day begin; '' = they slide. penalty_ms: how long the platform refuses all calls after the limit was exceeded; 0 = its
-- refusals name it, or it is unknown.
ALTER TABLE rate_limit
  ADD COLUMN cost INT NOT NULL DEFAULT 1,
  ADD COLUMN calendar_zone VARCHAR(64) NOT NULL DEFAULT '',
  ADD COLUMN penalty_ms BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE rate_limit DROP COLUMN cost, DROP COLUMN calendar_zone, DROP COLUMN penalty_ms;
