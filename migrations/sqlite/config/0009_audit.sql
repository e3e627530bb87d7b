-- What every change of configuration was before and after, edits by SQL among them.

-- +goose Up
-- The rows that operators own, as audit_log last told of them: what differs from these was edited by SQL. A row of the table itself, with
-- the key '', is that of whoever edits it or looks for edits; its version rises with each change, and its value is NULL until the rows are known.
CREATE TABLE IF NOT EXISTS audit_row (
  table_name TEXT NOT NULL,
  row_key TEXT NOT NULL,
  value TEXT NULL,
  version INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (table_name, row_key)
);

INSERT OR IGNORE INTO audit_row (table_name, row_key) VALUES
  ('account_binding', ''), ('cron_task', ''), ('game', ''), ('lane', ''), ('media_account', ''), ('rate_limit', ''), ('report_field', '');

-- error: why what was to be done was not.
ALTER TABLE audit_log ADD COLUMN error TEXT NOT NULL DEFAULT '';
CREATE INDEX IF NOT EXISTS audit_log_actor ON audit_log (actor, id);

-- +goose Down
DROP INDEX IF EXISTS audit_log_actor;
ALTER TABLE audit_log DROP COLUMN error;
DROP TABLE IF EXISTS audit_row;
