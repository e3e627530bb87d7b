-- A summary reads one level of a day's rows, of which there may be a hundred times as many.

-- +goose Up
ALTER TABLE report_daily ADD KEY level_account (day, level, media, account_id);
ALTER TABLE report_hourly ADD KEY level_account (day, level, media, account_id);

-- +goose Down
ALTER TABLE report_hourly DROP KEY level_account;
ALTER TABLE report_daily DROP KEY level_account;
