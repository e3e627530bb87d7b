-- Every change of configuration, before and after, also edits by SQL.

-- +goose Up
-- The rows that operators own, as audit_log last recorded them: a row that differs was edited by SQL. The row of the
-- table itself, with the key '', is locked by every edit and by the search for edits. Its version rises with each
-- change, and its value is NULL until the rows are known.
CREATE TABLE IF NOT EXISTS audit_row (
  table_name TEXT NOT NULL,
  row_key TEXT NOT NULL,
  value TEXT NULL,
  version INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (table_name, row_key)
);

INSERT OR IGNORE INTO audit_row (table_name, row_key) VALUES
  ('account_binding', ''), ('cron_task', ''), ('game', ''), ('lane', ''), ('media_account', ''), ('rate_limit', ''), ('report_field', '');

-- error: why an order was not carried out. An order may name 10,000 accounts, which is more than a TEXT holds.
ALTER TABLE audit_log ADD COLUMN error TEXT NOT NULL DEFAULT '';
CREATE INDEX IF NOT EXISTS audit_log_actor ON audit_log (actor, id);

-- +goose Down
DROP INDEX IF EXISTS audit_log_actor;
ALTER TABLE audit_log DROP COLUMN error;
DROP TABLE IF EXISTS audit_row;
