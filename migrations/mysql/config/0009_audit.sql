-- What every change of configuration was before and after, edits by SQL among them.

-- +goose Up
-- The rows that operators own, as audit_log last told of them: what differs from these was edited by SQL. A row of the table itself, with
-- the key '', is locked by whoever edits it or looks for edits; its version rises with each change, and its value is NULL until the rows are known.
CREATE TABLE IF NOT EXISTS audit_row (
  table_name VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  row_key VARCHAR(255) NOT NULL,
  value MEDIUMTEXT NULL,
  version BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (table_name, row_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

INSERT IGNORE INTO audit_row (table_name, row_key) VALUES
  ('account_binding', ''), ('cron_task', ''), ('game', ''), ('lane', ''), ('media_account', ''), ('rate_limit', ''), ('report_field', '');

-- error: why what was to be done was not. An order may name 10,000 accounts: that is more than a TEXT.
ALTER TABLE audit_log
  ADD COLUMN error VARCHAR(512) NOT NULL DEFAULT '',
  MODIFY COLUMN before_value MEDIUMTEXT NULL,
  MODIFY COLUMN after_value MEDIUMTEXT NULL,
  ADD KEY actor (actor, id);

-- +goose Down
DROP TABLE IF EXISTS audit_row;
ALTER TABLE audit_log DROP KEY actor, DROP COLUMN error;
