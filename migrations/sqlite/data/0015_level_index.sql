-- A summary reads one level of a day's rows, of which there may be a hundred times as many.

-- +goose Up
CREATE INDEX IF NOT EXISTS report_daily_level_account ON report_daily (day, level, media, account_id);
CREATE INDEX IF NOT EXISTS report_hourly_level_account ON report_hourly (day, level, media, account_id);

-- +goose Down
DROP INDEX report_hourly_level_account;
DROP INDEX report_daily_level_account;
