-- Every change of configuration, before and after, also edits by SQL.

-- +goose Up
-- The rows that operators own, as audit_log last recorded them: a row that differs was edited by SQL. The row of the
-- table itself, with the key '', is locked by every edit and by the search for edits. Its version rises with each
-- change, and its value is NULL until the rows are known.
CREATE TABLE IF NOT EXISTS audit_row (
  table_name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  row_key VARCHAR(255) NOT NULL,
  value MEDIUMTEXT NULL,
  version BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (table_name, row_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

INSERT IGNORE INTO audit_row (table_name, row_key) VALUES
  ('account_binding', ''), ('cron_task', ''), ('game', ''), ('lane', ''), ('media_account', ''), ('rate_limit', ''), ('report_field', '');

-- error: why an order was not carried out. An order may name 10,000 accounts, which is more than a TEXT holds.
ALTER TABLE audit_log
  ADD COLUMN error VARCHAR(512) NOT NULL DEFAULT '',
  MODIFY COLUMN before_value MEDIUMTEXT NULL,
  MODIFY COLUMN after_value MEDIUMTEXT NULL,
  ADD KEY actor (actor, id);

-- +goose Down
DROP TABLE IF EXISTS audit_row;
ALTER TABLE audit_log DROP KEY actor, DROP COLUMN error;
