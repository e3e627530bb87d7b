-- Views of the levels that came later, so that nobody adds up spend over levels.

-- +goose Up
CREATE OR REPLACE VIEW report_daily_campaign AS SELECT * FROM report_daily WHERE level = 'campaign';
CREATE OR REPLACE VIEW report_daily_creative AS SELECT * FROM report_daily WHERE level = 'creative';
CREATE OR REPLACE VIEW report_hourly_campaign AS SELECT * FROM report_hourly WHERE level = 'campaign';
CREATE OR REPLACE VIEW report_hourly_creative AS SELECT * FROM report_hourly WHERE level = 'creative';

-- +goose Down
DROP VIEW IF EXISTS report_hourly_creative;
DROP VIEW IF EXISTS report_hourly_campaign;
DROP VIEW IF EXISTS report_daily_creative;
DROP VIEW IF EXISTS report_daily_campaign;
